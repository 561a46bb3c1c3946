// A stage has no replica left: decides when all stages go back to a checkpoint (P-29), and whether that helps.
//
//   a stage is lost ──what could still be saved is, or settle_for is over──▶ thrown back ──▶ another start
//
// Of several stages that are lost the first one's reason counts. Pure: time comes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/machine/memory_lack.h"
#include "runtime/cluster/recovery/vain_roll_backs.h"

namespace shoal {

class Fallback {
 public:
  // settle_for: for a commit or a checkpoint under way when a stage is lost.
  explicit Fallback(Duration settle_for) : settle_for_(settle_for) {}

  // False: one is lost already.
  bool lose_stage(const std::string& reason, Instant now) {
    if (lost_) return false;
    lost_ = Lost{reason, now + settle_for_};
    return true;
  }
  // Why all will go back; nothing: every stage has somebody.
  [[nodiscard]] std::optional<std::string> lost() const { return lost_ ? std::optional(lost_->reason) : std::nullopt; }
  // can_save: what is done of the step, or was ordered of the state, may still be saved.
  [[nodiscard]] bool is_due(bool can_save, Instant now) const { return lost_ && (!can_save || now >= lost_->deadline); }

  // Before all go back from so many committed steps. False: the last ones were all in vain, so the run is given up.
  [[nodiscard]] bool throw_back(const std::string& reason, std::uint64_t committed_steps) {
    const auto cause = tells_of_memory_lack(reason) ? VainRollBacks::Cause::kMemory : VainRollBacks::Cause::kAny;
    if (!vain_.is_worth_another(committed_steps, cause)) return false;
    why_ = reason;
    return true;
  }
  void stepped() { vain_.stepped(); }
  // Before the start that follows.
  [[nodiscard]] Duration pause() const { return why_ ? vain_.pause() : Duration::zero(); }
  // Another start: every stage gets somebody.
  void begin_again() { lost_.reset(); }
  // Why the run was thrown back last; nothing: it never was.
  [[nodiscard]] const std::optional<std::string>& why() const { return why_; }

 private:
  struct Lost {
    std::string reason;
    Instant deadline;
  };

  Duration settle_for_;
  std::optional<Lost> lost_;
  std::optional<std::string> why_;
  VainRollBacks vain_;
};

}  // namespace shoal
