// SQLite as the journal uses it: a database that is closed with its object, and statements with bound values.
//
// Private to the store. Errors are SQLite's codes; whoever runs a statement makes failures of them.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace shoal::sqlite {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

// One prepared statement and its bindings; a failed one remembers so until run() or next() reports it.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql) {
    code_ = sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::uint64_t number) {
    return keep(code_ == SQLITE_OK ? sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(number)) : 0);
  }
  Statement& bind(std::string_view text) {
    return keep(code_ == SQLITE_OK ? sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                                                       SQLITE_TRANSIENT)
                                   : 0);
  }
  Statement& bind_bytes(std::span<const char> bytes) {
    return keep(code_ == SQLITE_OK
                    ? sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_TRANSIENT)
                    : 0);
  }
  // SQLITE_ROW, SQLITE_DONE or an error code.
  [[nodiscard]] int next() { return code_ == SQLITE_OK ? sqlite3_step(statement_) : code_; }

  [[nodiscard]] std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  [[nodiscard]] std::span<const char> bytes(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  [[nodiscard]] std::string text(int column) const {
    const std::span<const char> found = bytes(column);
    return {found.begin(), found.end()};
  }

 private:
  Statement& keep(int code) {
    if (code != SQLITE_OK) code_ = code;
    return *this;
  }
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
  int bound_ = 0;
};

}  // namespace shoal::sqlite
