// What a person does to the run: orders by the names that `shoal ps` shows.
#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/cluster/operate/operator_words.h"
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

namespace {

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

}  // namespace

RunActors SupervisorCore::who_is_there() const {
  return {roster_, starting_, joins_, signs_, ballots_, {config_.stages, config_.replicas, phase_ == Phase::kTraining}};
}

std::vector<Target> SupervisorCore::targets() const { return list_targets(who_is_there()); }

std::vector<ActorLine> SupervisorCore::actors(const std::vector<ActorHealth>& own) const {
  return list_actors(who_is_there(), own);
}

OperatorOutcome SupervisorCore::operate(const OperatorOrder& order, Instant now) {
  const auto refuse = [](OperatorVerdict verdict, std::string why) {
    return OperatorOutcome{{verdict, std::move(why)}, {}, 0};
  };
  if (phase_ >= Phase::kEnding) {
    const std::string why = dismissal_.end().reason;
    if (dismissal_.end().is_handed_over) return refuse(OperatorVerdict::kAbsent, "the spawner starts again: " + why);
    return refuse(OperatorVerdict::kRefused, "the run is over: " + why);
  }
  if (order.verb == OperatorVerb::kEvict) return evict(order, now);
  const bool is_drain = order.verb == OperatorVerb::kDrain;
  const auto target = is_drain ? resolve_leaver(order.name, targets()) : resolve_target(order.name, targets());
  if (!target) {
    const bool may_come = phase_ == Phase::kReturning || is_of_this_run(order.name, who_is_there());
    if (may_come && !resolve_target(order.name, targets()))
      return refuse(OperatorVerdict::kAbsent, absence_text(order.name, targets()));
    return refuse(OperatorVerdict::kUnknownName, target.failure().message);
  }
  if (is_drain) {
    const std::string answer = drain(target->address.process, order.reason, now);
    return {{OperatorVerdict::kDone, answer}, take_effects(), 0};
  }
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

namespace {

// How a node that was put out comes in again, or never, as the rest of a sentence.
std::string way_back(const OperatorOrder& order) {
  if (order.revoke) return "";
  return compose("; start it as before to let it in again, or refuse it with: shoal evict ", order.name, " --revoke");
}

}  // namespace

// By the name of a node: all of its processes are put out now, whatever they are at.
OperatorOutcome SupervisorCore::evict(const OperatorOrder& order, Instant now) {
  const auto processes = roster_.processes.alive(order.name);
  if (processes.empty()) {
    std::vector<Target> nodes = targets();
    std::erase_if(nodes, [](const Target& target) { return !target.whole_process; });
    const bool may_come = phase_ == Phase::kReturning || roster_.processes.has_lost(order.name);
    if (roster_.processes.is_evicted(order.name)) {
      return {
          {OperatorVerdict::kDone, order.name + " is out of the run already: it was evicted" + way_back(order)}, {}, 0};
    }
    if (may_come) return {{OperatorVerdict::kAbsent, absence_text(order.name, nodes)}, {}, 0};
    return {{OperatorVerdict::kUnknownName, resolve_target(order.name, nodes).failure().message}, {}, 0};
  }
  std::string missed;
  for (const ProcessIncarnation process : processes) missed += put_out(process, order, now);
  return {{OperatorVerdict::kDone, order.name + " is put out of the run" + missed + way_back(order)}, conclude(now), 0};
}

// Returns what the run lacks without it, as the rest of a sentence.
std::string SupervisorCore::put_out(ProcessIncarnation process, const OperatorOrder& order, Instant now) {
  std::string missed;
  for (const StageId stage : roster_.stages_of(process)) {
    if (roster_.is_served_without(stage, process)) continue;
    missed += compose("; it was the last to serve stage ", stage,
                      ", and the run goes back to its newest checkpoint as soon as another node serves it");
  }
  const std::string reason =
      order.revoke ? compose("it was evicted by ", order.reason,
                             "; its certificate is refused from now on, and only a new join token (shoal token new) "
                             "lets it in again")
                   : compose("it was evicted by ", order.reason, "; a person may start it again as before");
  roster_.leavers.gone(process);
  roster_.processes.evict(process);
  send(to_node_agent(process), EndProcess{reason, static_cast<std::uint32_t>(exit_code(Error::kRefused))});
  lose_process(process, order.reason, now, kWasEvicted);
  return missed;
}

SupervisorEffects SupervisorCore::hear(const Revocations& list, Instant /*now*/) {
  revoked_ = list;
  for (const RevokedName& one : list.names) roster_.refused.forget_node(one.name);
  for (const ProcessIncarnation process : roster_.processes.alive()) send_revoked(process);
  return take_effects();
}

// To its router, which refuses connections by it.
void SupervisorCore::send_revoked(ProcessIncarnation process) {
  if (revoked_.version != 0) send({process, Role::kRouter, {}, {}}, revoked_);
}

}  // namespace shoal
