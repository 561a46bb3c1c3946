// The log for people. One line per event, written by spdlog behind this header (its headers cost seconds to compile).
//
// open_log() is called once per process before actors start; without it lines go to stderr. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/compose.h"
#include "runtime/base/error.h"

namespace shoal {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// log.level of the configuration: debug, info, warn, error. Another word is a bug: the configuration was validated.
// From now on; for a process that learns its level after it has begun to log.
void set_log_level(LogLevel level);
[[nodiscard]] LogLevel log_level_named(std::string_view name);

struct LogTarget {
  std::string file;  // empty: stderr only
  LogLevel level = LogLevel::kInfo;
  bool also_stderr = false;  // warnings and errors are repeated on stderr when set
  // Given every line, its newline included; called by any thread, one at a time, and quick. None: nobody listens.
  std::function<void(std::string_view line)> tap{};
};

[[nodiscard]] Status open_log(const LogTarget& target);
void write_log(LogLevel level, std::string_view who, std::string_view text);
void flush_log();

// Writes a line of `who`: the actor's or module's name as `shoal ps` shows it, e.g. "stage/1/0".
template <class... Parts>
void log_debug(std::string_view who, const Parts&... parts) {
  write_log(LogLevel::kDebug, who, compose(parts...));
}
template <class... Parts>
void log_info(std::string_view who, const Parts&... parts) {
  write_log(LogLevel::kInfo, who, compose(parts...));
}
template <class... Parts>
void log_warn(std::string_view who, const Parts&... parts) {
  write_log(LogLevel::kWarn, who, compose(parts...));
}
template <class... Parts>
void log_error(std::string_view who, const Parts&... parts) {
  write_log(LogLevel::kError, who, compose(parts...));
}

}  // namespace shoal
