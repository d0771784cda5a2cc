#include "engine/text/byte_pair.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/base/error.h"

namespace abba::text {
namespace {

constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no pair: ids are not negative
constexpr TokenId kGone = -1;
constexpr std::int32_t kNone = -1;

std::uint64_t pair_key(TokenId left, TokenId right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U | static_cast<std::uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(std::size_t expected_count) {
  std::size_t capacity = 16;
  while (capacity * 5 < expected_count * 8) capacity *= 2;
  slots_.assign(capacity, Slot{kEmpty, {}});
}

std::size_t MergeTable::slot_of(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::uint64_t hash = key * 0x9e3779b97f4a7c15U;
  hash ^= hash >> 32U;
  std::size_t index = static_cast<std::size_t>(hash) & mask;
  while (slots_[index].key != key && slots_[index].key != kEmpty) index = (index + 1) & mask;
  return index;
}

void MergeTable::grow() {
  std::vector<Slot> old(slots_.size() * 2, Slot{kEmpty, {}});
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key != kEmpty) slots_[slot_of(slot.key)] = slot;
  }
}

void MergeTable::set(TokenId left, TokenId right, Merge merge) {
  ABBA_CHECK(left >= 0 && right >= 0 && merge.merged >= 0);
  if ((count_ + 1) * 8 > slots_.size() * 5) grow();
  const std::uint64_t key = pair_key(left, right);
  Slot& slot = slots_[slot_of(key)];
  count_ += slot.key == kEmpty ? 1 : 0;
  slot = {key, merge};
}

const MergeTable::Merge* MergeTable::find(TokenId left, TokenId right) const {
  const std::uint64_t key = pair_key(left, right);
  const Slot& slot = slots_[slot_of(key)];
  return slot.key == key ? &slot.merge : nullptr;
}

void merge_symbols(const MergeTable& table, std::vector<TokenId>& symbols, MergeScratch& scratch) {
  const std::size_t count = symbols.size();
  if (count < 2) return;
  ABBA_CHECK(count < (std::size_t{1} << 31U));
  std::vector<std::uint64_t>& heap = scratch.heap_;
  std::vector<std::int32_t>& previous = scratch.previous_;
  std::vector<std::int32_t>& next = scratch.next_;
  heap.clear();
  previous.resize(count);
  next.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    previous[i] = static_cast<std::int32_t>(i) - 1;
    next[i] = i + 1 < count ? static_cast<std::int32_t>(i) + 1 : kNone;
    if (i + 1 == count) break;
    if (const auto* merge = table.find(symbols[i], symbols[i + 1])) {
      heap.push_back(std::uint64_t{merge->rank} << 32U | i);
    }
  }
  const auto later = std::greater<>();
  std::make_heap(heap.begin(), heap.end(), later);
  const auto offer = [&](std::int32_t position) {
    const auto i = static_cast<std::size_t>(position);
    if (next[i] == kNone) return;
    if (const auto* merge = table.find(symbols[i], symbols[static_cast<std::size_t>(next[i])])) {
      heap.push_back(std::uint64_t{merge->rank} << 32U | i);
      std::push_heap(heap.begin(), heap.end(), later);
    }
  };
  while (!heap.empty()) {
    const std::uint64_t best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    const auto i = static_cast<std::size_t>(best & 0xffffffffU);
    if (symbols[i] == kGone || next[i] == kNone) continue;
    const auto right = static_cast<std::size_t>(next[i]);
    const auto* merge = table.find(symbols[i], symbols[right]);
    if (merge == nullptr || merge->rank != best >> 32U) continue;  // an entry of an older pair
    symbols[i] = merge->merged;
    symbols[right] = kGone;
    next[i] = next[right];
    if (next[i] != kNone)
      previous[static_cast<std::size_t>(next[i])] = static_cast<std::int32_t>(i);
    if (previous[i] != kNone) offer(previous[i]);
    offer(static_cast<std::int32_t>(i));
  }
  symbols.erase(std::remove(symbols.begin(), symbols.end(), kGone), symbols.end());
}

}  // namespace abba::text
