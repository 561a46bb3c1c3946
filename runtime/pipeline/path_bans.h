// Replicas that a planner passes over for a while because they failed, and who may be chosen in spite of that.
// Header only; the adaptive policies share it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "runtime/pipeline/path_planner.h"

namespace shoal {

// Returns the member that holds this microbatch in a stage.
[[nodiscard]] inline std::optional<Incarnation> holder_of(const PlanRequest& request, std::size_t stage) {
  if (request.held == nullptr) return std::nullopt;
  const auto held = request.held->find(StageId{static_cast<std::uint32_t>(stage)});
  const auto& replicas = (*request.members)[stage];
  const bool is_there =
      held != request.held->end() && std::binary_search(replicas.begin(), replicas.end(), held->second);
  return is_there ? std::optional(held->second) : std::nullopt;
}

// Bans replicas for a while. A choice leaves them out, unless every one that could be chosen is banned.
class Bans {
 public:
  void add(Incarnation replica, Instant now) { until_[replica] = now + PathPlanner::kBan; }
  void lift(Incarnation replica) { until_.erase(replica); }
  [[nodiscard]] bool holds(Incarnation replica, Instant now) const {
    const auto found = until_.find(replica);
    return found != until_.end() && now < found->second;
  }
  // After a ban has run out its holder gets one microbatch, and the ban again until that one comes back.
  void probe(Incarnation replica, Instant now) {
    if (const auto found = until_.find(replica); found != until_.end()) found->second = now + PathPlanner::kBan;
  }
  [[nodiscard]] bool is_empty() const { return until_.empty(); }
  void keep_only(const Members& members) {
    std::erase_if(until_, [&members](const auto& ban) {
      return std::none_of(members.begin(), members.end(), [&ban](const std::vector<Incarnation>& replicas) {
        return std::binary_search(replicas.begin(), replicas.end(), ban.first);
      });
    });
  }
  [[nodiscard]] std::vector<Incarnation> candidates(const PlanRequest& request, std::size_t stage, Instant now) const {
    std::vector<Incarnation> with_credit;
    for (const Incarnation replica : (*request.members)[stage]) {
      if (!request.without_credit->contains(replica)) with_credit.push_back(replica);
    }
    std::vector<Incarnation> allowed;
    for (const Incarnation replica : with_credit) {
      if (!holds(replica, now)) allowed.push_back(replica);
    }
    const auto& everybody = (*request.members)[stage];
    const bool all_banned =
        std::all_of(everybody.begin(), everybody.end(), [&](Incarnation replica) { return holds(replica, now); });
    return all_banned ? with_credit : allowed;
  }

 private:
  std::map<Incarnation, Instant> until_;
};

[[nodiscard]] inline std::vector<Incarnation> candidates_of(const Bans& bans, const PlanRequest& request,
                                                            std::size_t stage, Instant now) {
  const auto holder = holder_of(request, stage);
  return holder ? std::vector{*holder} : bans.candidates(request, stage, now);
}

}  // namespace shoal
