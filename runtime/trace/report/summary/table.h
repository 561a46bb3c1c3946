// Rows under a headline, as the reports print them: the first column is left-aligned, all others are numbers.
// The headline is the first row.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shoal {

class Table {
 public:
  explicit Table(std::vector<std::string> heads) : rows_{std::move(heads)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool is_empty() const { return rows_.size() < 2; }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace shoal
