// One sentence for each phase.
#include "runtime/cluster/truth/waiting_words.h"

#include <algorithm>
#include <map>

#include "runtime/base/compose.h"
#include "runtime/base/text/enumerate.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/balance/memory_refusals.h"
#include "runtime/cluster/truth/commit_question.h"

namespace shoal {

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

std::string explain_return(const Truth& truth) {
  const std::size_t away = truth.view().replica_count() - truth.roster.live_count();
  return compose("the spawner was started again: waiting for ", away, away == 1 ? " replica" : " replicas",
                 " to come back");
}

std::string explain_search(const Truth& truth) {
  const std::string& refusal = truth.search.refusal();
  return "rolling back: looking for a checkpoint" + (refusal.empty() ? "" : " again: " + refusal);
}

// Says of a worker that no stage fits, on its own or beside what others on its machine serve. Empty: one does.
std::string explain_misfit(const Truth& truth, ProcessIncarnation process, const HostLoads& loads) {
  const std::string name = truth.roster.processes.name_of(process);
  const auto why_not = [&](const MachineOffer& offer) {
    return fits_nowhere(name, offer, truth.config.needs, truth.config.config_file);
  };
  const std::string why = why_not(truth.roster.processes.find(process)->join.offer);
  if (!why.empty() || why_not(truth.offer_of(process, loads)).empty()) return why;
  return name + ": no stage fits beside what its machine serves";
}

// "; node5 gives 8.0 GB and no stage fits: ... (and 3 more workers)", of workers that serve nothing and could serve
// nothing.
std::string explain_misfits(const Truth& truth) {
  std::string first;
  std::uint64_t others = 0;
  const HostLoads loads = truth.host_loads();
  for (const ProcessIncarnation process : truth.roster.processes.alive(ProcessRole::kNode)) {
    const std::string why = explain_misfit(truth, process, loads);
    if (why.empty() || !truth.roster.stages_of(process).empty()) continue;
    others += first.empty() ? 0 : 1;
    if (first.empty()) first = "; " + why;
  }
  return others == 0 ? first : compose(first, " (and ", counted(others, "more worker"), ")");
}

// "; node3 stays a spare: its link ... (and 1 more worker)", of workers that were given up as joiners.
std::string explain_given_up(const Truth& truth) {
  const auto& given_up = truth.joins.given_up();
  if (given_up.empty()) return {};
  const auto& [process, why] = *given_up.begin();
  const std::size_t others = given_up.size() - 1;
  return compose("; ", truth.roster.processes.name_of(process), " stays a spare: ", why,
                 others == 0 ? "" : compose(" (and ", counted(others, "more worker"), ")"));
}

// "; node2 was lost: no heartbeat for 4 s (and 1 more worker)", where workers lack; their keepers start them again.
std::string explain_lost(const Truth& truth) {
  const std::size_t wanted = truth.config.replicas.total(truth.config.stages);
  if (truth.roster.processes.alive(ProcessRole::kNode).size() >= wanted) return {};
  const auto lost = truth.roster.processes.lost_workers();
  if (lost.empty()) return {};
  return compose("; ", lost.front().name, " was lost: ", lost.front().why,
                 lost.size() == 1 ? "" : compose(" (and ", counted(lost.size() - 1, "more worker"), ")"));
}

std::string explain_gathering(const Truth& truth) {
  if (!truth.starts.misfit.empty()) return "waiting for workers: " + truth.starts.misfit;
  const ReplicasWanted& replicas = truth.config.replicas;
  std::size_t have = truth.roster.processes.alive(ProcessRole::kNode).size();
  const bool shares = truth.config.share_devices && have < replicas.total(truth.config.stages);
  if (shares && have == 0) return "waiting for a node: one is enough to begin (swarm.share_devices)";
  if (shares) return compose("waiting whether more nodes come, or ", counted(have, "worker"), " will serve all stages");
  std::map<std::size_t, int> lacking;
  for (std::uint32_t slot = 0; slot < replicas.most(); ++slot) {  // filled across the stages first
    for (std::uint32_t stage = 0; stage < truth.config.stages; ++stage) {
      if (slot >= replicas.of(StageId{stage})) continue;
      have > 0 ? static_cast<void>(--have) : static_cast<void>(++lacking[stage]);
    }
  }
  const std::string text = waiting_for(lacking);
  return text.empty() ? "waiting for workers on which replicas could not start" : text;
}

std::string time_text(std::chrono::seconds time) {
  return time.count() < 120 ? compose(time.count(), " s") : compose(time.count() / 60, " min");
}

// "; in 7 s it goes on with fewer replicas, one for each stage at least", after a roll-back, where workers suffice.
std::string explain_patience(const Truth& truth, Instant now) {
  const Instant over = truth.clock.gathering_since() + truth.config.gather_within;
  const bool is_bounded = !truth.is_first_start() && !truth.config.share_devices && now < over;
  const bool are_enough = truth.roster.processes.alive(ProcessRole::kNode).size() >= truth.config.stages;
  if (!is_bounded || !are_enough) return {};
  const auto left = std::chrono::ceil<std::chrono::seconds>(over - now);
  return compose("; in ", time_text(left), " it goes on with fewer replicas, one for each stage at least");
}

std::string explain_starting(const Truth& truth) {
  const std::size_t places = truth.config.replicas.total(truth.config.stages);
  const std::size_t wanted = truth.config.share_devices ? truth.starts.replicas.all().size() : places;
  std::map<std::size_t, int> lacking;
  const bool are_there =
      truth.config.share_devices || truth.roster.processes.alive(ProcessRole::kNode).size() >= wanted;
  for (std::uint32_t stage = 0; stage < truth.config.stages && !are_there; ++stage) {
    const int open =
        static_cast<int>(truth.config.replicas.of(StageId{stage})) - truth.starts.replicas.count_of(StageId{stage});
    if (open > 0) lacking[stage] = open;
  }
  return compose("starting replicas: ", truth.starts.replicas.ready_count(), " of ", wanted, " are ready",
                 lacking.empty() ? "" : "; ", waiting_for(lacking));
}

// "; node3 moves from stage 0 to stage 2, since 4 s"; empty: nobody does.
std::string explain_move(const Roster& roster, Instant now) {
  if (!roster.mover) return {};
  const Mover& mover = *roster.mover;
  return compose("; ", roster.processes.name_of(mover.process), " moves from stage ", mover.from, " to stage ",
                 mover.to) +
         since(mover.since, now);
}

// How many replicas a stage has, are joining it, and should be there.
struct Complement {
  std::size_t have = 0, joining = 0, wanted = 0;
  auto operator<=>(const Complement&) const = default;
};

// True when a worker serves nothing, joins nothing, and stays.
bool has_free_worker(const Truth& truth) {
  const auto is_free = [&](ProcessIncarnation process) {
    const auto joins = [&](const Joiner& joiner) { return joiner.process == process; };
    return truth.roster.stages_of(process).empty() && !truth.roster.leavers.contains(process) &&
           std::ranges::none_of(truth.joins.joiners(), joins);
  };
  return std::ranges::any_of(truth.roster.processes.alive(ProcessRole::kNode), is_free);
}

// "; stage 0 has 1 of 2 replicas, 1 is joining; stages 1 and 2 have 1 of 2 replicas each; no worker is free". Empty: no
// stage lacks any, or replicas are where they are needed most and the run as a whole lacks none.
std::string explain_lacking(const Truth& truth) {
  const ReplicasWanted& replicas = truth.config.replicas;
  const std::size_t there = truth.roster.live_count() + truth.joins.joiners().size();
  if (truth.config.rebalance_every && there >= replicas.total(truth.config.stages)) return {};
  std::map<Complement, std::vector<StageId>> lacking;
  for (std::uint32_t i = 0; i < truth.config.stages; ++i) {
    const StageId stage{i};
    const auto joins = [&](const Joiner& joiner) { return joiner.order.stage == stage; };
    const auto joining = static_cast<std::size_t>(std::ranges::count_if(truth.joins.joiners(), joins));
    const Complement one{truth.roster.live(stage).size(), joining, replicas.of(stage)};
    if (one.have < one.wanted) lacking[one].push_back(stage);
  }
  std::string text;
  bool waits_for_workers = false;
  for (const auto& [one, stages] : lacking) {
    text += compose("; ", enumerate("stage", stages), stages.size() == 1 ? " has " : " have ", one.have, " of ",
                    one.wanted, stages.size() == 1 ? " replicas" : " replicas each");
    if (one.joining > 0) text += compose(", ", one.joining, " ", is_or_are(one.joining), " joining");
    waits_for_workers = waits_for_workers || one.have + one.joining < one.wanted;
  }
  return text + (waits_for_workers && !has_free_worker(truth) ? "; no worker is free" : "");
}

// "; no checkpoint since step 50: cannot write ...", where checkpoints fail or cannot be ordered.
std::string explain_unsaved(const Truth& truth) {
  const std::string& trouble = truth.checkpoints.trouble();
  if (trouble.empty()) return {};
  const auto saved = truth.newest_saved();
  const std::string since_when = saved ? compose("since step ", *saved) : "yet";
  return compose("; no checkpoint ", since_when, ": ", trouble);
}

std::string explain_training(const Truth& truth, Instant now) {
  if (const auto lost = truth.fallback.lost()) return *lost;
  if (truth.ending.last_step.is_committed() && !open_rounds(truth).empty()) return "agreeing on the last rounds";
  const std::uint64_t steps = truth.view().committed_steps();
  const RunAwaits awaits = truth.ending.last_step.awaits(truth.checkpoints.has(steps));
  if (awaits == RunAwaits::kCheckpoint) return "saving the last checkpoint" + explain_unsaved(truth);
  if (awaits == RunAwaits::kEvaluation) return "evaluating on all validation tokens";
  const std::size_t left_out = truth.view().quarantines().count();
  return compose(truth.ending.last_step.stopped() ? "stopping after step " : "training step ", steps, " of ",
                 truth.config.steps_target, "; ", next_commit(truth).reason) +
         since(truth.clock.step_since(), now) +
         (truth.unreadable_text ? compose("; the data loader waits: ", *truth.unreadable_text) : "") +
         explain_unsaved(truth) + explain_lacking(truth) + explain_move(truth.roster, now) +
         truth.signs.explain(truth.roster.parties()) + explain_misfits(truth) + explain_given_up(truth) +
         (left_out == 0 ? "" : compose("; microbatches in quarantine: ", left_out));
}

}  // namespace

std::string since(Instant then, Instant now) {
  const auto time = std::chrono::duration_cast<std::chrono::seconds>(now - then);
  return time.count() < 1 ? std::string() : compose(kSince, time_text(time));
}

std::string ago(Instant then, Instant now) {
  return time_text(std::chrono::duration_cast<std::chrono::seconds>(now - then)) + " ago";
}

std::string explain_waiting(const Truth& truth, Instant now) {
  const EndRun& end = truth.ending.dismissal.end();
  if (truth.is_ending()) {
    return (end.is_handed_over ? "the spawner's process starts again: " : "ending: ") + end.reason;
  }
  const std::string how_long = since(truth.clock.phase_since(), now);
  const std::string refused = truth.roster.refused.explain();
  switch (truth.phase) {
    case RunPhase::kReturning: return explain_return(truth) + how_long + refused;
    case RunPhase::kRollingBack: return explain_search(truth) + how_long + refused;
    case RunPhase::kGathering:
      return explain_gathering(truth) + how_long + explain_lost(truth) + explain_patience(truth, now) + refused;
    case RunPhase::kSpawning: return explain_starting(truth) + how_long + explain_lost(truth) + refused;
    default: return explain_training(truth, now) + explain_lost(truth) + refused;
  }
}

}  // namespace shoal
