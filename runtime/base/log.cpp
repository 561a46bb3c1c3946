// The only translation unit that includes spdlog.
#include "runtime/base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/machine/unhindered_stream.h"

namespace shoal {
namespace {

// ISO time in UTC, level, then what write_log() composed.
constexpr const char* kPattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Holds nobody up where stderr is not read.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    words_out().write(std::string_view(line.data(), line.size()));
  }
  void flush_() override { words_out().go_on(); }
};

class TapSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit TapSink(std::function<void(std::string_view)> tap) : tap_(std::move(tap)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    tap_(std::string_view(line.data(), line.size()));
  }
  void flush_() override {}

  std::function<void(std::string_view)> tap_;
};

std::shared_ptr<spdlog::logger> make_logger(std::vector<spdlog::sink_ptr> sinks, LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>("shoal", sinks.begin(), sinks.end());
  logger->set_pattern(kPattern, spdlog::pattern_time_type::utc);
  logger->set_level(spdlog_level(level));
  logger->flush_on(spdlog::level::trace);  // an end may come at any line, and ask nobody (launch/end_limit.h)
  return logger;
}

// Never destroyed: the watchdog of a process that ends slowly may speak while static objects end.
std::shared_ptr<spdlog::logger>& current() {
  static auto* const logger = new std::shared_ptr<spdlog::logger>(
      make_logger({std::make_shared<StderrSink>()}, LogLevel::kInfo));
  return *logger;
}

std::mutex& guard() {
  static std::mutex mutex;
  return mutex;
}

std::shared_ptr<spdlog::logger> logger() {
  const std::lock_guard lock(guard());
  return current();
}

}  // namespace

LogLevel log_level_named(std::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warn") return LogLevel::kWarn;
  ENSURE(name == "error", compose("no log level '", name, "'"));
  return LogLevel::kError;
}

Status open_log(const LogTarget& target) {
  std::vector<spdlog::sink_ptr> sinks;
  if (target.file.empty()) {
    sinks.push_back(std::make_shared<StderrSink>());
  } else {
    try {
      sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(target.file));
    } catch (const spdlog::spdlog_ex& problem) {
      return fail(Error::kIo, compose("cannot open the log file ", target.file, ": ", problem.what(),
                                      "; check that its folder exists, may be written and has room"));
    }
    if (target.also_stderr) {
      sinks.push_back(std::make_shared<StderrSink>());
      sinks.back()->set_level(spdlog::level::warn);
    }
  }
  if (target.tap) sinks.push_back(std::make_shared<TapSink>(target.tap));
  auto opened = make_logger(std::move(sinks), target.level);
  const std::lock_guard lock(guard());
  current() = std::move(opened);
  return Done{};
}

void set_log_level(LogLevel level) { logger()->set_level(spdlog_level(level)); }

void write_log(LogLevel level, std::string_view who, std::string_view text) {
  const auto now = logger();
  if (!now->should_log(spdlog_level(level))) return;
  const std::string line = compose(who, ": ", text);
  now->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

void flush_log() { logger()->flush(); }

}  // namespace shoal
