// metrics.jsonl on disk: appended to line by line, whole lines only.
//
// Opening cuts off what a killed writer left of a line; a line that the disk refuses leaves no part behind. So every
// line can be parsed, whatever happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "messages/values/run_events.h"
#include "runtime/base/error.h"
#include "runtime/base/machine/disk_space.h"
#include "runtime/trace/metrics/metrics_core.h"

namespace shoal {

// How the run has ended by the last record of the file: kFinished, kStopped, or kFailed, after which a keeper may start
// it again. Nothing: it goes on, or nobody can say.
[[nodiscard]] std::optional<RunEventKind> end_told_by(const std::string& path);

// The newest step that a line tells of; nothing: none does. Reads from the end.
[[nodiscard]] std::optional<WrittenStep> newest_step_told_by(const std::string& path);

// Returns the journal position of this step's commit, by the step's line; 0: one process trained it without a journal.
// Nothing: no line tells of the step. Reads from the end, no further back than that line.
[[nodiscard]] std::optional<JournalPosition> commit_told_by(const std::string& path, const WrittenStep& step);

// Returns the steps applied in the state that the newest start of the run went on from, where no step's line follows;
// nothing: one does, or the run began with nothing. Reads from the end.
[[nodiscard]] std::optional<std::uint64_t> start_without_steps(const std::string& path);

// The newest entry of the journal that a line tells of; 0: none does. Reads from the end.
[[nodiscard]] JournalPosition newest_entry_told_by(const std::string& path);

// Steps applied of the newest checkpoint of at most so many that a line tells of; nothing: none does. Those that a
// person's branch left behind (branch_record.h) do not count. Reads from the end.
[[nodiscard]] std::optional<std::uint64_t> checkpoint_told_by(const std::string& path, std::uint64_t not_beyond);

class MetricsFile {
 public:
  // Makes the file if need be. left: bytes of its disk that it does not take; 0 where there is no journal beside it.
  // Errors: kIo.
  [[nodiscard]] static Result<MetricsFile> open(const std::string& path, std::uint64_t left = kLeftForTheJournal);

  MetricsFile(MetricsFile&& other) noexcept;
  MetricsFile& operator=(MetricsFile&& other) noexcept;
  ~MetricsFile();

  // The newest step record and evaluation that were there when the file was opened.
  [[nodiscard]] const WrittenLines& written() const { return written_; }
  // Adds the newline; returns after the system has taken the line. Errors: kIo, also where others need what the disk
  // has left: it is asked for that before the first line, and then now and then (SpaceGrant).
  [[nodiscard]] Status append(const std::string& line);
  // Returns once the disk has all lines so far, which a loss of power leaves then. Errors: kIo.
  [[nodiscard]] Status sync();

 private:
  MetricsFile(int descriptor, std::string path, std::uint64_t left)
      : descriptor_(descriptor), path_(std::move(path)), left_(left) {}
  [[nodiscard]] Status take_space(std::uint64_t bytes);

  int descriptor_ = -1;
  std::string path_;
  std::uint64_t left_;
  SpaceGrant grant_;
  std::uint64_t size_ = 0;  // size of the whole lines
  WrittenLines written_;
};

}  // namespace shoal
