// Names first: an order is for what is there now.
#include "runtime/cluster/duties/operator.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/cluster/duties/draining.h"
#include "runtime/cluster/operate/operator_words.h"
#include "runtime/cluster/truth/commit_question.h"
#include "runtime/cluster/truth/waiting_words.h"

namespace shoal {

namespace {

constexpr Duration kLastEndTold = std::chrono::minutes(10);

[[nodiscard]] Obeyed answer_of(OperatorVerdict verdict, std::string text) { return {{verdict, std::move(text)}}; }

[[nodiscard]] bool can_leave(const Target& target) {
  return target.whole_process || target.address.role == Role::kStage;
}

// Finds the process that `shoal drain` means. Errors: as resolve_target(), naming only those that can leave.
[[nodiscard]] Result<Target> resolve_leaver(const std::string& name, std::vector<Target> all) {
  const auto found = resolve_target(name, all);
  if (found && can_leave(*found)) return found;
  std::erase_if(all, [](const Target& target) { return !can_leave(target); });
  if (!found) return resolve_target(name, all);
  return fail(Error::kUsage,
              compose(name, " cannot be drained, only a node, by its name or by that of a stage it serves",
                      "; there are: ", list_names(all)));
}

// Returns the processes that a name means: a node's name all of its devices, any other the one it is in.
[[nodiscard]] std::vector<ProcessIncarnation> processes_of(const Target& target, const ProcessDirectory& directory) {
  auto node = target.whole_process ? directory.alive(target.name) : std::vector<ProcessIncarnation>{};
  return node.empty() ? std::vector{target.address.process} : node;
}

// Returns the node of a device: of "x:1" it is "x".
[[nodiscard]] std::string_view node_of(std::string_view device) { return device.substr(0, device.rfind(':')); }

// How a node that was put out comes in again, or never, as the rest of a sentence.
[[nodiscard]] std::string way_back(const OperatorOrder& order) {
  if (order.revoke) return "";
  return compose("; start it as before to let it in again, or refuse it with: shoal evict ", order.name, " --revoke");
}

// Says to a node that it is put out, and whether it may come again.
[[nodiscard]] std::string eviction_text(const OperatorOrder& order) {
  if (!order.revoke) return compose("it was evicted by ", order.reason, "; a person may start it again as before");
  return compose("it was evicted by ", order.reason,
                 "; its certificate is refused from now on, and only a new join token (shoal token new) lets it in "
                 "again");
}

// Says what the run lacks without this one and those that were put out before it, as the rest of a sentence.
[[nodiscard]] std::string lacks_without(ProcessIncarnation process, const std::set<ProcessIncarnation>& out,
                                        const Roster& roster) {
  std::string missed;
  for (const StageId stage : roster.stages_of(process)) {
    const auto stays = [&](const ReplicaMember& member) {
      return !out.contains(member.process) && !roster.leavers.contains(member.process);
    };
    if (std::ranges::any_of(roster.live(stage), stays)) continue;
    missed += compose("; it was the last to serve stage ", stage,
                      ", and the run goes back to its newest checkpoint as soon as another node serves it");
  }
  return missed;
}

}  // namespace

RunActors OperatorDuty::who_is_there() const {
  const SupervisorConfig& config = truth_.config;
  return {truth_.roster, truth_.starts.replicas, truth_.joins,
          truth_.signs,  truth_.ballots,         {config.stages, config.replicas, truth_.is_training()}};
}

std::vector<Target> OperatorDuty::targets() const { return list_targets(who_is_there()); }

std::vector<ActorLine> OperatorDuty::actors(const std::vector<ActorHealth>& own) const {
  return list_actors(who_is_there(), own);
}

Obeyed OperatorDuty::obey(const OperatorOrder& order, Instant now) {
  if (truth_.is_ending()) {
    const EndRun& end = truth_.ending.dismissal.end();
    if (end.is_handed_over) return answer_of(OperatorVerdict::kAbsent, "the spawner starts again: " + end.reason);
    return answer_of(OperatorVerdict::kRefused, "the run is over: " + end.reason);
  }
  if (order.verb == OperatorVerb::kEvict) return evict(order);
  const bool is_drain = order.verb == OperatorVerb::kDrain;
  if (is_drain) return drain(order);
  const auto target = resolve_target(order.name, targets());
  return target ? inject(order, *target, now) : not_there(order, target.failure().message);
}

// All are asked before any goes: each of them is missed by those who stay only. A node's name means the devices, too,
// that are being started again; so does the name of such a device, while another one of its node is there.
Obeyed OperatorDuty::drain(const OperatorOrder& order) const {
  const ProcessDirectory& directory = truth_.roster.processes;
  const auto target = resolve_leaver(order.name, targets());
  const auto absent = directory.coming_back(order.name);
  const bool is_device = !absent.empty() && !directory.alive(node_of(order.name)).empty();
  const auto departed = target ? std::nullopt : directory.departed(order.name);
  if (departed) return answer_of(OperatorVerdict::kDone, compose(order.name, " is out already: it ", departed->verb));
  if (!target && !is_device) return not_there(order, target.failure().message);
  const auto processes = target ? processes_of(*target, directory) : std::vector<ProcessIncarnation>{};
  std::string fate = fate_when_drained(truth_, processes);
  for (const std::string& name : absent) {
    fate += compose(fate.empty() ? "" : "; ", name, " was lost, and leaves if it comes back");
  }
  Obeyed obeyed = answer_of(OperatorVerdict::kDone, fate);
  for (const ProcessIncarnation process : processes) obeyed.answers.tell(DrainAsked{process, order.reason});
  for (const std::string& name : absent) obeyed.answers.tell(DrainExpected{name, order.reason});
  return obeyed;
}

Obeyed OperatorDuty::not_there(const OperatorOrder& order, const std::string& failure) const {
  const RunActors run = who_is_there();
  const bool may_come = truth_.phase == RunPhase::kReturning || is_of_this_run(order.name, run);
  const bool is_there = static_cast<bool>(resolve_target(order.name, targets()));
  if (const auto departed = departure_of(order.name, run); departed && !is_there) {
    return answer_of(OperatorVerdict::kRefused, departed_text(order.name, departed->verb, targets()));
  }
  if (may_come && !is_there) return answer_of(OperatorVerdict::kAbsent, absence_text(order.name, targets()));
  return answer_of(OperatorVerdict::kUnknownName, failure);
}

// One number for all the devices of a node: it is one order.
Obeyed OperatorDuty::inject(const OperatorOrder& order, const Target& target, Instant now) {
  std::vector<Target> there;
  for (const ProcessIncarnation process : processes_of(target, truth_.roster.processes)) {
    Target one = target;
    one.address.process = process;
    if (!told_to_end_.contains(one, now)) there.push_back(one);
  }
  if (there.empty()) return answer_of(OperatorVerdict::kAbsent, ending_text(order.name));
  const bool ends_it = order.how != InjectKind::kFreeze;
  Inject inject{numbers_.take_actor().value, target.address, target.whole_process, order.how, order.freeze_ms};
  const std::string deed = deed_of(order.how, order.freeze_ms);
  Obeyed obeyed = answer_of(OperatorVerdict::kDone, compose(order.name, " is ", deed, " (injection ", inject.id, ")"));
  obeyed.injection = inject.id;
  Answers& answers = obeyed.answers;
  if (ends_it && target.address.role == Role::kStage) answers.tell(OrderedToEnd{target.address.incarnation});
  answers.announce(RunEventKind::kInjected, order.name, compose("#", inject.id, ": ", deed, " by ", order.reason));
  for (const Target& one : there) {
    if (ends_it) told_to_end_.add(one, now);
    inject.target = one.address;
    if (one.address.process == kSpawnerProcess) {
      answers.perform(InjectHere{inject});
    } else {
      answers.send(one.address, inject);
    }
  }
  return obeyed;
}

// Answers for a name that is out already, or may come again, or never was; a single device of a node is none.
Obeyed OperatorDuty::nobody_to_evict(const OperatorOrder& order) const {
  const ProcessDirectory& directory = truth_.roster.processes;
  std::vector<Target> nodes = targets();
  std::erase_if(nodes, [](const Target& target) { return !target.whole_process; });
  const auto departed = directory.departed(order.name);
  if (departed && node_of(order.name) == order.name) {
    const std::string is_out = compose(order.name, " is out of the run already: it ", departed->verb);
    return answer_of(OperatorVerdict::kDone, is_out + way_back(order));
  }
  const bool may_come = truth_.phase == RunPhase::kReturning || directory.has_lost(order.name);
  if (may_come) return answer_of(OperatorVerdict::kAbsent, absence_text(order.name, nodes));
  const auto device = resolve_target(order.name, nodes);
  if (!device) return answer_of(OperatorVerdict::kUnknownName, device.failure().message);
  const std::string& node = directory.find(device->address.process)->join.name;
  return answer_of(
      OperatorVerdict::kUnknownName,
      compose(order.name, " is one device; a node is evicted with all of its devices, by its name: ", node));
}

// By the name of a node: all of its processes are put out now, whatever they are at.
Obeyed OperatorDuty::evict(const OperatorOrder& order) const {
  const ProcessDirectory& directory = truth_.roster.processes;
  const auto processes = directory.alive(order.name);
  if (processes.empty()) return nobody_to_evict(order);
  constexpr auto kStatus = static_cast<std::uint32_t>(exit_code(Error::kRefused));
  Obeyed obeyed;
  std::string missed;
  std::set<ProcessIncarnation> out;
  for (const ProcessIncarnation process : processes) {
    out.insert(process);
    missed += lacks_without(process, out, truth_.roster);
    obeyed.answers.tell(PutOut{process});
    // Its last lines belong to the run; whom everybody refuses from now on could not send them.
    obeyed.answers.send(to_node_agent(process), EndProcess{eviction_text(order), kStatus, !order.revoke});
    obeyed.answers.tell(GivenUp{process, order.reason, kWasEvicted});
  }
  obeyed.answers.tell(CommitDue{});
  obeyed.answer = {OperatorVerdict::kDone, order.name + " is put out of the run" + missed + way_back(order)};
  return obeyed;
}

// Says nothing while nobody has come yet: the person has just read how to start a node.
Answers OperatorDuty::on(const TickCame& /*tick*/, Instant now) {
  Answers answers;
  const bool is_begun =
      truth_.view().position().value > 0 || !truth_.roster.processes.alive(ProcessRole::kNode).empty();
  const bool is_waiting =
      truth_.phase < RunPhase::kTraining || (truth_.is_training() && !lacking_for_quorum(truth_).empty());
  const std::string why = is_begun && is_waiting ? explain_waiting(truth_, now) : std::string();
  if (notice_.is_due(why.substr(0, why.find(kSince)), now)) answers.perform(TellPerson{why});
  return answers;
}

// One that its successor tells of again, or that was removed before, is told of once.
Answers OperatorDuty::on(const StageEnded& ended, Instant now) {
  const View& view = truth_.view();
  const bool serves =
      view.contains(ended.replica) && truth_.roster.processes.is_alive(view.members().process_of(ended.replica));
  const bool is_told = last_end_ && last_end_->told.replica == ended.replica;
  if (serves && !is_told) last_end_ = LastEnd{ended, now};
  return {};
}

// Forgotten after a while: a run that goes on is well again.
std::string OperatorDuty::explain_last_end(Instant now) const {
  if (!last_end_ || now - last_end_->at > kLastEndTold) return {};
  return compose("; stage/", last_end_->told.stage, " ended ", ago(last_end_->at, now), ": ", last_end_->told.reason);
}

}  // namespace shoal
