// Who is in, who serves what, and what becomes of the lost.
#include "runtime/cluster/supervisor/supervisor.h"

#include "runtime/base/compose.h"

namespace shoal {

SupervisorEffects SupervisorCore::hear(const Join& join, Instant now) {
  const auto refuse = [&](JoinRefusal reason, const std::string& explanation) {
    announce("join_refused", join.name, explanation);
    send(to_node_agent({}), JoinRefused{join.nonce, reason, explanation});  // routers find the joiner by its nonce
    return take_effects();
  };
  if (phase_ >= Phase::kEnding) {  // no event: the last one of a run says how it ended
    // Whoever asks now loses this spawner and then asks the next one.
    if (!dismissal_.is_for_good()) return take_effects();
    send(to_node_agent({}),
         JoinRefused{join.nonce, JoinRefusal::kRunIsOver, "the run is over: " + dismissal_.end().reason});
    return take_effects();
  }
  if (turn_away(join)) return take_effects();
  const bool is_back = is_return(join);
  const ProcessIncarnation number = is_back ? join.previous : numbers_.next_process();
  const auto answer = roster_.processes.admit(join, number);
  if (const auto* no = std::get_if<NotAdmitted>(&answer)) {
    // Its holder may be dead, and this one its successor: it asks again until that is known.
    const bool is_doubtful = no->holder && signs_.is_doubtful(*no->holder);
    return is_doubtful ? take_effects() : refuse(no->reason, no->explanation);
  }
  const Admitted& admitted = std::get<Admitted>(answer);
  if (admitted.replaces) lose_process(*admitted.replaces, "its link broke and it joined again", now);
  if (admitted.is_new && is_back) {
    signs_.expect(number, now);
    take_back(join, now);
    return take_effects();
  }
  if (admitted.is_new) numbers_.take_process();
  send(to_node_agent(admitted.process), Welcome{join.nonce, admitted.process, config_.run, branches_.current(),
                                                config_.term, JournalPosition{}, config_.config_toml});
  send_revoked(admitted.process);
  if (!admitted.is_new) {
    link_again(join, admitted.process, now);
    return take_effects();
  }
  signs_.expect(admitted.process, now);
  announce("joined", join.name,
           compose("as process ", admitted.process, join.device.empty() ? "" : ", device ", join.device));
  if (!admitted.warning.empty()) announce("mixed_kernels", join.name, admitted.warning);
  effects_.push_back(SendJournal{admitted.process, {}});
  send_peers();
  if (const auto why = roster_.leavers.take_returned(join.name, now)) send_away(admitted.process, *why, now);
  place_if_enough(now);
  return take_effects();
}

SupervisorEffects SupervisorCore::hear(const StageReady& ready, Instant now) {
  const bool is_starting = starting_.is_ready(ready, watched());
  if (phase_ == Phase::kTraining) {
    hear_while_training(ready, now);
  } else if (is_starting) {
    admit_replicas(now);
  } else {
    end_unless_member(ready);
  }
  return conclude(now);
}

SupervisorEffects SupervisorCore::hear(const StageEnded& ended, Instant now) {
  suspect(ended, now);  // first: what follows may send everybody back to the same samples
  if (phase_ >= Phase::kEnding) return take_effects();
  // Of a process that is lost, its successor tells: what becomes of its replicas is decided already.
  const bool is_in_view =
      view().contains(ended.replica) && roster_.processes.is_alive(view().process_of(ended.replica));
  if (const auto starter = starting_.ended(ended.replica)) {
    announce("start_failed", compose("stage/", ended.stage), ended.reason);
    if (!starter->was_told_to_end) start_failed(*starter, ended.reason, now);
    place_if_enough(now);
  } else if (const auto joiner = joins_.end(ended.replica)) {
    announce("start_failed", compose("stage/", ended.stage, "/", joiner->order.slot), ended.reason);
    ended_on(joiner->process, ended.reason, now);
    place_joiners(now);
  } else if (is_in_view && roster_.ended.insert(ended.replica).second) {
    announce("stage_ended", compose("stage/", ended.stage), ended.reason);
    if (phase_ != Phase::kTraining) return take_effects();
    ended_on(view().process_of(ended.replica), ended.reason, now);
    place_joiners(now);  // first: whoever starts need not wait for the disk
    remove_dead("its actor ended: " + ended.reason, now);
  }
  return conclude(now);
}

SupervisorEffects SupervisorCore::hear(const Leaving& leaving, Instant now) {
  const bool is_going_on = !last_step_.stopped() && phase_ < Phase::kEnding;
  const bool is_heard = roster_.processes.is_alive(leaving.process) && is_going_on;
  if (is_heard) (void)drain(leaving.process, leaving.reason, now);
  return take_effects();
}

void SupervisorCore::lose_process(ProcessIncarnation process, const std::string& reason, Instant now, Departure how) {
  if (!roster_.processes.is_alive(process)) return;
  // Asked first: of many lost ones the oldest are forgotten, and this may be one of them.
  const std::string name = roster_.processes.name_of(process);
  const bool is_storage = roster_.processes.find(process)->join.role == ProcessRole::kStorage;
  roster_.processes.lose(process);
  signs_.forget(process);
  roster_.refused.forget(process);
  roster_.leavers.died(process, now);
  if (phase_ >= Phase::kEnding) return;
  announce(how.event, name, reason);
  send_peers();
  if (is_storage) checkpoints_.storage_lost(outside_rounds());
  starting_.end_on(process);
  (void)joins_.end_on(process);
  if (phase_ == Phase::kTraining) remove_dead(compose(name, " ", how.verb, ": ", reason), now);
  place_if_enough(now);
}

// P-29: while another live replica serves the stage.
void SupervisorCore::remove_dead(const std::string& reason, Instant now) {
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
    const auto& members = view().replicas_of(StageId{stage});
    const bool has_live = roster_.is_served(StageId{stage});
    for (const ReplicaMember& member : members) {
      if (roster_.is_live(member)) continue;
      checkpoints_.replica_lost(member.incarnation, outside_rounds());
      if (has_live && roster_.removing.insert(member.incarnation).second) {
        append(RemoveReplica{StageId{stage}, member.incarnation, reason});
      }
    }
    if (!has_live) lose_stage(StageId{stage}, reason, now);
  }
}

void SupervisorCore::lose_stage(StageId stage, const std::string& reason, Instant now) {
  const std::string why = with_needs(stage, compose("stage ", stage, " lost its last replica (", reason, ")"));
  if (!fallback_.lose_stage(why, now)) return;
  announce("stage_lost", compose("stage/", stage), why);
  settle_loss(now);
}

// The members are in the journal: their groups and the data loader start.
void SupervisorCore::begin_training(Instant now) {
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) start_group(StageId{stage});
  start_data_loader();
  phase_ = Phase::kTraining;
  phase_since_ = now;
  begin_step(now);
  step_timer_.ready(now);
}

void SupervisorCore::send_peers() {
  if (phase_ == Phase::kReturning) return;  // who is not back yet would lose its links to the others
  const Peers peers{config_.run, config_.term, ++peers_serial_, roster_.processes.peers()};
  send({kSpawnerProcess, Role::kRouter, {}, {}}, peers);
  for (const ProcessIncarnation process : roster_.processes.alive()) send({process, Role::kRouter, {}, {}}, peers);
}

}  // namespace shoal
