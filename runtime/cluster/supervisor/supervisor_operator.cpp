// What a person does to the run: orders by the names that `shoal ps` shows.
#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/cluster/operate/actor_list.h"
#include "runtime/cluster/operate/operator_words.h"
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

namespace {

// The actors of this process that no journal entry and no process names.
constexpr std::pair<const char*, Role> kOwnActors[] = {
    {"metrics", Role::kMetrics}, {"control", Role::kControl}, {"supervisor", Role::kSupervisor}};

bool can_leave(const Target& target) { return target.whole_process || target.address.role == Role::kStage; }

// Whom `shoal drain` can mean. Errors: as resolve_target(), naming those who can leave only.
Result<Target> resolve_leaver(const std::string& name, std::vector<Target> all) {
  const auto found = resolve_target(name, all);
  if (found && can_leave(*found)) return found;
  std::erase_if(all, [](const Target& target) { return !can_leave(target); });
  if (!found) return resolve_target(name, all);
  return fail(Error::kUsage,
              compose(name, " cannot be drained, only a node, by its name or by that of a stage it serves",
                      "; there are: ", list_names(all)));
}

// Of a name that nothing has now: whether the run has had something of it, or has it while it trains.
bool is_of_this_run(std::string_view name, const Roster& roster, const SupervisorConfig& config) {
  for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
    if (name == compose("sync_group/", stage)) return true;
    for (std::uint32_t slot = 0; slot < config.replicas; ++slot) {  // also before this term has added it
      if (name == compose("stage/", stage, "/", slot)) return true;
    }
  }
  for (const auto& [place, past] : roster.slots) {
    if (name == compose("stage/", place.first, "/", place.second)) return true;
  }
  for (const std::string_view kind : {"router/", "tracer/", "node_agent/"}) {
    if (name.starts_with(kind) && roster.processes.has_lost(name.substr(kind.size()))) return true;
  }
  return name == "data_loader" || name == "storage" || roster.processes.has_lost(name);
}

}  // namespace

std::vector<Target> SupervisorCore::targets() const {
  std::vector<Target> found;
  const auto add = [&](std::string name, const Address& address) {
    found.push_back({std::move(name), address, false});
  };
  const auto may_have_a_tracer = [&](ProcessIncarnation process) {
    const auto* told = signs_.told_by(process);
    const auto is_tracer = [](const ActorHealth& health) { return health.name == "tracer"; };
    return told == nullptr || std::ranges::any_of(*told, is_tracer);
  };
  const auto add_place = [&](ProcessIncarnation process, const std::string& name) {
    add("router/" + name, {process, Role::kRouter, {}, {}});
    if (may_have_a_tracer(process)) add("tracer/" + name, {process, Role::kTracer, {}, {}});
  };
  for (std::uint32_t stage = 0; stage < view().stage_count(); ++stage) {
    for (const ReplicaMember& member : roster_.live(StageId{stage})) {
      add(compose("stage/", stage, "/", member.slot), to_stage(member.process, member.incarnation));
    }
  }
  for (const StartingReplica& starting : starting_.all()) {
    const SpawnStage& order = starting.order;
    add(compose("stage/", order.stage, "/", order.slot), to_stage(starting.process, order.replica));
  }
  for (const Joiner& joiner : joins_.joiners()) {
    const SpawnStage& order = joiner.order;
    add(compose("stage/", order.stage, "/", order.slot), to_stage(joiner.process, order.replica));
  }
  for (const ProcessIncarnation process : roster_.processes.alive()) {
    const std::string name = roster_.processes.name_of(process);
    add_place(process, name);
    add("node_agent/" + name, to_node_agent(process));
    if (roster_.processes.find(process)->join.role == ProcessRole::kStorage) {
      add("storage", {process, Role::kStorage, {}, {}});
    } else {
      found.push_back({name, to_node_agent(process), true});
    }
  }
  for (const auto& [name, role] : kOwnActors) add(name, {kSpawnerProcess, role, {}, {}});
  add_place(kSpawnerProcess, "spawner");
  if (phase_ != Phase::kTraining) return found;
  add("data_loader", to_data_loader());
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
    add(compose("sync_group/", stage), to_sync_group(StageId{stage}));
  }
  return found;
}

std::vector<ActorLine> SupervisorCore::actors(const std::vector<ActorHealth>& own) const {
  ActorList list;
  std::set<ProcessIncarnation> busy;
  const auto add_replica = [&](StageId stage, ReplicaId slot, ProcessIncarnation process, ActorHealth health) {
    const auto past = roster_.slots.find({stage, slot});
    health.name = compose("stage/", stage, "/", slot);
    health.restarts = past == roster_.slots.end() ? 0 : past->second.times_added - 1;
    busy.insert(process);
    list.add(roster_.processes.name_of(process), std::move(health));
  };
  for (std::uint32_t stage = 0; stage < view().stage_count(); ++stage) {
    for (const ReplicaMember& member : view().replicas_of(StageId{stage})) {
      add_replica(StageId{stage}, member.slot, member.process,
                  {{}, member.incarnation.value, roster_.is_live(member) ? "serving" : "lost", 0, 0, {}, 0});
    }
  }
  for (const StartingReplica& starting : starting_.all()) {
    add_replica(starting.order.stage, starting.order.slot, starting.process,
                {{}, starting.order.replica.value, starting.ready ? "ready" : "starting", 0, 0, {}, 0});
  }
  for (const Joiner& joiner : joins_.joiners()) {
    add_replica(joiner.order.stage, joiner.order.slot, joiner.process,
                {{}, joiner.order.replica.value, joiner.ready ? "catching up" : "copying", 0, 0, {}, 0});
  }
  for (const ProcessIncarnation process : roster_.processes.alive()) {
    const std::string node = roster_.processes.name_of(process);
    const bool is_busy = busy.contains(process) || roster_.processes.find(process)->join.role == ProcessRole::kStorage;
    const std::string state = signs_.state_of(process, is_busy ? "serving" : "spare");
    list.add(node, {"node_agent/" + node, process.value, state, 0, 0, {}, 0});
    const auto* told = signs_.told_by(process);
    if (told != nullptr) list.merge(node, *told, roster_.processes.lives_before(process));
  }
  for (std::uint32_t stage = 0; stage < config_.stages && phase_ == Phase::kTraining; ++stage) {
    const std::string state = ballots_.has_voted(StageId{stage}) ? "voted" : "working";
    list.add("spawner", {compose("sync_group/", stage), view().group_of(StageId{stage}).value, state, 0, 0, {}, 0});
  }
  list.merge("spawner", own, 0);
  return list.sorted();
}

OperatorOutcome SupervisorCore::operate(const OperatorOrder& order, Instant now) {
  const auto refuse = [](OperatorVerdict verdict, std::string why) {
    return OperatorOutcome{{verdict, std::move(why)}, {}, 0};
  };
  if (phase_ >= Phase::kEnding) {
    if (dismissal_.end().is_handed_over) return refuse(OperatorVerdict::kAbsent, "the spawner starts again: " + dismissal_.end().reason);
    return refuse(OperatorVerdict::kRefused, "the run is over: " + dismissal_.end().reason);
  }
  const bool is_drain = order.verb == OperatorVerb::kDrain;
  const auto target = is_drain ? resolve_leaver(order.name, targets()) : resolve_target(order.name, targets());
  if (!target) {
    const bool may_come = phase_ == Phase::kReturning || is_of_this_run(order.name, roster_, config_);
    if (may_come && !resolve_target(order.name, targets()))
      return refuse(OperatorVerdict::kAbsent, absence_text(order.name, targets()));
    return refuse(OperatorVerdict::kUnknownName, target.failure().message);
  }
  if (is_drain) {
    const std::string answer = drain(target->address.process, order.reason, now);
    return {{OperatorVerdict::kDone, answer}, take_effects(), 0};
  }
  if (order.verb != OperatorVerb::kKill) return refuse(OperatorVerdict::kRefused, "not in this version");
  if (told_to_end_.contains(*target, now)) return refuse(OperatorVerdict::kAbsent, ending_text(order.name));
  if (order.how != InjectKind::kFreeze) told_to_end_.add(*target, now);
  Inject inject{numbers_.take_actor().value, target->address, target->whole_process, order.how, order.freeze_ms};
  const std::string deed = deed_of(order.how, order.freeze_ms);
  const bool ends_a_stage = target->address.role == Role::kStage && order.how != InjectKind::kFreeze;
  if (ends_a_stage) starting_.told_to_end(target->address.incarnation);
  announce("injected", order.name, compose("#", inject.id, ": ", deed, " by ", order.reason));
  if (target->address.process == kSpawnerProcess) {
    effects_.push_back(InjectHere{inject});
  } else {
    send(target->address, inject);
  }
  const std::string answer = compose(order.name, " is ", deed, " (injection ", inject.id, ")");
  return {{OperatorVerdict::kDone, answer}, take_effects(), inject.id};
}

}  // namespace shoal
