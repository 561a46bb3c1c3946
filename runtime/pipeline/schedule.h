// Pipeline schedules are mailbox policies, not code paths (DESIGN.md §3): how many microbatches may be in flight per
// replica is all that tells them apart for whoever sends.
//
// afab: every microbatch of the step at once. 1f1b: one per stage and one on the wire, so that a replica always has the
// next one to begin with while an answer comes back; and up to twice as many where links take long, because a
// microbatch on its way holds its credits while nobody computes it, or where a stage has fewer replicas than others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "messages/ids.h"
#include "messages/pipeline.h"
#include "runtime/base/config.h"

namespace shoal {

// Microbatches in flight per replica, of each stage; pipeline.credits rules when it is set. At least 1, at most a
// step's.
[[nodiscard]] inline std::uint32_t credits_per_first_replica(const Config& config) {
  const int microbatches = microbatches_per_step(config);
  int credits = config.pipeline.credits;
  if (credits <= 0) credits = config.pipeline.schedule == Schedule::k1f1b ? config.pipeline.stages + 1 : microbatches;
  return static_cast<std::uint32_t>(std::clamp(credits, 1, std::max(microbatches, 1)));
}

// The most that links make of them; what pipeline.credits says stays.
[[nodiscard]] inline std::uint32_t credits_at_most(const Config& config) {
  const std::uint32_t credits = credits_per_first_replica(config);
  if (config.pipeline.credits > 0) return credits;
  return std::clamp(2 * credits, credits, static_cast<std::uint32_t>(std::max(microbatches_per_step(config), 1)));
}

// Credits by what the answers say of links: the time of a microbatch's round that no replica's queue or computing took,
// as a share of the longest computing on its path, is the number of microbatches that were on links meanwhile. One more
// than those are given, because answers do not come evenly, and one where links take a small part of it: the schedule's
// own credit for the wire is the next one's to begin with.
//
// A replica that computes by itself hears of what came meanwhile when it is done, and calls that no queue. So the least
// such time of a step and of the one before counts, of the replica for which it is greatest: each comes to replicas
// that wait for it, the first of a step at the latest. Computing is a moving average; the time comes in.
class LinkCredits {
 public:
  LinkCredits(std::uint32_t by_schedule, std::uint32_t most) : by_schedule_(by_schedule), most_(most) {}

  void begin_step() { before_ = std::exchange(now_, {}); }

  void answered(double round_ms, const std::vector<Hop>& trail) {
    double compute_ms = 0;
    for (const Hop& hop : trail) {
      round_ms -= static_cast<double>(hop.queue_ms) + static_cast<double>(hop.compute_ms);
      compute_ms = std::max(compute_ms, static_cast<double>(hop.compute_ms));
    }
    if (!std::isfinite(round_ms) || !(compute_ms > 0)) return;
    const double links_ms = std::max(round_ms, 0.0);
    for (const Hop& hop : trail) {
      double& least = now_.try_emplace(hop.replica, links_ms).first->second;
      least = std::min(least, links_ms);
    }
    compute_ms_ = compute_ms_ == 0 ? compute_ms : (1 - kNewestWeight) * compute_ms_ + kNewestWeight * compute_ms;
  }

  [[nodiscard]] std::uint32_t most() const { return most_; }
  [[nodiscard]] std::uint32_t now() const {
    const double links_ms = this->links_ms();
    if (links_ms < kLeastLinksMs || links_ms < kLeastShare * compute_ms_) return by_schedule_;
    if (links_ms < kSmallShare * compute_ms_) return std::min(by_schedule_ + 1, most_);
    const double on_links = std::ceil(links_ms / compute_ms_);
    return on_links >= most_ ? most_ : std::min(by_schedule_ + static_cast<std::uint32_t>(on_links) + 1, most_);
  }

 private:
  static constexpr double kNewestWeight = 0.2;
  static constexpr double kLeastLinksMs = 20;  // a busy machine takes as long to hand a letter over
  static constexpr double kLeastShare = 0.03;  // of a microbatch's computing
  static constexpr double kSmallShare = 0.25;

  using Least = std::map<Incarnation, double>;  // milliseconds on links of one round, there and back; of members only

  [[nodiscard]] double links_ms() const {
    double greatest_ms = 0;
    for (const auto& [replica, least_ms] : now_) {
      const auto before = before_.find(replica);
      greatest_ms = std::max(greatest_ms, before == before_.end() ? least_ms : std::min(least_ms, before->second));
    }
    for (const auto& [replica, least_ms] : before_) {
      if (!now_.contains(replica)) greatest_ms = std::max(greatest_ms, least_ms);
    }
    return greatest_ms;
  }

  std::uint32_t by_schedule_;
  std::uint32_t most_;
  Least now_;     // in this step
  Least before_;  // in the one before
  double compute_ms_ = 0;
};

// A stage with fewer replicas than another one holds as much in flight as that one with `credits` each, up to `most`:
// else one fast replica would keep several slow ones of the next stage waiting for its credits.
[[nodiscard]] inline std::uint32_t credits_of_stage(std::uint32_t credits, std::uint32_t most, std::size_t replicas,
                                                    std::size_t replicas_most) {
  const std::size_t as_many = (credits * replicas_most + replicas - 1) / std::max<std::size_t>(replicas, 1);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(as_many, credits, std::max(most, credits)));
}

// At the end of a step the stages before wait for their last answers: those go out before the weights' gradients are
// computed, which then fill what would be idle time (Qi et al., "Zero Bubble Pipeline Parallelism", 2023). As many per
// replica as there are stages that still have a backward to run; earlier ones are computed at once, which costs less
// because what they are made of is still in the caches.
[[nodiscard]] inline std::uint32_t answers_first(StageId stage) { return stage.value == 0 ? 0 : stage.value + 1; }

enum class OtherWork : std::uint8_t { kNone, kWaits };

// Returns how many of each replica's last ones that may be at most: one more while a forward or backward waits behind
// it, as where links take long and more is in flight for that. Without one it would only come back to the stage before
// sooner than that one has sent its last forwards on.
[[nodiscard]] inline std::uint32_t answers_first_at_most(StageId stage) {
  return answers_first(stage) + (stage.value == 0 ? 0 : 1);
}

// A step's microbatches are given out in the order of their numbers: the highest ones are each replica's last ones.
// other: forwards and backwards that the replica has to do beside this one.
[[nodiscard]] inline bool is_answered_first(MicrobatchId microbatch, std::uint32_t microbatch_count, StageId stage,
                                            std::size_t replicas, OtherWork other) {
  const std::uint32_t count = other == OtherWork::kWaits ? answers_first_at_most(stage) : answers_first(stage);
  return microbatch.value + replicas * count >= microbatch_count;
}

// How many of them may wait while there is other work: each keeps the inputs and output gradients of the layers'
// projections, about as much memory as a graph; the head's, which a large vocabulary makes large, are never left. With
// recomputation, which is for who has little memory, none; nor one more where credits are set to what the schedule has.
[[nodiscard]] inline std::size_t accumulations_that_may_wait(const PipelineConfig& pipeline, StageId stage) {
  if (pipeline.recompute) return 0;
  const bool is_bounded = pipeline.credits > 0 && pipeline.credits <= pipeline.stages + 1;
  return is_bounded ? answers_first(stage) : answers_first_at_most(stage);
}

}  // namespace shoal
