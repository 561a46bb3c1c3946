// MissingQuestion: the microbatches that a stage lacks, and when they are asked for (P-17, P-17a): at once, again and
// again with doubling pauses until the next complete manifests; after a Zero when every member has obeyed it, or a
// moment later, because what overtakes a Zero is answered from what the Zero throws away. Pure: time comes in.
#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/clock.h"
#include "runtime/sync/patience.h"

namespace shoal {

class MissingQuestion {
 public:
  // These are lacking from here on; the first pause is so long.
  void begin(std::vector<MicrobatchId> microbatches, Duration first_interval) {
    microbatches_ = std::move(microbatches);
    interval_ = first_interval;
  }
  void await_zero(Instant at_most_until) {
    is_zero_awaited_ = true;
    at_ = at_most_until;
  }
  // Another epoch: nobody waits for an older one's Zero.
  void await_nothing() { is_zero_awaited_ = false; }
  // They are asked for now.
  void asked(Instant now) {
    is_zero_awaited_ = false;
    at_ = now + interval_;
  }
  // The next pause is longer, unless they were not asked for yet.
  void lengthen() {
    if (!is_zero_awaited_) interval_ = next_interval(interval_);
  }
  void forget() { microbatches_.clear(); }
  void leave_out(const std::set<MicrobatchId>& quarantined) {
    std::erase_if(microbatches_, [&](MicrobatchId microbatch) { return quarantined.contains(microbatch); });
  }

  [[nodiscard]] bool is_due(Instant now) const { return !microbatches_.empty() && now >= at_; }
  [[nodiscard]] bool awaits_zero() const { return is_zero_awaited_; }
  [[nodiscard]] const std::vector<MicrobatchId>& microbatches() const { return microbatches_; }

 private:
  std::vector<MicrobatchId> microbatches_;
  bool is_zero_awaited_ = false;
  Instant at_{};
  Duration interval_{};
};

}  // namespace shoal
