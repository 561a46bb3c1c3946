// HolderSurvey: which replica holds which microbatch of the step, from manifests, for a data loader that asks (P-14a):
// a microbatch that is sent to another replica than its holder makes a duplicate and a replayed step. Its holder is
// whoever has answered it; if nobody has, a replica that has it in flight and will answer it.
//
// An open group prepares for the answer alone: a survey. It waits for every member: one that is dead leaves the view,
// one that computes answers behind its work, and whatever is sent before is sent twice. Each question is answered once.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "messages/pipeline.h"
#include "messages/sync.h"

namespace shoal {

class HolderSurvey {
 public:
  // microbatches: of a step; what is beyond them is in nobody's plan.
  void hear(const Manifest& manifest, std::uint32_t microbatches) {
    for (const ManifestEntry& entry : manifest.entries) holders_[entry.microbatch] = {manifest.member, true};
    for (const MicrobatchId microbatch : manifest.in_flight) {
      if (microbatch.value >= microbatches) continue;
      Known& known = holders_[microbatch];
      if (!known.has_answered) known.replica = manifest.member;
    }
  }
  // The step was emptied.
  void forget_holders() { holders_.clear(); }
  template <class IsMember>
  void keep_members(IsMember is_member) {
    std::erase_if(holders_, [&](const auto& holder) { return !is_member(holder.second.replica); });
  }

  void ask() { is_asked_ = true; }
  [[nodiscard]] bool is_asked() const { return is_asked_; }
  // The manifests are asked for to answer, and for nothing else, until the epoch ends.
  void begin() { is_under_way_ = true; }
  // True: it was under way.
  bool end() { return std::exchange(is_under_way_, false); }
  // None: nobody has asked since the last answer.
  [[nodiscard]] std::optional<Holders> take_answer(StageId stage, Branch branch, StepId step) {
    if (!std::exchange(is_asked_, false)) return std::nullopt;
    Holders answer{stage, branch, step, {}};
    for (const auto& [microbatch, known] : holders_) answer.holders.push_back({microbatch, known.replica});
    return answer;
  }

 private:
  struct Known {
    Incarnation replica;
    bool has_answered = false;
  };

  std::map<MicrobatchId, Known> holders_;
  bool is_asked_ = false;
  bool is_under_way_ = false;
};

}  // namespace shoal
