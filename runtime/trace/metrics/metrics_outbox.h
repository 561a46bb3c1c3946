// Lines on their way into metrics.jsonl: what the disk refuses waits, in order, until it takes it.
//
// So a disk that is full for a moment costs no line. Where more bytes than kWaitingBytesMax would wait (S-6) the oldest
// lines are lost, and a line in their place says how many: {"event":"lines_lost", ...}. Each write tries again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/trace/metrics/clock_watch.h"
#include "runtime/trace/metrics/metrics_core.h"
#include "runtime/trace/metrics/metrics_file.h"

namespace shoal {

class MetricsOutbox {
 public:
  static constexpr std::size_t kWaitingBytesMax = std::size_t{4} << 20U;

  // left: as for MetricsFile::open().
  explicit MetricsOutbox(std::string path, std::uint64_t left = kLeftForTheJournal)
      : path_(std::move(path)), left_(left) {}

  // Opens the file and returns what is in it. Errors: kIo; write() tries again then.
  [[nodiscard]] Result<WrittenLines> open();
  // Writes a line, with the present as its time; EvalProgress is no line and is passed over. Returns what a person must
  // hear: that lines wait from now on, or how it went with those that did.
  [[nodiscard]] std::optional<std::string> write(const MetricsOutput& output, const BothClocks& now);
  // Returns the present by the clock as it was at the last line.
  [[nodiscard]] WallTime by_clock_of_last_line(const BothClocks& now) const;
  // Lines that are not in the file, lost ones included.
  [[nodiscard]] std::uint64_t unwritten() const { return waiting_.size() + lost_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Line {
    std::string text;
    std::uint64_t step = 0;
  };

  void keep(Line line);
  [[nodiscard]] Status write_waiting(WallTime now);
  [[nodiscard]] Status append(const std::string& line);
  [[nodiscard]] std::string all_is_written();

  std::string path_;
  std::uint64_t left_;
  ClockWatch clock_;
  std::optional<MetricsFile> file_;  // nothing: it could not be opened yet
  std::deque<Line> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t lost_ = 0;       // before the first that waits
  std::uint64_t lost_step_ = 0;  // step of the last lost one
  std::string refusal_;          // why the oldest could not be written; empty: none waits
  std::uint64_t late_ = 0;       // since then, that were written after all
  std::uint64_t told_lost_ = 0;  // and those that a line says are lost
};

}  // namespace shoal
