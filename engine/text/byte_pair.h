// Ranked byte-pair merging over symbol ids: the model half of a tokenizer, without any text in it.
// Time is O(n log n) in the symbols of one word (a heap over a linked list), so a megabyte without
// a boundary costs no more per byte than a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace abba::text {

using TokenId = std::int32_t;

// (left, right) -> (rank, merged): an open-addressing table, one cache line a look-up for most.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;
    TokenId merged;
  };

  explicit MergeTable(std::size_t expected_count = 0);
  // A pair given again replaces the one before, as the original's map does.
  void set(TokenId left, TokenId right, Merge merge);
  // nullptr if the pair does not merge.
  [[nodiscard]] const Merge* find(TokenId left, TokenId right) const;
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  struct Slot {
    std::uint64_t key;
    Merge merge;
  };
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const;
  void grow();
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

// Working memory of merge_symbols; one a thread, reused from word to word.
class MergeScratch {
  friend void merge_symbols(const MergeTable&, std::vector<TokenId>&, MergeScratch&);
  std::vector<std::uint64_t> heap_;  // rank << 32 | position, a min-heap
  std::vector<std::int32_t> previous_;
  std::vector<std::int32_t> next_;
};

// Merges the adjacent pair of lowest rank (the leftmost at a tie) until none merges, in place.
// Precondition: fewer than 2^31 symbols, none negative.
void merge_symbols(const MergeTable& table, std::vector<TokenId>& symbols, MergeScratch& scratch);

}  // namespace abba::text
