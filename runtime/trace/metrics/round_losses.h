// Losses of a run with rounds (sync.mode = diloco) by deaths: tokens that no mean has, and microbatches that are not of
// one set of weights. The sums of `lost_tokens` and `approximated` over the lines of metrics.jsonl, on all branches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/trace/metrics/metrics_core.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {

struct RoundLosses {
  std::uint64_t lost_tokens = 0;      // by the lines of steps
  std::uint64_t lost_at_the_end = 0;  // by the newest last line: with what no step's line could name any more
  std::uint64_t approximated = 0;     // microbatches
  [[nodiscard]] std::uint64_t lost() const { return std::max(lost_tokens, lost_at_the_end); }
  friend bool operator==(const RoundLosses&, const RoundLosses&) = default;
};

// For people: "1024 tokens lost, 1 microbatch approximated".
[[nodiscard]] std::string text_of(const RoundLosses& losses);

// Adds up the whole lines of a metrics.jsonl of any size; lines that are no JSON count nothing. Errors: kIo.
[[nodiscard]] Result<RoundLosses> round_losses_in(const std::string& metrics_path);

// The same of the lines that a file has when this is made, read in pieces: a run of months has gigabytes, and its start
// does not wait for them. What cannot be read counts nothing.
class LossesBefore {
 public:
  LossesBefore() = default;  // no file
  explicit LossesBefore(InputFile file);

  // Adds the next lines, about so many bytes of them. False: there are no more.
  bool read_on(std::size_t bytes);
  [[nodiscard]] const RoundLosses& so_far() const { return sum_; }

 private:
  std::optional<MetricsLines> lines_;  // nothing: all are read
  RoundLosses sum_;
};

// Goes on from there, line by line. One thread adds, any may ask.
//
// With each line that is added a piece of those before is read. So a person who asks waits for what is left of them,
// which is nothing but soon after a start.
class RoundTally {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;  // with each line: about a millisecond

  explicit RoundTally(LossesBefore before) : before_(std::move(before)) {}

  void add(const MetricsOutput& line);
  [[nodiscard]] RoundLosses sum() const;

 private:
  mutable std::mutex before_mutex_;
  mutable LossesBefore before_;
  std::atomic<std::uint64_t> lost_tokens_ = 0;
  std::atomic<std::uint64_t> lost_at_the_end_ = 0;
  std::atomic<bool> has_end_ = false;  // a last line was added
  std::atomic<std::uint64_t> approximated_ = 0;
};

}  // namespace shoal
