// They are as many as a run has slots: every question goes through all of them.
#include "runtime/cluster/starting_replicas.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace shoal {

void StartingReplicas::arriving(Incarnation replica, std::uint64_t bytes, Instant now) {
  for (StartingReplica& starting : asked_) {
    if (starting.order.replica == replica) (void)starting.state.seen(bytes, now);
  }
}

std::vector<StartingReplica> StartingReplicas::take_silent(Instant now) {
  const auto is_heard = [now](const StartingReplica& one) {
    return one.ready.has_value() || one.state.silence(now) < kSilenceMax;
  };
  const auto silent = std::stable_partition(asked_.begin(), asked_.end(), is_heard);
  std::vector<StartingReplica> taken(silent, asked_.end());
  asked_.erase(silent, asked_.end());
  return taken;
}

bool StartingReplicas::is_ready(const StageReady& ready) {
  for (StartingReplica& starting : asked_) {
    if (starting.order.replica != ready.replica) continue;
    starting.ready = ready;
    return true;
  }
  return false;
}

void StartingReplicas::told_to_end(Incarnation replica) {
  for (StartingReplica& starting : asked_) starting.was_told_to_end |= starting.order.replica == replica;
}

std::optional<StartingReplica> StartingReplicas::ended(Incarnation replica) {
  const auto is_it = [&](const StartingReplica& starting) { return starting.order.replica == replica; };
  const auto found = std::ranges::find_if(asked_, is_it);
  if (found == asked_.end()) return std::nullopt;
  StartingReplica ended = std::move(*found);
  asked_.erase(found);
  return ended;
}

void StartingReplicas::end_on(ProcessIncarnation process) {
  std::erase_if(asked_, [&](const StartingReplica& starting) { return starting.process == process; });
}

std::vector<StartingReplica> StartingReplicas::end_all() { return std::exchange(asked_, {}); }

std::vector<StartingReplica> StartingReplicas::take() {
  std::ranges::sort(asked_, [](const StartingReplica& a, const StartingReplica& b) {
    return std::tie(a.order.slot, a.order.stage) < std::tie(b.order.slot, b.order.stage);
  });
  return std::exchange(asked_, {});
}

StartProgress StartingReplicas::compare(std::uint64_t version) const {
  std::map<StageId, std::uint64_t> digests;
  for (const StartingReplica& starting : asked_) {
    if (!starting.ready) return {};
    const auto [first, is_first] = digests.emplace(starting.order.stage, starting.ready->state_digest);
    const bool is_equal = starting.ready->version == version && first->second == starting.ready->state_digest;
    if (!is_equal) return {false, starting, 0};
  }
  return {true, std::nullopt, digests.size()};
}

std::size_t StartingReplicas::ready_count() const {
  const auto is_ready = [](const StartingReplica& starting) { return starting.ready.has_value(); };
  return static_cast<std::size_t>(std::ranges::count_if(asked_, is_ready));
}

bool StartingReplicas::is_asked(Incarnation replica) const {
  return std::ranges::any_of(asked_, [&](const StartingReplica& one) { return one.order.replica == replica; });
}

bool StartingReplicas::is_on(ProcessIncarnation process) const {
  return std::ranges::any_of(asked_, [&](const StartingReplica& starting) { return starting.process == process; });
}

bool StartingReplicas::is_taken(StageId stage, ReplicaId slot) const {
  return std::ranges::any_of(asked_, [&](const StartingReplica& starting) {
    return starting.order.stage == stage && starting.order.slot == slot;
  });
}

}  // namespace shoal
