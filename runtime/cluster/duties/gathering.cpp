// The answers to a Join, and the directory of processes.
#include "runtime/cluster/duties/gathering.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/cluster/operate/machine_words.h"

namespace shoal {

Answers GatheringDuty::on(const Join& join, Instant /*now*/) {
  Answers answers;
  if (truth_.is_ending()) {  // no event: the last one of a run says how it ended
    // Whoever asks a spawner that is started again loses this one and then asks the next one.
    if (!truth_.ending.dismissal.is_for_good()) return answers;
    refuse(join, JoinRefusal::kRunIsOver, "the run is over: " + truth_.ending.dismissal.end().reason, answers);
    return answers;
  }
  if (is_given_up(join)) {
    answers.send(to_node_agent(join.previous), end_of_lost(roster_.processes.find(join.previous)->is_evicted));
    return answers;
  }
  const bool is_back = is_return(join) && roster_.processes.may_come_back(join);
  const auto is_member = [this](const ServedReplica& served) { return truth_.view().contains(served.replica); };
  const bool has_state = is_back && std::ranges::any_of(join.serves, is_member);
  const auto answer = roster_.processes.admit(join, is_back ? join.previous : numbers_.next_process(),
                                              has_state ? Standing::kMember : Standing::kNewcomer);
  if (const auto* no = std::get_if<NotAdmitted>(&answer)) {
    // Its holder may be dead, and this one its successor: it asks again until that is known.
    if (no->holder && truth_.signs.is_doubtful(*no->holder)) return answers;
    answers.announce(RunEventKind::kJoinRefused, join.name, no->explanation);
    refuse(join, no->reason, no->explanation, answers);
    return answers;
  }
  const Admitted& admitted = std::get<Admitted>(answer);
  if (admitted.replaces) answers.tell(GivenUp{*admitted.replaces, "its link broke and it joined again"});
  if (admitted.is_new && is_back) {
    answers.tell(CameBack{join});
  } else {
    let_in(join, admitted, answers);
  }
  return answers;
}

// The routers find the joiner by its nonce.
void GatheringDuty::refuse(const Join& join, JoinRefusal reason, const std::string& explanation,
                           Answers& answers) const {
  answers.send(to_node_agent({}), JoinRefused{join.nonce, reason, explanation});
}

void GatheringDuty::let_in(const Join& join, const Admitted& admitted, Answers& answers) {
  const SupervisorConfig& config = truth_.config;
  const ProcessIncarnation process = admitted.process;
  if (admitted.is_new) numbers_.take_process();
  if (admitted.is_new && is_return(join)) {
    answers.note(compose(join.name, " says that it was process ", join.previous, ", which it is not on record as"));
  }
  answers.send(to_node_agent(process), Welcome{join.nonce, process, config.run, truth_.history.branch(), config.term,
                                               JournalPosition{}, config.config_toml});
  answers.tell(Welcomed{process});
  if (admitted.is_new) {
    answers.tell(ProcessJoined{process, admitted.warning});
    answers.tell(WorkersChanged{});
    return;
  }
  // Letters on their way may be lost with the link: its router asks for the journal by itself, replicas that are to
  // start there are ordered once more under their own numbers, and what it serves is compared.
  answers.tell(LinkedAgain{process});
  answers.tell(Served{join, process});
  answers.tell(PeersChanged{});
  answers.tell(MembersDue{roster_.processes.name_of(process) + " came back without it"});
  answers.tell(WorkersChanged{});
  answers.tell(JoinersDue{});
}

bool GatheringDuty::is_return(const Join& join) const {
  return join.previous.value != 0 && numbers_.is_of_earlier_term(join.previous) &&
         roster_.processes.find(join.previous) == nullptr;
}

bool GatheringDuty::is_given_up(const Join& join) const {
  const ProcessRecord* known = roster_.processes.find(join.previous);
  return join.previous.value != 0 && known != nullptr && !known->is_alive;
}

Answers GatheringDuty::on(const ProcessJoined& joined, Instant /*now*/) {
  Answers answers;
  const Join& join = roster_.processes.find(joined.process)->join;
  const std::string name = roster_.processes.name_of(joined.process);
  const std::string gives = offer_text(join.offer);
  answers.announce(RunEventKind::kJoined, name,
                   compose("as process ", joined.process, join.device.empty() ? "" : ", device ", join.device,
                           gives.empty() ? "" : ", ", gives));
  if (!joined.warning.empty()) answers.announce(RunEventKind::kMixedKernels, name, joined.warning);
  answers.perform(SendJournal{joined.process, {}});
  answers.tell(PeersChanged{});
  return answers;
}

Answers GatheringDuty::on(const LinkedAgain& linked, Instant /*now*/) {
  roster_.processes.set_linked(linked.process, true);
  return {};
}

Answers GatheringDuty::on(const Served& served, Instant /*now*/) {
  Answers answers;
  for (const ServedReplica& replica : roster_.compare(served.join, served.process)) {
    if (truth_.starts.replicas.is_asked(replica.replica) || truth_.joins.is_asked(replica.replica)) continue;
    answers.send(to_node_agent(served.process),
                 EndStage{replica.stage, replica.replica, "it is in no view of this journal"});
  }
  if (!roster_.stages_of(served.process).empty()) settle_kernels(served.process, answers);
  return answers;
}

Answers GatheringDuty::on(const MembersBegin& begin, Instant /*now*/) {
  Answers answers;
  settle_kernels(begin.first, answers);
  return answers;
}

void GatheringDuty::settle_kernels(ProcessIncarnation member, Answers& answers) {
  if (!roster_.processes.trains(member)) return;
  answers.perform(KeepKernels{*roster_.processes.kernels()});
  constexpr auto kRefused = static_cast<std::uint32_t>(exit_code(Error::kRefused));
  for (const UnlikeWorker& unlike : roster_.processes.unlike()) {
    answers.announce(RunEventKind::kJoinRefused, roster_.processes.name_of(unlike.process), unlike.why);
    answers.send(to_node_agent(unlike.process), EndProcess{unlike.why, kRefused});
    answers.tell(GivenUp{unlike.process, "its kernels are not those of the run"});
  }
}

Answers GatheringDuty::on(const Heartbeat& heartbeat, Instant /*now*/) {
  if (!roster_.processes.is_alive(heartbeat.process)) return {};
  roster_.processes.set_linked(heartbeat.process, true);
  roster_.processes.note_use(heartbeat.process, heartbeat.use);
  return {};
}

// It has time to come back, unless it is given up.
Answers GatheringDuty::on(const ProcessLost& lost, Instant /*now*/) {
  if (roster_.processes.is_alive(lost.process)) roster_.processes.set_linked(lost.process, false);
  return {};
}

Answers GatheringDuty::on(const PutOut& out, Instant /*now*/) {
  roster_.processes.evict(out.process);
  return {};
}

Answers GatheringDuty::on(const GivenUp& given_up, Instant /*now*/) {
  Answers answers;
  const ProcessIncarnation process = given_up.process;
  if (!roster_.processes.is_alive(process)) return answers;
  // Asked first: of many lost ones the oldest are forgotten, and this may be one of them.
  const std::string name = roster_.processes.name_of(process);
  const ProcessRole role = roster_.processes.find(process)->join.role;
  if (given_up.how.kind == RunEventKind::kProcessLeft) roster_.processes.leave(process);
  roster_.processes.lose(process, given_up.reason);
  roster_.refused.forget(process);
  answers.tell(ProcessGone{process, name, role, given_up.reason, given_up.how});
  return answers;
}

Answers GatheringDuty::on(const ProcessGone& gone, Instant /*now*/) {
  Answers answers;
  if (truth_.is_ending()) return answers;
  answers.announce(gone.how.kind, gone.name, gone.reason);
  answers.tell(PeersChanged{});
  return answers;
}

Answers GatheringDuty::on(const PeerRefused& refusal, Instant /*now*/) {
  Answers answers;
  const bool is_spawner = refusal.process == kSpawnerProcess;
  const bool is_in = is_spawner || roster_.processes.is_alive(refusal.process);
  const std::string who = is_spawner ? "spawner" : roster_.processes.name_of(refusal.process);
  if (is_in && roster_.refused.hear(refusal, who)) {
    answers.announce(RunEventKind::kPeerRefused, peer_text(refusal), RefusedPeers::reason(refusal, who));
  }
  return answers;
}

Answers GatheringDuty::on(const Revocations& list, Instant /*now*/) {
  for (const RevokedName& one : list.names) roster_.refused.forget_node(one.name);
  return {};
}

Answers GatheringDuty::on(const StrangerReady& stranger, Instant /*now*/) {
  Answers answers;
  const StageReady& ready = stranger.ready;
  if (truth_.is_ending() || truth_.view().contains(ready.replica)) return answers;
  answers.send(to_node_agent(ready.process), EndStage{ready.stage, ready.replica, "nobody waits for it any more"});
  return answers;
}

Answers GatheringDuty::on(const FetchJournal& fetch, Instant /*now*/) {
  Answers answers;
  if (fetch.after < truth_.view().position()) answers.perform(SendJournal{fetch.process, fetch.after});
  return answers;
}

}  // namespace shoal
