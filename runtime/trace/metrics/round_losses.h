// Losses of a run with rounds (sync.mode = diloco) by deaths: tokens that no mean has, and microbatches that are not of
// one set of weights. The sums of `lost_tokens` and `approximated` over the lines of metrics.jsonl, on all branches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/trace/metrics/metrics_core.h"

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

// Fixes what the file has by now, and reads it when it is called, as above: a run of months has gigabytes, and its
// start does not wait for them. What cannot be read counts nothing.
[[nodiscard]] std::function<RoundLosses()> round_losses_before(InputFile file);

// Goes on from there, line by line. One thread adds, any may ask.
class RoundTally {
 public:
  // before: is called once, by who asks first.
  explicit RoundTally(std::function<RoundLosses()> before) : read_before_(std::move(before)) {}

  void add(const MetricsOutput& line);
  [[nodiscard]] RoundLosses sum() const;

 private:
  std::function<RoundLosses()> read_before_;
  mutable std::once_flag is_read_;
  mutable RoundLosses before_;
  std::atomic<std::uint64_t> lost_tokens_ = 0;
  std::atomic<std::uint64_t> lost_at_the_end_ = 0;
  std::atomic<bool> has_end_ = false;  // a last line was added
  std::atomic<std::uint64_t> approximated_ = 0;
};

}  // namespace shoal
