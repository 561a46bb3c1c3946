// Losses of a run with rounds (sync.mode = diloco) by deaths: tokens that no mean has, and microbatches that are not of
// one set of weights. The sums of `lost_tokens` and `approximated` over the lines of metrics.jsonl, on all branches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/base/error.h"
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

// Goes on from there, line by line. One thread adds, any may ask.
class RoundTally {
 public:
  explicit RoundTally(RoundLosses before)
      : lost_tokens_(before.lost_tokens),
        lost_at_the_end_(before.lost_at_the_end),
        approximated_(before.approximated) {}

  void add(const MetricsOutput& line);
  [[nodiscard]] RoundLosses sum() const { return {lost_tokens_, lost_at_the_end_, approximated_}; }

 private:
  std::atomic<std::uint64_t> lost_tokens_;
  std::atomic<std::uint64_t> lost_at_the_end_;
  std::atomic<std::uint64_t> approximated_;
};

}  // namespace shoal
