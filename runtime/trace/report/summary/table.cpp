// Columns are as wide as their widest cell.
#include "runtime/trace/report/summary/table.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace shoal {

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::ostringstream out;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << (i == 0 ? "  " : "   ") << (i == 0 ? std::left : std::right) << std::setw(static_cast<int>(widths[i]))
          << row[i];
    }
    out << '\n';
  }
  return std::move(out).str();
}

}  // namespace shoal
