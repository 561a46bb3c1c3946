// The supervisor's frame: inputs, the way of a fact through the duties, journal and numbers.
#include "runtime/cluster/supervisor/supervisor.h"

#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/cluster/truth/commit_question.h"

namespace shoal {

namespace {

template <class Duty, class Happened>
concept DutyHears = requires(Duty& duty, const Happened& happened, Instant now) {
  duty.on(happened, now);
};

template <class Happened>
concept IsFollowed = requires(Truth& truth, const Happened& happened, Instant now) {
  truth.follow(happened, now);
};

template <class Happened, class... Duties>
consteval bool is_heard(const std::tuple<Duties...>* /*type*/) {
  return IsFollowed<Happened> || (DutyHears<Duties, Happened> || ...);
}

}  // namespace

SupervisorCore::SupervisorCore(SupervisorConfig config)
    : truth_(std::move(config)), duties_(make_duties(truth_, numbers_)) {}

template <class Happened>
void SupervisorCore::hand_around(const Happened& happened, Instant now) {
  static_assert(is_heard<Happened>(static_cast<const DutiesInOrder*>(nullptr)), "a fact that nobody hears");
  if constexpr (IsFollowed<Happened>) truth_.follow(happened, now);
  const auto hand = [&]<class Duty>(Duty& duty) {
    if constexpr (DutyHears<Duty, Happened>) take(duty.on(happened, now), now);
  };
  std::apply([&](auto&... duty) { (hand(duty), ...); }, duties_);
}

template <class Happened>
SupervisorEffects SupervisorCore::settle(const Happened& happened, Instant now) {
  truth_.history.begin_answer();
  hand_around(happened, now);
  return take_effects();
}

template <class Message>
SupervisorEffects SupervisorCore::hear(const Message& message, Instant now) {
  return settle(message, now);
}
template SupervisorEffects SupervisorCore::hear(const Join&, Instant);
template SupervisorEffects SupervisorCore::hear(const StageReady&, Instant);
template SupervisorEffects SupervisorCore::hear(const StageEnded&, Instant);
template SupervisorEffects SupervisorCore::hear(const ProcessLost&, Instant);
template SupervisorEffects SupervisorCore::hear(const Leaving&, Instant);
template SupervisorEffects SupervisorCore::hear(const Heartbeat&, Instant);
template SupervisorEffects SupervisorCore::hear(const PeerUnreachable&, Instant);
template SupervisorEffects SupervisorCore::hear(const PeerRefused&, Instant);
template SupervisorEffects SupervisorCore::hear(const Prepared&, Instant);
template SupervisorEffects SupervisorCore::hear(const FetchJournal&, Instant);
template SupervisorEffects SupervisorCore::hear(const CheckpointSaved&, Instant);
template SupervisorEffects SupervisorCore::hear(const CheckpointFailed&, Instant);
template SupervisorEffects SupervisorCore::hear(const StateProgress&, Instant);
template SupervisorEffects SupervisorCore::hear(const StateUnavailable&, Instant);
template SupervisorEffects SupervisorCore::hear(const EvaluationResult&, Instant);
template SupervisorEffects SupervisorCore::hear(const MeasuredWork&, Instant);
template SupervisorEffects SupervisorCore::hear(const Revocations&, Instant);

// Gives metrics the events of stages and of storage.
SupervisorEffects SupervisorCore::hear(const RunEvent& event, Instant /*now*/) {
  if (event.kind == RunEventKind::kDataUnreadable) truth_.unreadable_text = event.reason;
  if (event.kind == RunEventKind::kDataReadAgain) truth_.unreadable_text.reset();
  send(to_metrics(), event);
  return take_effects();
}

void SupervisorCore::take(Answers answers, Instant now) {
  for (DutyAnswer& answer : answers.all()) {
    if (auto* effect = std::get_if<SupervisorEffect>(&answer)) {
      take(std::move(*effect));
    } else if (const auto* announcement = std::get_if<Announcement>(&answer)) {
      take(*announcement);
    } else {
      std::visit([&](const auto& fact) { hand_around(fact, now); }, std::get<RunFact>(answer));
    }
  }
}

void SupervisorCore::take(SupervisorEffect effect) {
  if (std::holds_alternative<AppendEntry>(effect)) ++unrecorded_, truth_.history.ask();
  effects_.push_back(std::move(effect));
}

void SupervisorCore::take(const Announcement& announcement) {
  const auto& [kind, subject, reason] = announcement;
  take(Note{compose(word_of(kind), " ", subject, ": ", reason)});
  send(to_metrics(), RunEvent{kind, subject, reason, truth_.steps_done()});
}

SupervisorEffects SupervisorCore::begin(Instant now) {
  truth_.clock.look(now, false);
  take(SendJournal{kSpawnerProcess, {}, true});
  return settle(TermBegins{}, now);
}

JournalEntry SupervisorCore::entry_for(const JournalBody& body) const {
  JournalEntry entry{JournalPosition{view().position().value + 1}, truth_.history.branch(), truth_.config.term, body};
  // Here, where all entries before it are in the view: several may be asked for at once.
  if (auto* round = std::get_if<CommitRound>(&entry.body)) {
    truth_.history.name_lost(*round, contributed_before(truth_, round->round), view());
  }
  return entry;
}

SupervisorEffects SupervisorCore::appended(const JournalEntry& entry, Instant now) {
  --unrecorded_;
  truth_.history.begin_answer();
  truth_.follow(entry);
  const JournalEntries news{truth_.config.run, truth_.config.term, {entry}};
  for (const ProcessIncarnation process : truth_.roster.processes.alive()) send({process, Role::kRouter, {}, {}}, news);
  // Last: an order that a sync group gives because of an entry must not reach a replica before the entry does.
  send({kSpawnerProcess, Role::kRouter, {}, {}}, news);
  if (const auto* commit = std::get_if<Commit>(&entry.body)) {
    hand_around(*commit, now);
  } else {
    take(Note{describe(entry)});
    if (const auto* round = std::get_if<CommitRound>(&entry.body)) hand_around(*round, now);
  }
  return take_effects();
}

// Drops all that was to follow.
SupervisorEffects SupervisorCore::journal_failed(const std::string& reason, int exit_status, Instant now) {
  return settle(JournalFailed{reason, exit_status, std::exchange(unrecorded_, 0) > 0}, now);
}

void SupervisorCore::reserved(bool are_processes, std::uint64_t first, std::uint64_t count) {
  numbers_.reserved(are_processes ? NumberKind::kProcess : NumberKind::kActor, first, count);
}

SupervisorEffects SupervisorCore::looked(const LookEnd& end, Instant now) {
  return end.start ? settle(StartFound{end.look, *end.start}, now)
                   : settle(StartNotFound{end.look, end.start.failure()}, now);
}

SupervisorEffects SupervisorCore::gone(ProcessIncarnation process, const std::string& reason, Instant now) {
  return settle(ProcessDied{process, reason}, now);
}

SupervisorEffects SupervisorCore::stop(const std::string& reason, int exit_status, Instant now) {
  return settle(StopAsked{reason, exit_status}, now);
}

SupervisorEffects SupervisorCore::group_ended(StageId stage, Incarnation group, const std::string& reason,
                                              Instant now) {
  return settle(GroupEnded{stage, group, reason}, now);
}

SupervisorEffects SupervisorCore::data_loader_ended(const std::string& reason, Instant now) {
  return settle(DataLoaderEnded{reason}, now);
}

SupervisorEffects SupervisorCore::tick(Instant now) {
  truth_.clock.look(now, !open_rounds(truth_).empty());
  SupervisorEffects effects = settle(TickCame{}, now);
  // Last, and not with an entry: whoever waits for one does not wait for this.
  if (auto due = truth_.history.take_due()) effects.push_back(KeepSnapshot{std::move(*due)});
  return effects;
}

OperatorOutcome SupervisorCore::operate(const OperatorOrder& order, Instant now) {
  truth_.history.begin_answer();
  Obeyed obeyed = std::get<OperatorDuty>(duties_).obey(order, now);
  take(std::move(obeyed.answers), now);
  return {std::move(obeyed.answer), take_effects(), obeyed.injection};
}

SaveOutcome SupervisorCore::save(const SaveRequest& request, Instant now) {
  truth_.history.begin_answer();
  SaveHeard heard = std::get<SaveDuty>(duties_).hear(request, now);
  take(std::move(heard.answers), now);
  return {std::move(heard.answer), take_effects()};
}

SupervisorEffects SupervisorCore::take_effects() {
  if (truth_.is_ending()) return std::exchange(effects_, {});  // nobody is numbered any more
  for (const NumberKind kind : {NumberKind::kProcess, NumberKind::kActor}) {
    const bool are_processes = kind == NumberKind::kProcess;
    const std::uint64_t at_once = are_processes ? 1 : truth_.actors_at_once();
    const std::uint64_t least = std::max<std::uint64_t>(ReservedNumbers::kLeftMin, at_once);
    if (numbers_.is_low(kind, at_once)) effects_.push_back(ReserveNumbers{are_processes, 2 * least});
  }
  return std::exchange(effects_, {});
}

}  // namespace shoal
