// The supervisor's frame: start, journal, numbers, restarts of its own actors, ticks, and what it says of itself.
#include "runtime/cluster/supervisor/supervisor.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/bound.h"
#include "runtime/base/check.h"
#include "runtime/base/compose.h"

namespace shoal {

namespace {

constexpr Duration kPeersAgain = std::chrono::seconds(10);
const Bound kRestartsMax{"supervision.restarts_of_children", 10};
constexpr std::string_view kSince = ", since ";

[[nodiscard]] std::string since(Instant then, Instant now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
  return seconds < 120 ? compose(kSince, seconds, " s") : compose(kSince, seconds / 60, " min");
}

// After so many steps, for a round of the schedule.
[[nodiscard]] std::function<bool(std::uint64_t)> contributions_of(const SupervisorConfig& config) {
  if (!config.rounds_due) return {};
  return [due = config.rounds_due, in_flight = config.rounds_in_flight, at = config.contributed_at](auto version) {
    const auto is_taken = [&](const RoundId& round) { return round.number != 0 && at(round) == version; };
    return std::ranges::any_of(due(version), is_taken) || std::ranges::any_of(in_flight(version), is_taken);
  };
}

// Steps between the contributions to a round and the commit where the fragment's next one is agreed, at most: that is
// due at the contributions to the one after it.
[[nodiscard]] std::uint64_t window_of(const SupervisorConfig& config) {
  if (!config.contributed_at) return 0;
  return 2 * (config.contributed_at(RoundId{0, 2}) - config.contributed_at(RoundId{0, 1}));
}

}  // namespace

SupervisorCore::SupervisorCore(SupervisorConfig config)
    : config_(std::move(config)),
      roster_{View{}, ProcessDirectory(config_.fingerprints), Leavers(config_.restart_window)},
      signs_(config_.detector, config_.complaints),
      ballots_(config_.run, config_.term, config_.stages),
      restarts_(std::max<std::size_t>(kRestartsMax, config_.restart_budget), config_.restart_window),
      starts_(config_.restart_budget, config_.restart_window, config_.run.value),
      poison_(config_.microbatches),
      lost_samples_(config_.microbatches, config_.requeue_window),
      contributed_tokens_(contributions_of(config_), window_of(config_)),
      snapshots_(config_.snapshot_every),
      last_step_(config_.steps_target),
      fallback_(config_.settle_for),
      dismissal_(config_.storage_stays, config_.leave_within) {
  CHECK(config_.stages > 0 && config_.replicas > 0 && config_.policy.learning_rate, "a run has stages and a schedule");
  config_.policy.optimizer_step_at_start = config_.start.optimizer_step;
}

SupervisorEffects SupervisorCore::begin(Instant now) {
  time_.look(now);
  phase_since_ = peers_at_ = now;
  const bool is_under_way = view().position().value > 0 && !view().is_finished();
  if (is_under_way && config_.return_within > Duration::zero()) step_timer_.taken_over(now);
  branches_.go_on(view());
  effects_.push_back(SendJournal{kSpawnerProcess, {}});
  if (config_.return_within == Duration::zero()) {
    start_over(config_.start, now);
  } else {
    come_back(now);
  }
  return take_effects();
}

JournalEntry SupervisorCore::entry_for(const JournalBody& body) const {
  JournalEntry entry{JournalPosition{view().position().value + 1}, branches_.current(), config_.term, body};
  // Here, where all entries before it are in the view: several may be asked for at once.
  if (auto* round = std::get_if<CommitRound>(&entry.body)) {
    lost_samples_.name_lost(*round, contributed_before(round->round), view());
  }
  return entry;
}

SupervisorEffects SupervisorCore::appended(const JournalEntry& entry, Instant now) {
  --unrecorded_;
  roster_.follow(entry);
  keep_books(entry);
  const JournalEntries news{config_.run, config_.term, {entry}};
  for (const ProcessIncarnation process : roster_.processes.alive()) send({process, Role::kRouter, {}, {}}, news);
  // Last: an order that a sync group gives because of an entry must not reach a replica before the entry does.
  send({kSpawnerProcess, Role::kRouter, {}, {}}, news);
  if (const auto* commit = std::get_if<Commit>(&entry.body)) {
    after_commit(*commit, now);
  } else {
    note(describe(entry));
    if (std::holds_alternative<CommitRound>(entry.body)) {
      commit_rounds();
      commit_if_possible(now);
    }
  }
  return take_effects();
}

// A commit that cannot be recorded is not made: the run halts where it is. An end that cannot be recorded has not been
// told of, and is another one; only what has failed already stays that failure.
SupervisorEffects SupervisorCore::journal_failed(const std::string& reason, int exit_status, Instant now) {
  const bool is_ending = phase_ == Phase::kEnding && !dismissal_.end().is_handed_over;
  const bool is_end_untold = is_ending && unrecorded_ > 0;
  if (phase_ >= Phase::kEnding && !is_end_untold) return take_effects();
  unrecorded_ = 0;  // what was to follow is not performed
  const EndRun end = dismissal_.end();
  const std::string why = is_end_untold ? compose(end.reason, ", but ", reason) : reason;
  if (is_end_untold && end.status_of_others != 0) {
    tell_end(end.exit_status, why, "failed", now);
  } else {
    tell_end(exit_status, compose(why, "; ", config_.resume_hint), "failed", now);
  }
  return take_effects();
}

void SupervisorCore::reserved(bool are_processes, std::uint64_t first, std::uint64_t count) {
  numbers_.reserved(are_processes ? NumberKind::kProcess : NumberKind::kActor, first, count);
}

SupervisorEffects SupervisorCore::hear(const FetchJournal& fetch, Instant /*now*/) {
  if (fetch.after < view().position()) effects_.push_back(SendJournal{fetch.process, fetch.after});
  return take_effects();
}

SupervisorEffects SupervisorCore::hear(const PeerRefused& refusal, Instant /*now*/) {
  const bool is_in = refusal.process == kSpawnerProcess || roster_.processes.is_alive(refusal.process);
  const std::string who = refusal.process == kSpawnerProcess ? "spawner" : roster_.processes.name_of(refusal.process);
  if (is_in && roster_.refused.hear(refusal, who)) {
    announce(std::string(kPeerRefused), peer_text(refusal), RefusedPeers::reason(refusal, who));
  }
  return take_effects();
}

SupervisorEffects SupervisorCore::hear(const RunEvent& event, Instant /*now*/) {
  effects_.push_back(Letter{kSpawnerProcess, to_metrics(), event});
  return take_effects();
}

void SupervisorCore::start_group(StageId stage) {
  const Incarnation group = numbers_.take_actor();
  append(AppointGroup{stage, group});
  effects_.push_back(StartGroup{stage, group});
}

void SupervisorCore::start_data_loader() {
  effects_.push_back(StartDataLoader{numbers_.take_actor()});
  if (!roster_.leavers.empty()) tell_who_is_avoided();
}

SupervisorEffects SupervisorCore::group_ended(StageId stage, Incarnation group, const std::string& reason,
                                              Instant now) {
  if (phase_ != Phase::kTraining || group != view().group_of(stage)) return take_effects();
  announce("restarted", compose("sync_group/", stage), reason);
  if (!kRestartsMax.reached_if(!restarts_.spend(now))) {
    start_group(stage);
  } else {
    escalate(compose("sync_group/", stage), reason, now);
  }
  return take_effects();
}

SupervisorEffects SupervisorCore::data_loader_ended(const std::string& reason, Instant now) {
  if (phase_ != Phase::kTraining) return take_effects();
  announce("restarted", "data_loader", reason);
  if (!kRestartsMax.reached_if(!restarts_.spend(now))) {
    start_data_loader();
  } else {
    escalate("data_loader", reason, now);
  }
  return take_effects();
}

// One level up (DESIGN.md §7): this process ends and its keeper starts it again from the journal. Nobody else ends: the
// nodes keep what they have of the step and come back to the next term.
void SupervisorCore::escalate(const std::string& child, const std::string& reason, Instant now) {
  const auto window = std::chrono::duration_cast<std::chrono::seconds>(config_.restart_window).count();
  const std::size_t budget = std::max<std::size_t>(kRestartsMax, config_.restart_budget);
  const std::string why = compose("sync groups and data loader ended more than ", budget, " times within ", window,
                                  " s, the last, ", child, ": ", reason);
  announce("escalated", child, why + "; the spawner's process starts again");
  phase_ = Phase::kEnding;
  phase_since_ = now;
  dismissal_.begin(EndRun{1, why, true}, now);
}

SupervisorEffects SupervisorCore::tick(Instant now) {
  look(now);
  watch(now);
  const bool is_bounded = phase_ == Phase::kGathering && config_.wait_timeout && is_first_start();
  if (is_bounded && now - phase_since_ >= *config_.wait_timeout) {
    finish(4, explain_waiting(now) + "; start more nodes, or lower pipeline.stages or pipeline.replicas", "failed",
           now);
  }
  check_return(now);
  find_start_again(now);
  if (phase_ == Phase::kGathering || phase_ == Phase::kSpawning) {
    replace_silent(now);
    place_if_enough(now);
    admit_replicas(now);
  }
  if (now - peers_at_ >= kPeersAgain) {
    peers_at_ = now;
    send_peers();
    for (const ProcessIncarnation process : roster_.processes.alive()) send_revoked(process);
  }
  tend_joiners(now);
  tend_checkpoint(now);
  settle_loss(now);
  conclude_if_done(now);
  end_if_left(now);
  // Where nobody has come yet, the person has just read how to start a node.
  const bool is_begun = view().position().value > 0 || !roster_.processes.alive(ProcessRole::kNode).empty();
  const bool is_waiting = phase_ < Phase::kTraining || (phase_ == Phase::kTraining && !lacking_for_quorum().empty());
  const std::string why = is_begun && is_waiting ? explain_waiting(now) : std::string();
  if (notice_.is_due(why.substr(0, why.find(kSince)), now)) effects_.push_back(TellPerson{why});
  SupervisorEffects effects = conclude(now);
  // Last, and not with an entry: whoever waits for one does not wait for this.
  if (auto due = snapshots_.take_due()) effects.push_back(KeepSnapshot{std::move(*due)});
  return effects;
}

void SupervisorCore::send(const Address& to, MessageBody body) {
  effects_.push_back(Letter{kSpawnerProcess, to, std::move(body)});
}

void SupervisorCore::announce(const std::string& event, const std::string& subject, const std::string& reason) {
  note(compose(event, " ", subject, ": ", reason));
  send(to_metrics(), RunEvent{event, subject, reason, view().committed_steps()});
}

SupervisorEffects SupervisorCore::take_effects() {
  if (phase_ >= Phase::kEnding) return std::exchange(effects_, {});  // nobody is numbered any more
  for (const NumberKind kind : {NumberKind::kProcess, NumberKind::kActor}) {
    const std::uint64_t at_once = numbers_at_once(kind);
    const bool are_processes = kind == NumberKind::kProcess;
    const std::uint64_t least = std::max<std::uint64_t>(ReservedNumbers::kLeftMin, at_once);
    if (numbers_.is_low(kind, at_once)) effects_.push_back(ReserveNumbers{are_processes, 2 * least});
  }
  return std::exchange(effects_, {});
}

// What the effects of one event may take before a block that they ask for is there: each worker a replica, each stage
// its group, a data loader and an order of a person.
std::uint64_t SupervisorCore::numbers_at_once(NumberKind kind) const {
  if (kind == NumberKind::kProcess) return 1;
  const std::uint64_t replicas = std::uint64_t{config_.stages} * config_.replicas;
  const std::uint64_t workers = roster_.processes.alive(ProcessRole::kNode).size();
  return std::max(replicas, workers) + config_.stages + 2;
}

namespace {

// "waiting for 1 node for stage 0 and 2 nodes for stage 1", of so many by stage; empty: for nobody.
std::string waiting_for(const std::map<std::size_t, int>& lacking) {
  std::string text;
  for (const auto& [stage, count] : lacking) {
    text +=
        compose(text.empty() ? "waiting for " : " and ", count, count == 1 ? " node" : " nodes", " for stage ", stage);
  }
  return text;
}

}  // namespace

std::string SupervisorCore::explain_waiting(Instant now) const {
  return explain_phase(now) + (phase_ < Phase::kEnding ? roster_.refused.explain() : std::string());
}

std::string SupervisorCore::explain_phase(Instant now) const {
  const std::size_t wanted = std::size_t{config_.stages} * config_.replicas;
  switch (phase_) {
    case Phase::kReturning: {
      const std::size_t away = view().replica_count() - roster_.live_count();
      return compose("the spawner was started again: waiting for ", away, away == 1 ? " replica" : " replicas",
                     " to come back") +
             since(phase_since_, now);
    }
    case Phase::kRollingBack: {
      const std::string& refusal = search_.refusal();
      return "rolling back: looking for a checkpoint" + (refusal.empty() ? "" : " again: " + refusal);
    }
    case Phase::kGathering: {
      const std::size_t have = std::min(wanted, roster_.processes.alive(ProcessRole::kNode).size());
      std::map<std::size_t, int> lacking;  // slots are filled across the stages first
      for (std::size_t index = have; index < wanted; ++index) ++lacking[index % config_.stages];
      std::string text = waiting_for(lacking);
      if (text.empty()) text = "waiting for workers on which replicas could not start";
      return text + since(phase_since_, now);
    }
    case Phase::kSpawning: {
      std::map<std::size_t, int> lacking;
      const bool are_there = roster_.processes.alive(ProcessRole::kNode).size() >= wanted;
      for (std::size_t stage = 0; stage < config_.stages && !are_there; ++stage) {
        const int open =
            static_cast<int>(config_.replicas) - starting_.count_of(StageId{static_cast<std::uint32_t>(stage)});
        if (open > 0) lacking[stage] = open;
      }
      return compose("starting replicas: ", starting_.ready_count(), " of ", wanted, " are ready",
                     lacking.empty() ? "" : "; ", waiting_for(lacking)) +
             since(phase_since_, now);
    }
    case Phase::kTraining: break;
    case Phase::kEnding:
    case Phase::kOver:
      return (dismissal_.end().is_handed_over ? "the spawner's process starts again: " : "ending: ") +
             dismissal_.end().reason;
  }
  if (const auto lost = fallback_.lost()) return *lost;
  if (last_step_.is_committed() && !open_rounds().empty()) return "agreeing on the last rounds";
  const RunAwaits awaits = last_step_.awaits(checkpoints_.has(view().committed_steps()));
  if (awaits == RunAwaits::kCheckpoint) return "saving the last checkpoint";
  if (awaits == RunAwaits::kEvaluation) return "evaluating on all validation tokens";
  const std::size_t left_out = view().quarantines().count();
  return compose(last_step_.stopped() ? "stopping after step " : "training step ", view().committed_steps(), " of ",
                 config_.steps_target, "; ", next_commit().reason) +
         since(step_since_, now) + signs_.explain(roster_.parties()) +
         (left_out == 0 ? "" : compose("; microbatches in quarantine: ", left_out));
}

}  // namespace shoal
