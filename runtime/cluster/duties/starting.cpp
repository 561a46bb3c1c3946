// One handler for each thing that may fill a place, or empty it.
#include "runtime/cluster/duties/starting.h"

#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/restart_policy.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/balance/memory_refusals.h"
#include "runtime/cluster/balance/shared_places.h"
#include "runtime/cluster/recovery/shared_devices.h"
#include "runtime/cluster/truth/waiting_words.h"

namespace shoal {

// Whoever starts nothing: who could not start a replica comes after the others, who rests comes last.
std::vector<Worker> StartingDuty::free_workers(Instant now) const {
  const ProcessDirectory& processes = truth_.roster.processes;
  std::vector<Worker> workers;
  for (const ProcessIncarnation process : workers_to_ask(now)) {
    const bool is_free =
        !starts_.replicas.is_on(process) && !starts_.budget.must_pause(processes.name_of(process), now);
    if (!is_free) continue;
    const std::string name = processes.name_of(process);
    const int choice = 2 * !starts_.budget.may_start(name, now) + failed_.contains(name);
    workers.push_back({process, processes.find(process)->join.name, processes.find(process)->join.offer, choice});
  }
  std::ranges::stable_sort(workers, {}, &Worker::choice);
  return workers;
}

// P-29c. Only a first start, which needs all of them, asks workers that do not reach each other: one of two goes soon.
std::vector<ProcessIncarnation> StartingDuty::workers_to_ask(Instant now) const {
  std::vector<ProcessIncarnation> workers = truth_.roster.processes.alive(ProcessRole::kNode);
  if (needs_all_places()) return workers;
  const auto in_reach = truth_.workers_in_reach(now);
  std::erase_if(workers, [&](ProcessIncarnation process) { return !in_reach.contains(process); });
  return workers;
}

Answers StartingDuty::on(const TermBegins& /*begins*/, Instant /*now*/) {
  wait_left_ = truth_.config.wait_timeout;
  looked_at_ = truth_.clock.watched();
  return {};
}

Answers StartingDuty::on(const TrainingBegins& /*begins*/, Instant /*now*/) {
  wait_left_.reset();
  return {};
}

Answers StartingDuty::on(const WorkersChanged& /*changed*/, Instant now) {
  Answers answers;
  changed_ = truth_.clock.watched();
  place_if_enough(now, answers);
  return answers;
}

void StartingDuty::place_if_enough(Instant now, Answers& answers) {
  if (truth_.phase == RunPhase::kGathering) place_all(now, answers);
  if (truth_.phase == RunPhase::kSpawning) fill_places(now, answers);
}

// Where devices are shared, only as long as workers come and go.
bool StartingDuty::is_patience_over(Instant now) const {
  const SupervisorConfig& config = truth_.config;
  if (!config.share_devices) return truth_.is_patience_over(now);
  return truth_.clock.watched() - changed_ >= config.share_after;
}

void StartingDuty::place_all(Instant now, Answers& answers) {
  if (now < not_before_) return;
  const auto workers = free_workers(now);
  Tried tried{{}, is_patience_over(now)};
  for (const Worker& worker : workers) tried.choices.emplace_back(worker.process, worker.choice);
  if (tried == tried_) return;
  const auto placements = find_places(workers, tried.is_over, answers);
  tried_.reset();
  if (!placements) {
    tried_ = std::move(tried);
    return;
  }
  answers.tell(PhaseBegins{RunPhase::kSpawning});
  for (const Placement& placement : *placements) start(placement, answers);
}

// is_over: no more workers are waited for.
std::optional<std::vector<Placement>> StartingDuty::find_places(const std::vector<Worker>& workers, bool is_over,
                                                                Answers& answers) {
  const SupervisorConfig& config = truth_.config;
  PlacesWanted wanted{config.replicas.listed(config.stages), config.needs, config.threads, config.config_file};
  starts_.misfit.clear();
  auto placements = place_machines(workers, wanted);
  if (placements) return placements;
  if (config.share_devices) {
    placements = place_shared(workers, wanted);
    if (!placements) starts_.misfit = sharing_refusal(workers, wanted);
    if (is_over) refuse(starts_.misfit, answers);
    return is_over ? placements : std::nullopt;
  }
  starts_.misfit = memory_refusal(workers, wanted);
  refuse(starts_.misfit, answers);
  auto each = static_cast<std::uint32_t>(workers.size() / config.stages);
  for (; !placements && each > 0 && is_over; --each) {
    for (std::uint32_t& replicas : wanted.replicas) replicas = std::min(replicas, each);
    placements = place_machines(workers, wanted);
  }
  if (placements) starts_.misfit.clear();
  return placements;
}

// Once for each that is said: it is asked again whenever workers come or go.
void StartingDuty::refuse(const std::string& why, Answers& answers) {
  if (why.empty() || why == std::exchange(refused_, why)) return;
  answers.announce(RunEventKind::kStageDoesNotFit, "run", why);
}

// Somebody was lost before it served: a spare, or the next to join, takes the slot. Where nobody is free for a stage
// that has nobody, another gives one up: the run trains with fewer rather than not at all.
void StartingDuty::fill_places(Instant now, Answers& answers) {
  while (const auto place = starts_.replicas.free_place(truth_.config.stages, truth_.config.replicas)) {
    auto workers = free_workers(now);
    const HostLoads loads = truth_.host_loads();
    std::erase_if(workers, [&](const Worker& worker) { return !truth_.fits(worker.process, place->first, loads); });
    if (workers.empty()) break;
    start({place->first, place->second, workers.front().process}, answers);
  }
  if (!is_patience_over(now)) return;
  if (truth_.config.share_devices) share_places(now, answers);
  while (const auto move = starts_.replicas.take_spare(truth_.config.stages)) {
    const SpawnStage& order = move->from.order;
    const std::string why = compose("stage ", move->to, " has nobody, and no worker is free");
    answers.announce(RunEventKind::kStartMoved, compose("stage/", order.stage, "/", order.slot), why);
    answers.send(to_node_agent(move->from.process), EndStage{order.stage, order.replica, why});
    start({move->to, ReplicaId{0}, move->from.process}, answers);
  }
}

// Those on which a start failed are asked when there are no others.
void StartingDuty::share_places(Instant now, Answers& answers) {
  const ProcessDirectory& processes = truth_.roster.processes;
  const auto question = [&] {
    ReplacementQuestion asked;
    asked.stages = truth_.config.stages;
    asked.replicas = truth_.config.replicas;
    asked.needs = truth_.config.needs;
    for (const StartingReplica& starting : starts_.replicas.all()) {
      const SpawnStage& order = starting.order;
      asked.taken.push_back({order.stage, order.slot, processes.find(starting.process)->join.name, starting.process});
    }
    const HostLoads loads = truth_.host_loads();
    for (const ProcessIncarnation process : workers_to_ask(now)) {
      const std::string name = processes.name_of(process);
      const std::string& node = processes.find(process)->join.name;
      if (starts_.budget.may_start(name, now)) {
        asked.sharing.push_back({{process, node, truth_.offer_of(process, loads)}, name});
      }
    }
    const auto has_failed = [&](const FreeWorker& worker) { return failed_.contains(worker.name); };
    if (!std::ranges::all_of(asked.sharing, has_failed)) std::erase_if(asked.sharing, has_failed);
    return asked;
  };
  while (const auto next = plan_doubling(question(), Doubling::kAnybody)) start(next->placement, answers);
}

void StartingDuty::start(const Placement& placement, Answers& answers) {
  const StartPoint& from = truth_.config.start;
  const SpawnStage order{placement.stage, placement.slot,      numbers_.take_actor(), truth_.history.branch(),
                         from.version,    from.optimizer_step, from.from_checkpoint,  Incarnation{}};
  starts_.replicas.ask(order, placement.process, truth_.clock.watched());
  answers.note(compose("stage/", placement.stage, "/", placement.slot, " starts on ",
                       truth_.roster.processes.name_of(placement.process)));
  answers.send(to_node_agent(placement.process), order);
}

Answers StartingDuty::on(const StageReady& ready, Instant now) {
  Answers answers;
  const bool is_asked = starts_.replicas.is_ready(ready, truth_.clock.watched());
  if (truth_.is_training()) {
    answers.tell(ReadyInTraining{ready});
  } else if (is_asked) {
    admit(now, answers);
  } else {
    answers.tell(StrangerReady{ready});
  }
  return answers;
}

// Its worker pauses, and its keeper starts the process again where that is of no use; another has the place meanwhile.
Answers StartingDuty::on(const StageEnded& ended, Instant /*now*/) {
  Answers answers;
  if (truth_.is_ending()) return answers;
  const auto starter = starts_.replicas.ended(ended.replica);
  if (!starter) return answers;
  answers.announce(RunEventKind::kStartFailed, compose("stage/", ended.stage), ended.reason);
  if (!starter->was_told_to_end) {
    const ProcessIncarnation process = starter->process;
    answers.tell(ReplicaFailed{process, ended.reason});
    if (truth_.phase == RunPhase::kSpawning) {  // otherwise another start is looked for already
      const ProcessDirectory& processes = truth_.roster.processes;
      const StageId stage = starter->order.stage;
      failed_.add(stage, processes.name_of(process), processes.find(process)->join.name);
      const std::string why = compose("a replica of stage ", stage, " could not start: ", ended.reason);
      const bool is_hopeless = failed_.are_hopeless(stage, tally_of(stage), tally_of({}), untried_workers());
      if (is_hopeless) answers.tell(StartFailed{truth_.with_needs(stage, why)});
    }
  }
  answers.tell(WorkersChanged{});
  return answers;
}

// The first start waits for all places: whoever starts one of them is of no use to another.
std::size_t StartingDuty::untried_workers() const {
  const auto workers = truth_.roster.processes.alive(ProcessRole::kNode);
  return static_cast<std::size_t>(std::ranges::count_if(workers, [&](ProcessIncarnation process) {
    const bool is_busy = truth_.is_first_start() && starts_.replicas.is_on(process);
    return !is_busy && !failed_.has_failed_now(truth_.roster.processes.name_of(process));
  }));
}

StartTally StartingDuty::tally_of(std::optional<StageId> stage) const {
  StartTally tally;
  if (stage) tally.needed = needed().of(*stage);
  for (const StartingReplica& one : starts_.replicas.all()) {
    if (stage && one.order.stage != *stage) continue;
    const bool is_trying = !one.ready && !failed_.has_failed_now(truth_.roster.processes.name_of(one.process));
    tally.ready += one.ready ? 1 : 0;
    tally.trying += is_trying ? 1 : 0;
  }
  return tally;
}

Answers StartingDuty::on(const StateProgress& progress, Instant /*now*/) {
  const bool is_ours = progress.branch == truth_.history.branch() && progress.stage.value < truth_.config.stages;
  if (is_ours && !progress.is_shard)
    starts_.replicas.arriving(progress.replica, progress.bytes, truth_.clock.watched());
  return {};
}

Answers StartingDuty::on(const ProcessGone& gone, Instant /*now*/) {
  if (!truth_.is_ending()) starts_.replicas.end_on(gone.process);
  return {};
}

// Whoever has the order already starts nothing for it, and says so if the replica has ended meanwhile (node_agent): a
// number of its own for each Join would make as many actors as there are Joins.
Answers StartingDuty::on(const LinkedAgain& linked, Instant /*now*/) {
  Answers answers;
  for (const StartingReplica& starting : starts_.replicas.all()) {
    if (starting.process == linked.process) answers.send(to_node_agent(linked.process), starting.order);
  }
  return answers;
}

Answers StartingDuty::on(const OrderedToEnd& told, Instant /*now*/) {
  starts_.replicas.told_to_end(told.replica);
  return {};
}

Answers StartingDuty::on(const BranchBegins& /*begins*/, Instant /*now*/) {
  Answers answers;
  failed_.begin_again();
  for (const StartingReplica& starting : starts_.replicas.end_all()) {
    answers.send(to_node_agent(starting.process),
                 EndStage{starting.order.stage, starting.order.replica, "the run rolls back"});
  }
  return answers;
}

// Another state may be loaded where the one before it could not.
Answers StartingDuty::on(const StartRepeated& repeated, Instant /*now*/) {
  if (!repeated.is_in_vain) failed_ = FailedStarts();
  return {};
}

Answers StartingDuty::on(const StartPaused& paused, Instant /*now*/) {
  not_before_ = std::max(not_before_, paused.until);
  return {};
}

// In place a few times; then it is the keeper's turn to start the process again, and that of another worker meanwhile.
Answers StartingDuty::on(const ReplicaFailed& failed, Instant now) {
  Answers answers;
  const std::string worker = truth_.roster.processes.name_of(failed.process);
  if (!starts_.budget.failed(worker, now)) return answers;
  const auto window = std::chrono::duration_cast<std::chrono::seconds>(truth_.config.restart_window).count();
  const std::string what = compose("replicas on it ended more than ", truth_.config.restart_budget, " times within ",
                                   window, " s, the last: ", failed.reason);
  if (!truth_.roster.stages_of(failed.process).empty()) {  // a shared device that serves another stage well
    answers.announce(RunEventKind::kRestartBudgetSpent, worker, what + "; it serves another stage, and rests");
    return answers;
  }
  const std::string why = what + "; its keeper starts the process again";
  answers.announce(RunEventKind::kRestartBudgetSpent, worker, why);
  answers.send(to_node_agent(failed.process), EndProcess{why, 1});
  return answers;
}

Answers StartingDuty::on(const WorkerRests& rests, Instant /*now*/) {
  starts_.budget.rest(rests.worker, rests.until);
  return {};
}

Answers StartingDuty::on(const TickCame& /*tick*/, Instant now) {
  Answers answers;
  if (is_starting()) {
    replace_silent(now, answers);
    place_if_enough(now, answers);
  }
  if (is_wait_over(now)) {
    answers.tell(
        EndOfRun{4, explain_waiting(truth_, now) + "; start more nodes, or lower pipeline.stages or pipeline.replicas",
                 RunEventKind::kFailed});
  } else {
    admit(now, answers);
  }
  return answers;
}

// Members of a run that is taken over are waited for like others. Gathering lacks workers only where places were looked
// for and not found.
bool StartingDuty::lacks_workers(Instant now) const {
  if (truth_.phase == RunPhase::kReturning) return true;
  if (truth_.phase == RunPhase::kGathering) return now >= not_before_ && tried_.has_value();
  return truth_.phase == RunPhase::kSpawning && starts_.replicas.free_place(truth_.config.stages, needed()).has_value();
}

// Asked after places were looked for. Time in which all workers are there does not count (a state may take long to
// come), nor does time in which we were away. Nobody gives up while fewer workers may yet do.
bool StartingDuty::is_wait_over(Instant now) {
  const Instant watched = truth_.clock.watched();
  const Duration passed = watched - std::exchange(looked_at_, watched);
  if (!wait_left_ || !lacks_workers(now)) return false;
  *wait_left_ -= passed;
  const bool may_fewer_do = !needs_all_places() && !is_patience_over(now);
  return is_starting() && !may_fewer_do && *wait_left_ <= Duration::zero();
}

// Another worker has the place, if there is one: this one rests.
void StartingDuty::replace_silent(Instant now, Answers& answers) {
  for (const StartingReplica& silent : starts_.replicas.take_silent(truth_.clock.watched())) {
    const SpawnStage& order = silent.order;
    const std::string worker = truth_.roster.processes.name_of(silent.process);
    const std::string why = "it has no state, and no more of it came for long";
    answers.announce(RunEventKind::kStartGivenUp, compose("stage/", order.stage, "/", order.slot),
                     compose("on ", worker, ": ", why));
    answers.send(to_node_agent(silent.process), EndStage{order.stage, order.replica, why});
    starts_.budget.rest(worker, now + StartingReplicas::kSilenceMax);
  }
}

// All places, or after a while those that are ready: for those that are late, as long again as it took until every
// stage had one, because nobody knows beforehand how long a state takes.
bool StartingDuty::are_enough(const StartProgress& progress, Instant now) const {
  const SupervisorConfig& config = truth_.config;
  const bool are_all_asked = starts_.replicas.all().size() == config.replicas.total(config.stages);
  if (progress.are_ready && are_all_asked) return true;
  if (needs_all_places() || progress.stages < config.stages) return false;
  if (progress.are_ready) return is_patience_over(now);
  const Duration served_after = progress.served_at - progress.asked_at;
  return truth_.clock.watched() - progress.served_at >= std::max(config.gather_within, served_after);
}

// P-27, S-3: the initial replicas at the version of the committed steps, those of a stage with equal state. Those that
// are late end: they join the others.
void StartingDuty::admit(Instant now, Answers& answers) {
  if (truth_.phase != RunPhase::kSpawning) return;
  const std::uint64_t version = truth_.config.start.version;
  const StartProgress progress = starts_.replicas.compare(version);
  if (progress.differs) {
    const StartingReplica& other = *progress.differs;
    return answers.tell(
        EndOfRun{kGivenUpStatus,
                 compose("replicas of stage ", other.order.stage, " start with different states (",
                         truth_.roster.processes.name_of(other.process), " at version ", other.ready->version, ")"),
                 RunEventKind::kFailed});
  }
  if (!are_enough(progress, now)) return;
  const auto replicas = starts_.replicas.take_ready();
  answers.tell(MembersBegin{replicas.front().process});
  for (const StartingReplica& starting : replicas) {
    const SpawnStage& order = starting.order;
    answers.append(AddReplica{order.stage, order.slot, order.replica, starting.process, order.version});
  }
  for (const StartingReplica& late : starts_.replicas.end_all()) {
    answers.send(to_node_agent(late.process),
                 EndStage{late.order.stage, late.order.replica, "the others train without it"});
  }
  answers.tell(TrainingBegins{version});
  answers.announce(RunEventKind::kTraining, "run",
                   compose(counted(truth_.config.stages, "stage"), " with ", counted(replicas.size(), "replica"),
                           " in all ", is_or_are(truth_.config.stages), " ready"));
}

}  // namespace shoal
