// The replicas that a run begins with: where they start, when they are added, and what becomes of those that cannot.
#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/restart_policy.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

// Whoever starts nothing: who could not start a replica comes after the others, who rests comes last.
std::vector<Worker> SupervisorCore::free_workers(Instant now) const {
  std::vector<Worker> workers;
  for (const ProcessIncarnation process : roster_.processes.alive(ProcessRole::kNode)) {
    const bool is_free = !starting_.is_on(process) && !starts_.must_pause(roster_.processes.name_of(process), now);
    if (is_free) workers.push_back({process, roster_.processes.find(process)->join.name});
  }
  std::ranges::stable_sort(workers, {}, [&](const Worker& worker) {
    const std::string name = roster_.processes.name_of(worker.process);
    return std::pair(!starts_.may_start(name, now), failed_starts_.contains(name));
  });
  return workers;
}

void SupervisorCore::place_if_enough(Instant now) {
  if (phase_ == Phase::kGathering) {
    if (now < start_not_before_) return;
    const auto workers = free_workers(now);
    auto placements = place(workers, config_.stages, config_.replicas);
    const auto each = static_cast<std::uint32_t>(workers.size() / config_.stages);
    if (!placements && each > 0 && is_patience_over(now)) placements = place(workers, config_.stages, each);
    if (!placements) return;
    phase_ = Phase::kSpawning;
    phase_since_ = now;
    for (const Placement& placement : *placements) start_replica(placement);
  } else if (phase_ == Phase::kSpawning) {
    fill_places(now);
  } else if (phase_ == Phase::kTraining) {
    place_joiners(now);
  }
}

// Somebody was lost before it served: a spare, or the next to join, takes the slot. Where nobody is free for a stage
// that has nobody, another gives one up: the run trains with fewer rather than not at all.
void SupervisorCore::fill_places(Instant now) {
  while (const auto place = starting_.free_place(config_.stages, config_.replicas)) {
    const auto workers = free_workers(now);
    if (workers.empty()) break;
    start_replica({place->first, place->second, workers.front().process});
  }
  if (!is_patience_over(now)) return;
  while (const auto move = starting_.take_spare(config_.stages)) {
    const SpawnStage& order = move->from.order;
    const std::string why = compose("stage ", move->to, " has nobody, and no worker is free");
    announce("start_moved", compose("stage/", order.stage, "/", order.slot), why);
    send(to_node_agent(move->from.process), EndStage{order.stage, order.replica, why});
    start_replica({move->to, ReplicaId{0}, move->from.process});
  }
}

void SupervisorCore::start_replica(const Placement& placement) {
  const StartPoint& start = config_.start;
  const SpawnStage order{placement.stage, placement.slot,       numbers_.take_actor(), branches_.current(),
                         start.version,   start.optimizer_step, start.from_checkpoint, Incarnation{}};
  starting_.ask(order, placement.process, watched());
  note(compose("stage/", placement.stage, "/", placement.slot, " starts on ",
               roster_.processes.name_of(placement.process)));
  send(to_node_agent(placement.process), order);
}

// Its worker pauses, and its keeper starts the process again where that is of no use; another has the place meanwhile.
void SupervisorCore::start_failed(const StartingReplica& failed, const std::string& reason, Instant now) {
  ended_on(failed.process, reason, now);
  if (phase_ != Phase::kSpawning) return;  // another start is looked for already
  failed_starts_.add(roster_.processes.name_of(failed.process), roster_.processes.find(failed.process)->join.name);
  if (!failed_starts_.are_hopeless(untried_workers())) return;
  const std::string why = compose("a replica of stage ", failed.order.stage, " could not start: ", reason);
  start_elsewhere(with_needs(failed.order.stage, why), now);
}

// The first start waits for all places: whoever starts one of them is of no use to another.
std::size_t SupervisorCore::untried_workers() const {
  const auto workers = roster_.processes.alive(ProcessRole::kNode);
  return static_cast<std::size_t>(std::ranges::count_if(workers, [&](ProcessIncarnation process) {
    const bool is_busy = is_first_start() && starting_.is_on(process);
    return !is_busy && !failed_starts_.contains(roster_.processes.name_of(process));
  }));
}

// Another worker has the place, if there is one: this one rests.
void SupervisorCore::replace_silent(Instant now) {
  for (const StartingReplica& silent : starting_.take_silent(watched())) {
    const SpawnStage& order = silent.order;
    const std::string worker = roster_.processes.name_of(silent.process);
    const std::string why = "it has no state, and no more of it came for long";
    announce("start_given_up", compose("stage/", order.stage, "/", order.slot), compose("on ", worker, ": ", why));
    send(to_node_agent(silent.process), EndStage{order.stage, order.replica, why});
    starts_.rest(worker, now + StartingReplicas::kSilenceMax);
  }
}

// All places, or after a while those that are ready: for those that are late, as long again as it took until every
// stage had one, because nobody knows beforehand how long a state takes.
bool SupervisorCore::are_enough(const StartProgress& progress, Instant now) const {
  const bool are_all_asked = starting_.all().size() == std::size_t{config_.stages} * config_.replicas;
  if (progress.are_ready && are_all_asked) return true;
  if (is_first_start() || progress.stages < config_.stages) return false;
  if (progress.are_ready) return is_patience_over(now);
  return watched() - progress.served_at >= std::max(config_.gather_within, progress.served_at - progress.asked_at);
}

// P-27, S-3: the initial replicas at the version of the committed steps, those of a stage with equal state. Those that
// are late end: they join the others.
void SupervisorCore::admit_replicas(Instant now) {
  if (phase_ != Phase::kSpawning) return;
  const StartProgress progress = starting_.compare(config_.start.version);
  if (progress.differs) {
    const StartingReplica& starting = *progress.differs;
    return finish(kGivenUpStatus,
                  compose("replicas of stage ", starting.order.stage, " start with different states (",
                          roster_.processes.name_of(starting.process), " at version ", starting.ready->version, ")"),
                  "failed", now);
  }
  if (!are_enough(progress, now)) return;
  const auto replicas = starting_.take_ready();
  for (const StartingReplica& starting : replicas) {
    const SpawnStage& order = starting.order;
    append(AddReplica{order.stage, order.slot, order.replica, starting.process, order.version});
  }
  for (const StartingReplica& late : starting_.end_all()) {
    send(to_node_agent(late.process), EndStage{late.order.stage, late.order.replica, "the others train without it"});
  }
  in_vain_.reset();
  last_step_.begin_from(config_.start.version);
  begin_training(now);
  announce("training", "run",
           compose(counted(config_.stages, "stage"), " with ", counted(replicas.size(), "replica"), " in all ",
                   is_or_are(config_.stages), " ready"));
}

}  // namespace shoal
