// A handful of stages, slots and workers: plain loops.
#include "runtime/cluster/recovery/replacement.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {

namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(10);

[[nodiscard]] std::uint32_t count_of(const ReplacementQuestion& question, StageId stage) {
  return static_cast<std::uint32_t>(
      std::count_if(question.taken.begin(), question.taken.end(),
                    [&](const TakenSlot& taken) { return taken.stage == stage && !taken.is_leaving; }));
}

// The stage with the fewest replicas of those that lack some, else of those that may have more; of several the weakest.
[[nodiscard]] std::optional<StageId> neediest(const ReplacementQuestion& question) {
  std::optional<std::tuple<bool, std::uint32_t, double, StageId>> least;
  for (std::uint32_t i = 0; i < question.stages; ++i) {
    const StageId stage{i};
    if (question.closed.contains(stage)) continue;
    const std::uint32_t count = count_of(question, stage);
    const std::uint32_t wanted = question.replicas.of(stage);
    const double strength = i < question.strengths.size() ? question.strengths[i] : 0;
    const std::tuple candidate(count >= wanted, count, strength, stage);
    const bool may_grow = count < std::max(wanted, question.replicas_max);
    if (may_grow && (!least || candidate < *least)) least = candidate;
  }
  return least ? std::optional(std::get<StageId>(*least)) : std::nullopt;
}

// The stage with the least capacity, nobody first, of those that may have more: any while the run lacks replicas.
[[nodiscard]] std::optional<StageId> weakest(const ReplacementQuestion& question) {
  const auto staying = std::ranges::count(question.taken, false, &TakenSlot::is_leaving);
  const bool lacks_some = static_cast<std::size_t>(staying) < question.replicas.total(question.stages);
  std::optional<std::tuple<double, StageId>> least;
  for (std::uint32_t i = 0; i < question.stages; ++i) {
    if (question.closed.contains(StageId{i})) continue;
    const std::uint32_t count = count_of(question, StageId{i});
    const bool is_below = question.limit == 0 || count < question.limit;
    const bool may_grow = is_below && (lacks_some || count < question.replicas_max);
    const std::tuple candidate(count == 0 ? 0 : question.capacities[i], StageId{i});
    if (may_grow && (!least || candidate < *least)) least = candidate;
  }
  return least ? std::optional(std::get<StageId>(*least)) : std::nullopt;
}

}  // namespace

ReplicaId lowest_free_slot(const ReplacementQuestion& question, StageId stage) {
  std::set<ReplicaId> taken;
  for (const TakenSlot& one : question.taken) {
    if (one.stage == stage) taken.insert(one.slot);
  }
  ReplicaId slot{0};
  while (taken.contains(slot)) ++slot.value;
  return slot;
}

std::optional<Replacement> plan_replacement(const ReplacementQuestion& question) {
  for (const FreeWorker& free : question.free) {
    const auto to = question.destinations.find(free.worker.process);
    if (to == question.destinations.end()) continue;
    const ReplicaId slot = lowest_free_slot(question, to->second);
    return Replacement{{to->second, slot, free.worker.process},
                       compose("stage ", to->second, " needs it more; ", free.name, " moves there")};
  }
  const bool is_by_capacity = !question.capacities.empty();
  const auto stage = is_by_capacity ? weakest(question) : neediest(question);
  if (!stage || question.free.empty()) return std::nullopt;
  const ReplicaId slot = lowest_free_slot(question, *stage);
  const auto last = question.last_worker.find({*stage, slot});
  const auto served_before = [&](const FreeWorker& free) {
    return last != question.last_worker.end() && last->second == free.name;
  };
  const auto cost = [&](const FreeWorker& free) {
    const auto on_node = [&](const TakenSlot& taken) { return taken.node == free.worker.node; };
    const auto serves = std::count_if(question.taken.begin(), question.taken.end(),
                                      [&](const TakenSlot& taken) { return on_node(taken) && taken.stage == *stage; });
    const auto used = std::count_if(question.taken.begin(), question.taken.end(), on_node);
    return std::tuple(!served_before(free), serves, used, free.worker.process);
  };
  const auto best = std::min_element(question.free.begin(), question.free.end(),
                                     [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  const std::uint32_t have = count_of(question, *stage);
  const std::uint32_t wanted = question.replicas.of(*stage);
  const std::string lack = is_by_capacity  ? compose(counted(have, "replica"), " and the least capacity")
                           : have < wanted ? compose(have, " of ", wanted, " replicas")
                                           : compose(counted(have, "replica"), " and may have more");
  const char* why = served_before(*best) ? " served this one before" : " is free";
  return Replacement{{*stage, slot, best->worker.process},
                     compose("stage ", *stage, " has ", lack, "; ", best->name, why)};
}

bool StartBudget::failed(const std::string& worker, Instant now) {
  std::erase_if(records_, [&](const auto& known) {
    const Record& record = known.second;
    const bool is_old = record.ends.empty() || now - record.ends.back() >= window_;
    return known.first != worker && is_old && record.not_before <= now && record.rests_until <= now;
  });
  Record& record = records_[worker];
  while (!record.ends.empty() && now - record.ends.front() >= window_) record.ends.pop_front();
  record.ends.push_back(now);
  if (record.ends.size() > budget_) {
    record.ends.clear();
    record.not_before = std::max(record.not_before, now + window_);
    return true;
  }
  Duration pause{};
  for (std::size_t at = 1; at < record.ends.size(); ++at) {
    pause = at == 1 ? kFirstPause : std::min(2 * pause, kLongestPause);
  }
  pause = jitter_.spread(pause, 0.75, 1.25);
  record.not_before = std::max(record.not_before, now + pause);
  return false;
}

void StartBudget::rest(const std::string& worker, Instant until) {
  Instant& rests_until = records_[worker].rests_until;
  rests_until = std::max(rests_until, until);
}

bool StartBudget::may_start(const std::string& worker, Instant now) const {
  const auto known = records_.find(worker);
  return known == records_.end() || (known->second.not_before <= now && known->second.rests_until <= now);
}

bool StartBudget::must_pause(const std::string& worker, Instant now) const {
  const auto known = records_.find(worker);
  return known != records_.end() && known->second.not_before > now;
}

}  // namespace shoal
