// A spawner that was started again in the middle of a run: its processes come back under their numbers, with the
// replicas they serve, and the step in progress goes on. Nothing is rolled back while every stage has somebody (P-30).
//
// What the spawner knew by heart comes again: votes and progress from new sync groups, who holds what from manifests,
// the last checkpoint from the disk, and whether this was the last step from the journal.
#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/restart_policy.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

namespace {

// In the middle of a run whose every stage has members.
[[nodiscard]] bool can_return(const View& view, std::uint32_t stages) {
  if (view.is_finished() || view.stage_count() != stages) return false;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    if (view.replicas_of(StageId{stage}).empty()) return false;
  }
  return true;
}

// All that was to be done is saved, only the last words were cut short.
[[nodiscard]] bool was_ended(const View& view, const SupervisorConfig& config) {
  const bool is_as_far_as_wanted = view.committed_steps() >= config.steps_target || config.stopping;
  return view.is_finished() && is_as_far_as_wanted && config.start.from_checkpoint &&
         config.start.version == view.committed_steps();
}

// Workers that were never in this run: with enough of them for all of it, nobody else is coming back.
[[nodiscard]] std::size_t spares(const ProcessDirectory& processes, const ReservedNumbers& numbers) {
  const auto is_spare = [&](ProcessIncarnation process) { return !numbers.is_of_earlier_term(process); };
  return static_cast<std::size_t>(std::ranges::count_if(processes.alive(ProcessRole::kNode), is_spare));
}

}  // namespace

// To a run that other terms have begun.
void SupervisorCore::come_back(Instant now) {
  if (was_ended(view(), config_)) return end_again(now);
  if (can_return(view(), config_.stages)) return begin_return();
  find_start(FindCheckpoint{});
}

void SupervisorCore::end_again(Instant now) {
  checkpoints_.begin_from(config_.start.version, config_.start.weights_sha256);
  dismissal_.expect_questions();
  if (view().committed_steps() >= config_.steps_target) return finish(0, view().finish_reason(), "finished", now);
  finish(config_.stopping->exit_status, view().finish_reason(), config_.stopping->event, now);
}

void SupervisorCore::begin_return() {
  phase_ = Phase::kReturning;
  const bool is_of_this_branch = config_.start.from_checkpoint && config_.start.version <= view().committed_steps();
  const auto rank = view().committed_steps() < config_.steps_target ? CheckpointOrder::Rank::kOneOfMany
                                                                    : CheckpointOrder::Rank::kLast;
  if (is_of_this_branch) {
    checkpoints_.go_on_from(config_.start.version, config_.start.weights_sha256, rank, outside_rounds());
  } else {
    checkpoints_.go_on_from(0, {}, rank, outside_rounds());
  }
  note(compose("term ", config_.term, " takes over at entry ", view().position(), ", step ", view().committed_steps(),
               ": waiting for ", counted(view().replica_count(), "replica")));
}

// A number of an earlier term that nobody has claimed in this one.
bool SupervisorCore::is_return(const Join& join) const {
  return join.previous.value != 0 && numbers_.is_of_earlier_term(join.previous) &&
         roster_.processes.find(join.previous) == nullptr;
}

// Who was given up as lost in this term has been removed from every view: it starts again.
bool SupervisorCore::turn_away(const Join& join) {
  const ProcessRecord* known = roster_.processes.find(join.previous);
  if (join.previous.value == 0 || known == nullptr || known->is_alive) return false;
  end_lost(join.previous);
  return true;
}

void SupervisorCore::take_back(const Join& join, Instant now) {
  const ProcessIncarnation process = join.previous;
  const auto is_ahead = [&](const ServedReplica& served) {
    return view().contains(served.replica) && served.version > view().committed_steps();
  };
  if (std::any_of(join.serves.begin(), join.serves.end(), is_ahead)) {
    send(to_node_agent(process), EndProcess{"it has seen steps that the journal of this spawner lacks", kRejoinStatus});
    return lose_process(process, "it is ahead of the journal", now);
  }
  send(to_node_agent(process), Welcome{join.nonce, process, config_.run, view().branch(), config_.term,
                                       view().position(), config_.config_toml});
  send_revoked(process);
  announce("returned", join.name, compose("as process ", process, ", with ", counted(join.serves.size(), "replica")));
  compare_served(join, process);
  send_peers();
  if (phase_ == Phase::kTraining) remove_dead(join.name + " came back without it", now);
  check_return(now);
}

void SupervisorCore::compare_served(const Join& join, ProcessIncarnation process) {
  for (const ServedReplica& replica : roster_.compare(join, process)) {
    if (starting_.is_asked(replica.replica) || joins_.is_asked(replica.replica)) continue;
    send(to_node_agent(process), EndStage{replica.stage, replica.replica, "it is in no view of this journal"});
  }
}

void SupervisorCore::check_return(Instant now) {
  if (phase_ != Phase::kReturning) return;
  bool is_complete = !roster_.processes.alive(ProcessRole::kStorage).empty();  // the next shards need it
  bool are_all_served = true;
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
    are_all_served = are_all_served && roster_.is_served(StageId{stage});
    for (const ReplicaMember& member : view().replicas_of(StageId{stage})) {
      const bool is_known = roster_.processes.find(member.process) != nullptr;  // back, or back and lost again
      is_complete = is_complete && is_known;
    }
  }
  const Duration waited = time_.watched();  // the return begins with this process
  const bool is_enough = are_all_served && waited >= config_.return_grace;
  const bool has_spares = spares(roster_.processes, numbers_) >= std::size_t{config_.stages} * config_.replicas;
  if (is_complete || is_enough || waited >= config_.return_within || has_spares) conclude_return(now);
}

void SupervisorCore::conclude_return(Instant now) {
  const std::size_t members = view().replica_count();
  const std::size_t live = roster_.live_count();
  std::optional<StageId> unserved;
  for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
    if (!roster_.is_served(StageId{stage})) unserved = StageId{stage};
  }
  if (live == 0) return find_start(FindCheckpoint{});  // a start like any other
  if (unserved) return roll_back(compose("no replica of stage ", *unserved, " came back to the spawner"), now);
  const double seconds = milliseconds(now - phase_since_) / 1000.0;
  last_step_.begin_from(view().committed_steps());
  phase_ = Phase::kTraining;
  send_peers();
  remove_dead("it did not come back to the spawner", now);
  begin_training(now);
  announce("resumed", "spawner",
           compose(live, " of ", counted(members, "replica"), " came back within ", seconds, " s; step ",
                   view().committed_steps(), " goes on"));
}

}  // namespace shoal
