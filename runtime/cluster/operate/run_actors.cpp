// Members, replicas on the way, processes, and the actors of the spawner, in this order.
#include "runtime/cluster/operate/run_actors.h"

#include <algorithm>
#include <set>
#include <utility>

#include "messages/letter.h"
#include "runtime/base/compose.h"

namespace shoal {

namespace {

// Kinds of actors that every process has, as their names begin.
constexpr std::string_view kKindsOfAll[] = {"router/", "tracer/", "node_agent/"};

// The actors of the spawner's process that no journal entry and no process names.
constexpr std::pair<const char*, Role> kOwnActors[] = {
    {"metrics", Role::kMetrics}, {"control", Role::kControl}, {"supervisor", Role::kSupervisor}};

}  // namespace

std::vector<Target> list_targets(const RunActors& run) {
  std::vector<Target> found;
  const auto add = [&](std::string name, const Address& address) {
    found.push_back({std::move(name), address, false});
  };
  const auto may_have_a_tracer = [&](ProcessIncarnation process) {
    const auto* told = run.signs.told_by(process);
    const auto is_tracer = [](const ActorHealth& health) { return health.name == "tracer"; };
    return told == nullptr || std::ranges::any_of(*told, is_tracer);
  };
  const auto add_place = [&](ProcessIncarnation process, const std::string& name) {
    add("router/" + name, {process, Role::kRouter, {}, {}});
    if (may_have_a_tracer(process)) add("tracer/" + name, {process, Role::kTracer, {}, {}});
  };
  for (std::uint32_t stage = 0; stage < run.roster.view.stage_count(); ++stage) {
    for (const ReplicaMember& member : run.roster.live(StageId{stage})) {
      add(compose("stage/", stage, "/", member.slot), to_stage(member.process, member.incarnation));
    }
  }
  for (const StartingReplica& starting : run.starting.all()) {
    const SpawnStage& order = starting.order;
    add(compose("stage/", order.stage, "/", order.slot), to_stage(starting.process, order.replica));
  }
  for (const Joiner& joiner : run.joins.joiners()) {
    const SpawnStage& order = joiner.order;
    add(compose("stage/", order.stage, "/", order.slot), to_stage(joiner.process, order.replica));
  }
  for (const ProcessIncarnation process : run.roster.processes.alive()) {
    const std::string name = run.roster.processes.name_of(process);
    add_place(process, name);
    add("node_agent/" + name, to_node_agent(process));
    if (run.roster.processes.find(process)->join.role == ProcessRole::kStorage) {
      add("storage", {process, Role::kStorage, {}, {}});
    } else {
      found.push_back({name, to_node_agent(process), true});
    }
  }
  for (const auto& [name, role] : kOwnActors) add(name, {kSpawnerProcess, role, {}, {}});
  add_place(kSpawnerProcess, "spawner");
  if (!run.shape.is_training) return found;
  add("data_loader", to_data_loader());
  for (std::uint32_t stage = 0; stage < run.shape.stages; ++stage) {
    add(compose("sync_group/", stage), to_sync_group(StageId{stage}));
  }
  return found;
}

std::vector<ActorLine> list_actors(const RunActors& run, const std::vector<ActorHealth>& own) {
  ActorList list;
  std::set<ProcessIncarnation> busy;
  const auto add_replica = [&](StageId stage, ReplicaId slot, ProcessIncarnation process, ActorHealth health) {
    const auto past = run.roster.slots.find({stage, slot});
    health.name = compose("stage/", stage, "/", slot);
    health.restarts = past == run.roster.slots.end() ? 0 : past->second.times_added - 1;
    busy.insert(process);
    list.add(run.roster.processes.name_of(process), std::move(health));
  };
  for (std::uint32_t stage = 0; stage < run.roster.view.stage_count(); ++stage) {
    for (const ReplicaMember& member : run.roster.view.replicas_of(StageId{stage})) {
      add_replica(StageId{stage}, member.slot, member.process,
                  {{}, member.incarnation.value, run.roster.is_live(member) ? "serving" : "lost", 0, 0, {}, 0});
    }
  }
  for (const StartingReplica& starting : run.starting.all()) {
    add_replica(starting.order.stage, starting.order.slot, starting.process,
                {{}, starting.order.replica.value, starting.ready ? "ready" : "starting", 0, 0, {}, 0});
  }
  for (const Joiner& joiner : run.joins.joiners()) {
    add_replica(joiner.order.stage, joiner.order.slot, joiner.process,
                {{}, joiner.order.replica.value, joiner.ready ? "catching up" : "copying", 0, 0, {}, 0});
  }
  for (const ProcessIncarnation process : run.roster.processes.alive()) {
    const std::string node = run.roster.processes.name_of(process);
    const bool is_busy =
        busy.contains(process) || run.roster.processes.find(process)->join.role == ProcessRole::kStorage;
    const std::string state = run.signs.state_of(process, is_busy ? "serving" : "spare");
    list.add(node, {"node_agent/" + node, process.value, state, 0, 0, {}, 0});
    const auto* told = run.signs.told_by(process);
    if (told != nullptr) list.merge(node, *told, run.roster.processes.lives_before(process));
  }
  for (std::uint32_t stage = 0; stage < run.shape.stages && run.shape.is_training; ++stage) {
    const std::string state = run.ballots.has_voted(StageId{stage}) ? "voted" : "working";
    list.add(
        "spawner",
        {compose("sync_group/", stage), run.roster.view.members().group_of(StageId{stage}).value, state, 0, 0, {}, 0});
  }
  list.merge("spawner", own, 0);
  return list.sorted();
}

std::optional<Departure> departure_of(std::string_view name, const RunActors& run) {
  for (const std::string_view kind : kKindsOfAll) {
    if (name.starts_with(kind)) name.remove_prefix(kind.size());
  }
  return run.roster.processes.departed(name);
}

bool is_of_this_run(std::string_view name, const RunActors& run) {
  for (std::uint32_t stage = 0; stage < run.shape.stages; ++stage) {
    if (name == compose("sync_group/", stage)) return true;
    for (std::uint32_t slot = 0; slot < run.shape.replicas.of(StageId{stage});
         ++slot) {  // also before this term has added it
      if (name == compose("stage/", stage, "/", slot)) return true;
    }
  }
  for (const auto& [place, past] : run.roster.slots) {
    if (name == compose("stage/", place.first, "/", place.second)) return true;
  }
  for (const std::string_view kind : kKindsOfAll) {
    if (name.starts_with(kind) && run.roster.processes.has_lost(name.substr(kind.size()))) return true;
  }
  return name == "data_loader" || name == "storage" || run.roster.processes.has_lost(name);
}

}  // namespace shoal
