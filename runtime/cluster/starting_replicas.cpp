// They are as many as a run has slots: every question goes through all of them.
#include "runtime/cluster/starting_replicas.h"

#include <algorithm>
#include <map>
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

bool StartingReplicas::is_ready(const StageReady& ready, Instant now) {
  for (StartingReplica& starting : asked_) {
    if (starting.order.replica != ready.replica) continue;
    if (!starting.ready) starting.ready_at = now;
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

std::vector<std::size_t> StartingReplicas::count_by_stage(std::uint32_t stages) const {
  std::vector<std::size_t> counts(stages);
  for (const StartingReplica& starting : asked_) ++counts[starting.order.stage.value];
  return counts;
}

// One that is not ready, if there is one, has the least to lose.
std::optional<StartMove> StartingReplicas::take_spare(std::uint32_t stages) {
  const auto counts = count_by_stage(stages);
  const auto least = std::ranges::min_element(counts);
  const auto most = std::ranges::max_element(counts);
  if (*least > 0 || *most < 2) return std::nullopt;
  const auto cost = [&](const StartingReplica& starting) {
    const bool is_of_it = starting.order.stage.value == static_cast<std::uint32_t>(most - counts.begin());
    return std::pair(!is_of_it, starting.ready.has_value());
  };
  const auto spare = std::ranges::min_element(asked_, {}, cost);
  StartMove move{std::move(*spare), StageId{static_cast<std::uint32_t>(least - counts.begin())}};
  asked_.erase(spare);
  return move;
}

std::vector<StartingReplica> StartingReplicas::take_ready() {
  const auto late = std::ranges::partition(asked_, [](const StartingReplica& one) { return one.ready.has_value(); });
  std::vector<StartingReplica> taken(asked_.begin(), late.begin());
  asked_.erase(asked_.begin(), late.begin());
  std::ranges::sort(taken, {}, [](const StartingReplica& one) { return std::pair(one.order.slot, one.order.stage); });
  return taken;
}

StartProgress StartingReplicas::compare(std::uint64_t version) const {
  struct First {
    std::uint64_t digest;
    Instant ready_at;
  };
  StartProgress progress;
  std::map<StageId, First> firsts;
  for (const StartingReplica& starting : asked_) {
    progress.asked_at = std::min(progress.asked_at, starting.asked_at);
    progress.are_ready = progress.are_ready && starting.ready;
    if (!starting.ready) continue;
    auto& first =
        firsts.try_emplace(starting.order.stage, starting.ready->state_digest, starting.ready_at).first->second;
    first.ready_at = std::min(first.ready_at, starting.ready_at);
    const bool is_equal = starting.ready->version == version && first.digest == starting.ready->state_digest;
    if (!is_equal) return {.are_ready = false, .differs = starting};
  }
  progress.stages = firsts.size();
  for (const auto& [stage, first] : firsts) progress.served_at = std::max(progress.served_at, first.ready_at);
  return progress;
}

int StartingReplicas::count_of(StageId stage) const {
  return static_cast<int>(
      std::ranges::count_if(asked_, [stage](const auto& starting) { return starting.order.stage == stage; }));
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

std::optional<std::pair<StageId, ReplicaId>> StartingReplicas::free_place(std::uint32_t stages,
                                                                          const ReplicasWanted& replicas) const {
  const auto counts = count_by_stage(stages);
  std::optional<std::pair<std::size_t, StageId>> least;
  for (std::uint32_t i = 0; i < stages; ++i) {
    const std::pair candidate(counts[i], StageId{i});
    if (counts[i] < replicas.of(StageId{i}) && (!least || candidate < *least)) least = candidate;
  }
  if (!least) return std::nullopt;
  const StageId stage = least->second;
  const auto is_taken = [&](ReplicaId slot) {
    return std::ranges::any_of(asked_, [&](const StartingReplica& starting) {
      return starting.order.stage == stage && starting.order.slot == slot;
    });
  };
  ReplicaId slot{0};
  while (is_taken(slot)) ++slot.value;
  return std::pair(stage, slot);
}

}  // namespace shoal
