// What a person does to the run: orders by the names that `shoal ps` shows.
#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/cluster/operator_words.h"
#include "runtime/cluster/supervisor.h"

namespace shoal {

namespace {

// The actors of this process that no journal entry and no process names.
constexpr std::pair<const char*, Role> kOwnActors[] = {
    {"metrics", Role::kMetrics}, {"control", Role::kControl}, {"supervisor", Role::kSupervisor}};

}  // namespace

std::vector<Target> SupervisorCore::targets() const {
  std::vector<Target> found;
  const auto add = [&](std::string name, const Address& address) {
    found.push_back({std::move(name), address, false});
  };
  const auto add_place = [&](ProcessIncarnation process, const std::string& name) {
    add("router/" + name, {process, Role::kRouter, {}, {}});
    add("tracer/" + name, {process, Role::kTracer, {}, {}});
  };
  for (std::uint32_t stage = 0; stage < view_.stage_count(); ++stage) {
    for (const ReplicaMember& member : view_.replicas_of(StageId{stage})) {
      if (!is_live(member)) continue;
      add(compose("stage/", stage, "/", member.slot), to_stage(member.process, member.incarnation));
    }
  }
  for (const Starting& starting : starting_) {
    const SpawnStage& order = starting.order;
    add(compose("stage/", order.stage, "/", order.slot), to_stage(starting.process, order.replica));
  }
  for (const ProcessIncarnation process : processes_.alive()) {
    const std::string name = processes_.name_of(process);
    add_place(process, name);
    add("node_agent/" + name, to_node_agent(process));
    if (processes_.find(process)->join.role == ProcessRole::kStorage) {
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

OperatorOutcome SupervisorCore::operate(const OperatorOrder& order, Instant /*now*/) {
  const auto refuse = [](OperatorVerdict verdict, std::string why) {
    return OperatorOutcome{{verdict, std::move(why)}, {}, 0};
  };
  if (phase_ >= Phase::kEnding) return refuse(OperatorVerdict::kRefused, "the run is over: " + end_.reason);
  if (order.verb != OperatorVerb::kKill) return refuse(OperatorVerdict::kRefused, "not in this version");
  const auto target = resolve_target(order.name, targets());
  if (!target) return refuse(OperatorVerdict::kUnknownName, target.failure().message);
  Inject inject{next_actor().value, target->address, target->whole_process, order.how, order.freeze_ms};
  const std::string deed = deed_of(order.how, order.freeze_ms);
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
