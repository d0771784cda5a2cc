// Rows of a tamper matrix: what was done, under which circumstances, how verify ended. Printed
// whole at the end, so that a reader sees what was tried.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace abba::testing {

class TamperTable {
 public:
  explicit TamperTable(std::string title) : title_(std::move(title)) {}
  TamperTable(const TamperTable&) = delete;
  TamperTable& operator=(const TamperTable&) = delete;
  ~TamperTable() {
    std::printf("%s\n", title_.c_str());
    for (const auto& [what, how, ending] : rows_) {
      std::printf("  %-44s %-26s %.100s\n", what.c_str(), how.c_str(), ending.c_str());
    }
  }
  void add(std::string what, std::string how, std::string ending) {
    rows_.push_back({std::move(what), std::move(how), std::move(ending)});
  }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  struct Row {
    std::string what, how, ending;
  };
  std::string title_;
  std::vector<Row> rows_;
};

}  // namespace abba::testing
