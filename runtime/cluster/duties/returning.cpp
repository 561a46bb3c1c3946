// From the start of a term until the step in progress goes on, or another start is looked for.
#include "runtime/cluster/duties/returning.h"

#include <algorithm>
#include <optional>

#include "runtime/base/compose.h"
#include "runtime/base/restart_policy.h"
#include "runtime/base/text/duration_words.h"
#include "runtime/base/text/quantity_words.h"

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

}  // namespace

Answers ReturnDuty::on(const TermBegins& /*begins*/, Instant /*now*/) {
  Answers answers;
  const View& view = truth_.view();
  if (truth_.config.return_within == Duration::zero()) {
    answers.tell(StartOver{truth_.config.start});
  } else if (was_ended(view, truth_.config)) {
    answers.tell(EndsAgain{});
  } else if (can_return(view, truth_.config.stages)) {
    answers.tell(PhaseBegins{RunPhase::kReturning});
    answers.tell(ReturnBegins{});
    answers.note(compose("term ", truth_.config.term, " takes over at entry ", view.position(), ", step ",
                         view.committed_steps(), ": waiting for ", counted(view.replica_count(), "replica")));
  } else {
    answers.tell(StartWanted{});
  }
  return answers;
}

Answers ReturnDuty::on(const CameBack& back, Instant /*now*/) {
  Answers answers;
  const Join& join = back.join;
  const ProcessIncarnation process = join.previous;
  const View& view = truth_.view();
  const auto is_ahead = [&](const ServedReplica& served) {
    return view.contains(served.replica) && served.version > view.committed_steps();
  };
  if (std::ranges::any_of(join.serves, is_ahead)) {
    answers.send(to_node_agent(process),
                 EndProcess{"it has seen steps that the journal of this spawner lacks", kRejoinStatus});
    answers.tell(GivenUp{process, "it is ahead of the journal"});
    return answers;
  }
  answers.send(to_node_agent(process), Welcome{join.nonce, process, truth_.config.run, view.branch(),
                                               truth_.config.term, view.position(), truth_.config.config_toml});
  answers.tell(Welcomed{process});
  answers.announce(RunEventKind::kReturned, truth_.roster.processes.name_of(process),
                   compose("as process ", process, ", with ", counted(join.serves.size(), "replica")));
  answers.tell(Served{join, process});
  answers.tell(PeersChanged{});
  answers.tell(MembersDue{truth_.roster.processes.name_of(process) + " came back without it"});
  answers.tell(ReturnDue{});
  return answers;
}

Answers ReturnDuty::on(const TickCame& /*tick*/, Instant now) { return on(ReturnDue{}, now); }

Answers ReturnDuty::on(const ReturnDue& /*due*/, Instant now) {
  return truth_.phase == RunPhase::kReturning && is_over() ? conclude(now) : Answers{};
}

bool ReturnDuty::is_over() const {
  const SupervisorConfig& config = truth_.config;
  bool is_complete = truth_.has_storage();  // the next shards need it
  bool are_all_served = true;
  for (std::uint32_t stage = 0; stage < config.stages; ++stage) {
    are_all_served = are_all_served && truth_.roster.is_served(StageId{stage});
    for (const ReplicaMember& member : truth_.view().replicas_of(StageId{stage})) {
      const bool is_known = truth_.roster.processes.find(member.process) != nullptr;  // back, or back and lost again
      is_complete = is_complete && is_known;
    }
  }
  const bool has_spares = spares() >= config.replicas.total(config.stages);
  const Duration waited = truth_.clock.awake();  // the return begins with this process
  const bool is_enough = (are_all_served || has_spares) && waited >= config.return_grace;
  return is_complete || is_enough || waited >= config.return_within;
}

// Workers that were never in this run: where they are enough for all of it, the members are waited for only a while.
// Newcomers may be the first to reach a spawner that was away for long.
std::size_t ReturnDuty::spares() const {
  const auto is_spare = [&](ProcessIncarnation process) { return !numbers_.is_of_earlier_term(process); };
  return static_cast<std::size_t>(std::ranges::count_if(truth_.roster.processes.alive(ProcessRole::kNode), is_spare));
}

Answers ReturnDuty::conclude(Instant now) const {
  Answers answers;
  const std::size_t members = truth_.view().replica_count();
  const std::size_t live = truth_.roster.live_count();
  std::optional<StageId> unserved;
  for (std::uint32_t stage = 0; stage < truth_.config.stages; ++stage) {
    if (!truth_.roster.is_served(StageId{stage})) unserved = StageId{stage};
  }
  if (live == 0) {
    answers.tell(StartWanted{});  // a start like any other
  } else if (unserved) {
    answers.tell(RollBack{compose("no replica of stage ", *unserved, " came back to the spawner")});
  } else {
    const Duration took = now - truth_.clock.phase_since();
    const std::uint64_t steps = truth_.view().committed_steps();
    answers.tell(PhaseBegins{RunPhase::kTraining});
    answers.tell(PeersChanged{});
    answers.tell(MembersDue{"it did not come back to the spawner"});
    answers.tell(TrainingBegins{steps});
    answers.announce(RunEventKind::kResumed, "spawner",
                     compose(live, " of ", counted(members, "replica"), " came back in ", duration_text(took),
                             "; step ", steps, " goes on"));
  }
  return answers;
}

}  // namespace shoal
