// The few changes that facts make, and questions to several parts of what is true.
#include "runtime/cluster/truth/truth.h"

#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/cluster/watch/reaching.h"

namespace shoal {

Truth::Truth(SupervisorConfig given)
    : config(std::move(given)),
      roster{View{}, ProcessDirectory(config.fingerprints, config.precision), Leavers(config.restart_window)},
      history(config),
      starts{{}, StartBudget(config.restart_budget, config.restart_window, config.run.value), {}},
      joins(!config.rounds),
      ballots(config.run, config.term, config.stages),
      fallback(config.settle_for),
      ending{LastStep(config.steps_target), Dismissal(config.storage_stays, config.leave_within)},
      signs(config.detector, config.complaints) {
  ENSURE(config.stages > 0 && config.replicas.least() > 0, "a run has stages, and replicas of each");
  config.policy.optimizer_step_at_start = config.start.optimizer_step;
  if (config.on_record) roster.processes.await(*config.on_record);
}

void Truth::replay(const JournalSnapshot& past) {
  roster.view = View(past.view);
  history.begin_at(past);
  for (const auto& [version, by] : past.checkpoints) {
    checkpoints.order(version, by, CheckpointOrder::Rank::kLast, {});
  }
}

void Truth::replay(const JournalEntry& entry) {
  if (entry.branch > view().branch()) checkpoints.forget_order();
  roster.view.apply(entry);
  history.follow(entry, view());
  const auto* commit = std::get_if<Commit>(&entry.body);
  const bool saves = commit != nullptr && !commit->checkpoint_by.empty();
  if (saves) checkpoints.order(view().committed_steps(), commit->checkpoint_by, CheckpointOrder::Rank::kLast, {});
}

void Truth::replay_kernels(const std::string& kernels) {
  if (!kernels.empty()) roster.processes.has_trained_with(kernels);
}

void Truth::follow(const JournalEntry& entry) {
  roster.follow(entry);
  history.follow(entry, view());
}

void Truth::follow(const TermBegins& /*begins*/, Instant now) {
  clock.begin_phase(now);
  clock.begin_gathering(now);
  history.go_on(view());
}

void Truth::follow(const PhaseBegins& begins, Instant now) {
  phase = begins.phase;
  clock.begin_phase(now);
  if (phase != RunPhase::kSpawning) clock.begin_gathering(now);
}

void Truth::follow(const BranchBegins& begins, Instant now) {
  history.begin_branch(view(), begins.start, fallback.why().has_value());
  config.start = begins.start;
  config.policy.optimizer_step_at_start = begins.start.optimizer_step;
  follow(PhaseBegins{RunPhase::kGathering}, now);
}

void Truth::follow(const TrainingBegins& /*begins*/, Instant now) {
  follow(PhaseBegins{RunPhase::kTraining}, now);
  clock.begin_step(now);
  unreadable_text.reset();
}

// The next one tries to read for itself, and says so if it cannot. One that can says nothing.
void Truth::follow(const DataLoaderEnded& /*ended*/, Instant /*now*/) { unreadable_text.reset(); }

void Truth::follow(const Commit& /*commit*/, Instant now) {
  clock.begin_step(now);
  unreadable_text.reset();
}

std::map<ProcessIncarnation, std::string> Truth::leavers_not_missed() const {
  auto may_go = roster.leavers.all();
  std::erase_if(may_go, [&](const auto& leaver) {
    const ProcessIncarnation process = leaver.first;
    const auto is_saving = [&](const ReplicaMember& member) {
      return member.process == process && checkpoints.is_saving(member.incarnation);
    };
    return std::ranges::any_of(roster.stages_of(process), [&](StageId stage) {
      return !roster.is_served_without(stage, process) || std::ranges::any_of(view().replicas_of(stage), is_saving);
    });
  });
  return may_go;
}

bool Truth::can_mover_leave() const {
  if (!roster.mover || !may_join() || !roster.is_served(roster.mover->to)) return false;
  const auto member = view().find(roster.mover->replica);
  if (!member || !roster.is_live(*member) || roster.leavers.contains(member->process)) return false;
  const auto stays = [&](const ReplicaMember& other) { return !roster.goes(other); };
  const auto staying = std::ranges::count_if(roster.live(roster.mover->from), stays);
  return staying >= static_cast<std::ptrdiff_t>(std::max<std::uint32_t>(1, config.quorum));
}

std::optional<std::uint64_t> Truth::newest_saved() const {
  const std::uint64_t saved = checkpoints.saved_version();
  return saved > 0 || config.start.from_checkpoint ? std::optional(saved) : std::nullopt;
}

std::uint64_t Truth::steps_done() const {
  const bool is_told_of = view().position().value > 0 && history.branch() == view().branch();
  return is_told_of ? view().committed_steps() : config.start.version;
}

bool Truth::may_mover_go() const { return can_mover_leave() && !checkpoints.is_saving(roster.mover->replica); }

// Looks among those that are live and stay.
std::optional<SharedMember> Truth::superfluous() const {
  std::vector<SharedMember> members;
  for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
    for (const ReplicaMember& member : roster.live(StageId{stage})) {
      const bool goes = roster.leavers.contains(member.process) || roster.removing.contains(member.incarnation);
      if (!goes) members.push_back({member.process, StageId{stage}, member.incarnation});
    }
  }
  return find_superfluous(members, config.replicas);
}

bool Truth::may_give_way() const {
  return config.share_devices && is_training() && !ending.last_step.is_committed() && !fallback.lost();
}

bool Truth::may_giver_go() const {
  if (!roster.giving_way || !may_give_way() || checkpoints.is_saving(*roster.giving_way)) return false;
  const auto member = superfluous();
  return member && member->replica == *roster.giving_way;
}

bool Truth::may_join() const {
  return is_training() && !ending.last_step.is_committed() && !ending.last_step.stopped() && !fallback.lost();
}

bool Truth::is_first_start() const {
  const bool is_taken_over = config.return_within > Duration::zero() && view().position().value > 0;
  return !fallback.why() && !is_taken_over;
}

bool Truth::is_patience_over(Instant now) const {
  return !is_first_start() && now - clock.gathering_since() >= config.gather_within;
}

std::uint64_t Truth::actors_at_once() const {
  const std::uint64_t replicas = config.replicas.total(config.stages);
  const std::uint64_t workers = roster.processes.alive(ProcessRole::kNode).size();
  const std::uint64_t placed = config.share_devices ? replicas + workers : std::max(replicas, workers);
  return placed + config.stages + 2;
}

HostLoads Truth::host_loads() const {
  std::map<ProcessIncarnation, std::vector<StageNeed>> served;
  const auto serves = [&](ProcessIncarnation process, StageId stage) {
    served[process].push_back(need_of(config.needs, stage.value));
  };
  for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
    for (const ReplicaMember& member : roster.live(StageId{stage})) serves(member.process, StageId{stage});
  }
  for (const Joiner& joiner : joins.joiners()) serves(joiner.process, joiner.order.stage);
  for (const StartingReplica& starting : starts.replicas.all()) serves(starting.process, starting.order.stage);
  HostLoads loads;
  for (const auto& [process, needs] : served) {
    const ProcessRecord* record = roster.processes.find(process);
    if (record == nullptr) continue;
    loads[machine_beneath(record->join.name, record->join.offer)].taken[process] =
        host_memory_of(record->join.offer, needs);
  }
  for (const ProcessIncarnation process : roster.processes.alive(ProcessRole::kNode)) {
    const Join& join = roster.processes.find(process)->join;
    if (join.offer.host_bytes == 0) continue;
    std::uint64_t& given = loads[machine_beneath(join.name, join.offer)].given;
    given = given == 0 ? join.offer.host_bytes : std::min(given, join.offer.host_bytes);
  }
  return loads;
}

MachineOffer Truth::offer_of(ProcessIncarnation process, const HostLoads& loads) const {
  const ProcessRecord* record = roster.processes.find(process);
  if (record == nullptr) return {};
  MachineOffer offer = record->join.offer;
  const auto machine = loads.find(machine_beneath(record->join.name, offer));
  if (machine == loads.end() || machine->second.given == 0) return offer;
  offer.host_bytes = machine->second.given;
  for (const auto& [other, bytes] : machine->second.taken) {
    const std::uint64_t taken = other == process ? 0 : std::min(offer.host_bytes, bytes);
    offer.host_bytes = std::max<std::uint64_t>(offer.host_bytes - taken, 1);  // 0: it states none
  }
  return offer;
}

bool Truth::fits(ProcessIncarnation process, StageId stage, const HostLoads& loads) const {
  const ProcessRecord* record = roster.processes.find(process);
  const bool is_known = record != nullptr && stage.value < config.needs.size();
  return !is_known || shoal::fits(offer_of(process, loads), config.needs[stage.value]);
}

std::string Truth::with_needs(StageId stage, const std::string& why) const {
  if (!tells_of_memory_lack(why) || stage.value >= config.state_bytes.size()) return why;
  return compose(why, "; the state of stage ", stage, " alone has ", (config.state_bytes[stage.value] >> 20U) + 1,
                 " MiB, and what computes it needs more: allow its workers more memory, cut the model into more stages "
                 "(pipeline.stages), or lower batch.microbatch");
}

std::set<ProcessIncarnation> Truth::workers_in_reach(Instant now) const {
  const ProcessDirectory& processes = roster.processes;
  std::vector<Reach> all;
  for (const ProcessIncarnation process : processes.alive(ProcessRole::kNode)) {
    all.push_back({process, signs.unreached_by(process, now), starts.replicas.is_on(process)});
  }
  for (const ProcessIncarnation process : processes.alive(ProcessRole::kStorage)) {
    all.push_back({process, signs.unreached_by(process, now), true});
  }
  auto within = reaching_each_other(all);
  for (const ProcessIncarnation process : processes.alive(ProcessRole::kStorage)) within.erase(process);
  return within;
}

}  // namespace shoal
