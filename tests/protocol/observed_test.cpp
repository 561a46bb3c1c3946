// Traces that are paths of the model, and the first event that is none of one that was tampered with.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "tests/protocol/observed/run.h"
#include "tests/protocol/observed/script.h"

namespace shoal::observed::observed_test {
namespace {

constexpr std::uint64_t kA0 = 10, kA1 = 11, kB0 = 20, kB1 = 21;

// The first event of an actor's incarnation that is of a kind and has these words, from `from` on.
std::size_t find(const RunTrace& trace, TraceKind kind, std::uint64_t incarnation, std::string_view words,
                 std::size_t from = 0) {
  for (std::size_t i = from; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i].event;
    if (event.kind == kind && event.incarnation.value == incarnation && event.detail_text() == words) return i;
  }
  ADD_FAILURE() << "no such event: " << words;
  return 0;
}

// The first letter of a kind about a replica, as its receiver's router took it or as its sender's sent it.
std::size_t find_letter(const RunTrace& trace, TraceKind kind, std::string_view word, std::uint64_t subject,
                        std::size_t from = 0) {
  for (std::size_t i = from; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i].event;
    if (event.kind == kind && event.detail_text() == word && event.subject == subject) return i;
  }
  ADD_FAILURE() << "no such letter: " << word;
  return 0;
}

void erase(RunTrace& trace, std::size_t event) { trace.events.erase(trace.events.begin() + static_cast<long>(event)); }

void expect_path(const RunTrace& trace) {
  const Verdict verdict = judge(trace);
  EXPECT_FALSE(verdict.unknown) << *verdict.unknown;
  if (verdict.objection) {
    ADD_FAILURE() << verdict.objection->rule << ": " << verdict.objection->text << "\n"
                  << (verdict.event ? text_of(trace, *verdict.event) : "");
  }
}

void expect_refused(const RunTrace& trace, std::string_view rule, std::string_view words) {
  const Verdict verdict = judge(trace);
  ASSERT_TRUE(verdict.objection) << "it is accepted";
  EXPECT_EQ(verdict.objection->rule, rule) << verdict.objection->text;
  EXPECT_NE(verdict.objection->text.find(words), std::string::npos) << verdict.objection->text;
}

Script two_steps(Shape shape = {}) {
  Script script(shape);
  script.begin();
  script.step();
  script.step();
  return script;
}

TEST(Observed, UndisturbedRunsArePaths) {
  for (const Shape shape : {Shape{1, 1, 1}, Shape{1, 2, 3}, Shape{2, 1, 2}, Shape{2, 2, 4}, Shape{3, 2, 4}}) {
    expect_path(two_steps(shape).trace());
  }
}

// The other member computes again what the removed one had accumulated.
TEST(Observed, ARunThatLosesAReplicaIsAPath) {
  Script script({});
  script.begin();
  script.step();
  script.compute(0, 0);
  script.compute(1, 1);
  script.remove(1, 1);
  script.say(1, "Open");
  script.letter(kA1, kB0, "Forward", script.about(1, 1), kB0);
  script.work(kB0, "loss", 1);
  script.accumulate(kB0, 1);
  expect_path(script.trace());
}

TEST(Observed, AnAnswerThatIsCountedTwiceIsRefused) {
  Script script = two_steps();
  RunTrace& trace = script.trace();
  const std::size_t first = find(trace, TraceKind::kAccumulate, kB0, "");
  trace.events.insert(trace.events.begin() + static_cast<long>(first), trace.events[first]);
  expect_refused(trace, "P-7", "has accumulated before");
}

TEST(Observed, ACommitWithoutAllContributionsIsRefused) {
  Script script = two_steps();
  RunTrace& trace = script.trace();
  auto listed = std::ranges::find_if(trace.events, [](const TracedEvent& traced) {
    return traced.event.kind == TraceKind::kManifest && traced.event.subject == kB1;
  });
  listed->event.detail.fill('\0');
  listed->event.bytes = 0;
  expect_refused(trace, "P-8", "did not name in epoch");
}

TEST(Observed, ASumWithoutAManifestOfEachMemberIsRefused) {
  Script script = two_steps();
  erase(script.trace(), find_letter(script.trace(), TraceKind::kReceive, "Manifest", kA1));
  expect_refused(script.trace(), "P-16", "without the manifests of all members");
}

TEST(Observed, AVoteBeforeAllMembersHoldTheSumIsRefused) {
  Script script = two_steps();
  erase(script.trace(), find_letter(script.trace(), TraceKind::kReceive, "Reduced", kA0));
  expect_refused(script.trace(), "P-19", "before all members hold the sum");
}

// The replica obeys a Prepare whose epoch is older than that of the Open behind which it comes.
TEST(Observed, AnOrderOfAnOlderEpochThatIsObeyedIsRefused) {
  Script script({1, 1, 1});
  script.begin();
  script.compute(0, 0);
  script.say(0, "Prepare");
  script.say(0, "Open");
  expect_path(script.trace());
  RunTrace& trace = script.trace();
  const std::size_t prepare = find_letter(trace, TraceKind::kReceive, "Prepare", kA0);
  const TracedEvent late = trace.events[prepare];
  erase(trace, prepare);
  trace.events.push_back(late);
  trace.events.back().time_ns = trace.events[trace.events.size() - 2].time_ns + 1;
  Cause of_prepare = late.event.cause;
  script.letter(kA0, 0, "Manifest", of_prepare, kA0);
  expect_refused(trace, "P-15", "gives a manifest for an order that it has not obeyed");
}

// Takes a microbatch through the slot's replica of stage 0 to that of stage 1, which accumulates it.
void reach_stage_1(Script& script, std::uint32_t slot) {
  const std::uint64_t a = Script::replica(0, slot), b = Script::replica(1, slot);
  script.plan(0);
  script.letter(0, a, "Forward", script.about(0, 0), a);
  script.work(a, "forward", 0);
  script.letter(a, b, "Forward", script.about(1, 0), b);
  script.work(b, "loss", 0);
  script.accumulate(b, 0);
}

// Both replicas of stage 1 accumulate one microbatch, as the first of stage 0 is lost before it answers; their group
// gives a Zero.
Script doubled_and_emptied() {
  Script script({2, 2, 1});
  script.begin();
  reach_stage_1(script, 0);
  script.remove(0, 0);
  script.say(0, "Open");
  reach_stage_1(script, 1);
  script.say(1, "Prepare");
  script.answer_prepare(1);
  script.say(1, "Zero");
  script.work(kB1, "zero", 0);
  return script;
}

TEST(Observed, AReplicaThatMissedAZeroEmptiesItselfWhateverItHasObeyedSince) {  // P-16b
  Script script = doubled_and_emptied();
  erase(script.trace(), find_letter(script.trace(), TraceKind::kReceive, "Zero", kB0));
  script.say(1, "Open");
  script.say(1, "Prepare");
  script.work(kB0, "zero", 0);
  script.answer_prepare(1);
  expect_path(script.trace());
}

TEST(Observed, AReplicaThatObeyedTheZeroDoesNotEmptyItselfAgain) {
  Script script = doubled_and_emptied();
  script.work(kB0, "zero", 0);
  script.say(1, "Open");
  script.say(1, "Prepare");
  expect_path(script.trace());
  script.work(kB0, "zero", 0);
  expect_refused(script.trace(), "P-16b", "empties itself without a Zero");
}

TEST(Observed, AnEntryThatIsMissingAtAFollowerIsRefused) {
  Script script = two_steps();
  erase(script.trace(), find(script.trace(), TraceKind::kView, kB0, "AppointGroup"));
  expect_refused(script.trace(), "P-3", "reads entry");
}

TEST(Observed, AnEntryThatIsMissingInTheJournalIsRefused) {
  Script script = two_steps();
  std::erase_if(script.trace().events, [](const TracedEvent& traced) {
    return traced.event.kind == TraceKind::kView && traced.event.detail_text() == "AppointGroup";
  });
  expect_refused(script.trace(), "P-3", "is in no trace");
}

TEST(Observed, AForwardThatTheDataLoaderDidNotSendIsRefused) {
  Script script({});
  script.begin();
  script.letter(0, kA1, "Forward", script.about(0, 1), kA1);
  expect_refused(script.trace(), "P-14", "sends what the data loader has not");
}

// b1 has left, and a1 has read that, when its answer comes: a1 turns it away.
Script answer_of_a_removed_replica() {
  Script script({});
  script.begin();
  script.plan(1);
  script.letter(0, kA1, "Forward", script.about(0, 1), kA1);
  script.work(kA1, "forward", 1);
  script.letter(kA1, kB1, "Forward", script.about(1, 1), kB1);
  script.work(kB1, "loss", 1);
  script.accumulate(kB1, 1);
  Cause answer = script.about(1, 1);
  script.remove(1, 1);
  script.letter(kB1, kA1, "Backward", answer, kA1);
  return script;
}

TEST(Observed, AnAnswerOfARemovedReplicaIsTurnedAway) {
  Script script = answer_of_a_removed_replica();
  script.drop(kA1, "Backward", 1);
  expect_path(script.trace());
}

TEST(Observed, AnAnswerOfARemovedReplicaThatIsUsedIsRefused) {
  Script script = answer_of_a_removed_replica();
  script.work(kA1, "backward", 1);
  script.accumulate(kA1, 1);
  expect_refused(script.trace(), "P-7", "that it cannot have");
}

TEST(Observed, ALetterThatNobodySentIsRefused) {
  Script script = two_steps();
  erase(script.trace(), find_letter(script.trace(), TraceKind::kSend, "Prepare", kB1));
  expect_refused(script.trace(), "P-10", "that nobody sent");
}

TEST(Observed, TheLastWordsOfAKilledProcessNeedNoRecord) {
  Script script({1, 2, 2});
  script.begin();
  script.step();
  script.compute(0, 0);
  script.compute(1, 1);
  script.say(0, "Prepare");
  script.answer_prepare(0);
  RunTrace& trace = script.trace();
  const std::size_t end = trace.events.size();
  script.letter(kA1, 0, "Progress", script.about(0, 0), kA1);
  std::size_t last = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i].event;
    if (event.kind == TraceKind::kSend && event.detail_text() == "Manifest" && event.subject == kA1) last = i;
  }
  erase(trace, last);
  expect_refused(trace, "P-10", "that nobody sent");
  trace.lives[2].is_whole = false;
  expect_refused(trace, "P-10", "that nobody sent");
  trace.events.resize(end - 1);
  expect_path(trace);
}

TEST(Observed, AMicrobatchThatIsSentElsewhereWithoutAReasonIsRefused) {
  Script script({});
  script.begin();
  script.compute(0, 0);
  script.letter(kA0, kB1, "Forward", script.about(1, 0), kB1);
  expect_refused(script.trace(), "P-13", "has neither refused it nor left");
}

TEST(Observed, ACommitOfAVoteThatTheJournalHasOvertakenIsRefused) {
  Script script({});
  script.begin();
  script.step();
  script.compute(0, 0);
  script.compute(1, 0);
  script.agree();
  script.remove(1, 1);
  script.commit();
  expect_refused(script.trace(), "P-22", "has changed at position");
}

TEST(Observed, WorkOnAMicrobatchWhileFrozenIsRefused) {
  Script script({1, 1, 2});
  script.begin();
  script.compute(0, 0);
  script.say(0, "Prepare");
  script.answer_prepare(0);
  script.compute(1, 0);
  expect_refused(script.trace(), "P-8", "while it is not open");
}

// The second member of each stage is late for the second round.
Script with_rounds(Shape shape = {}) {
  Script script(shape);
  script.begin();
  script.step();
  script.round(1);
  script.step();
  script.round(2, shape.replicas > 1 ? std::set{kA1} : std::set<std::uint64_t>{});
  script.step();
  return script;
}

// Leaves the first job of this name of a replica out, from `from` on.
void erase_job(RunTrace& trace, std::uint64_t replica, std::string_view word) {
  const std::size_t start = find(trace, TraceKind::kStart, replica, word);
  const std::uint64_t span = trace.events[start].event.span;
  std::erase_if(trace.events, [span](const TracedEvent& traced) {
    return traced.event.span == span &&
           (traced.event.kind == TraceKind::kStart || traced.event.kind == TraceKind::kEnd);
  });
}

TEST(Observed, RunsOfRoundsArePaths) {
  for (const Shape shape : {Shape{1, 1, 1}, Shape{1, 2, 3}, Shape{2, 2, 4}, Shape{3, 2, 4}}) {
    expect_path(with_rounds(shape).trace());
  }
}

TEST(Observed, AMeanThatWasMissedAndDidNotComeIsRefused) {
  Script script = with_rounds();
  erase(script.trace(), find_letter(script.trace(), TraceKind::kReceive, "StepSum", kA1));
  expect_refused(script.trace(), "P-34", "which it missed");
}

TEST(Observed, AContributionThatWasNotTakenIsRefused) {
  Script script = with_rounds();
  erase_job(script.trace(), kA0, "contribute_round");
  expect_refused(script.trace(), "P-31", "has not taken there");
}

TEST(Observed, AStepThatBeginsBeforeTheMeanIsAppliedIsRefused) {
  Script script = with_rounds();
  erase_job(script.trace(), kA0, "apply_round");
  expect_refused(script.trace(), "P-32", "begins the next step before");
}

// One of two members computes the step and dies, the other one is alone in the round, whose mean nobody applies.
Script with_a_round_of_one(std::uint32_t slot_that_computes) {
  Script script({1, 2, 2});
  script.begin();
  for (const std::uint32_t microbatch : {0U, 1U}) script.compute(microbatch, slot_that_computes);
  script.agree();
  script.commit();
  script.contribute_to_round();
  script.remove(0, 1);
  script.agree_on_round(0, 1);
  script.commit_round(0, 1);
  script.step();
  return script;
}

TEST(Observed, AMeanOfNobodysTokensIsNotApplied) { expect_path(with_a_round_of_one(1).trace()); }

TEST(Observed, AMeanOfOneMemberThatTrainedIsWaitedFor) {
  expect_refused(with_a_round_of_one(0).trace(), "P-32", "begins the next step before");
}

TEST(Observed, AVoteForARoundBeforeAllHoldItsMeanIsRefused) {
  Script script = with_rounds();
  erase(script.trace(), find_letter(script.trace(), TraceKind::kReceive, "Reduced round 1.0", kB1));
  expect_refused(script.trace(), "P-19", "holds its mean");
}

TEST(Observed, AMeanOfAMemberWithoutAManifestIsRefused) {
  Script script = with_rounds();
  erase(script.trace(), find_letter(script.trace(), TraceKind::kReceive, "Manifest round 1.0", kB1));
  expect_refused(script.trace(), "P-31a", "whose manifest is not in");
}

TEST(Observed, ACommitBeforeAllStagesHaveTheRoundIsRefused) {
  Script script({});
  script.begin();
  script.step();
  script.contribute_to_round();
  script.agree_on_round(0, 1);
  script.commit_round(0, 1);
  script.apply_round();
  script.step();
  expect_refused(script.trace(), "P-32", "before all stages have the rounds");
}

TEST(Observed, ARoundOfAVoteThatTheJournalHasOvertakenIsRefused) {
  Script script({});
  script.begin();
  script.step();
  script.contribute_to_round();
  script.agree_on_round(1, 1);
  script.remove(1, 1);
  script.commit_round(1, 1);
  expect_refused(script.trace(), "P-22", "changed at position");
}

TEST(Observed, ARoundThatIsCommittedTwiceIsRefused) {
  Script script({1, 2, 2});
  script.begin();
  script.step();
  script.contribute_to_round();
  script.agree_on_round(0, 1);
  script.commit_round(0, 1);
  script.commit_round(0, 1);
  expect_refused(script.trace(), "S-2", "behind a later one");
}

TEST(Observed, StepsOfManyMicrobatchesAreJudged) {
  expect_path(two_steps({2, 2, 130}).trace());
  Script script = two_steps({1, 2, 130});
  const std::size_t first = find(script.trace(), TraceKind::kAccumulate, kA1, "");
  script.trace().events.insert(script.trace().events.begin() + static_cast<long>(first), script.trace().events[first]);
  expect_refused(script.trace(), "P-7", "has accumulated before");
}

TEST(Observed, ATraceThatLacksEventsIsNotJudged) {
  Script script = two_steps();
  script.trace().lives[1].dropped = 1;
  EXPECT_TRUE(judge(script.trace()).unknown);
  script.trace().lives[1].dropped = 0;
  expect_path(script.trace());
  script.trace().lives[1].level = TraceLevel::kLifecycle;
  EXPECT_TRUE(judge(script.trace()).unknown);
}

}  // namespace
}  // namespace shoal::observed::observed_test
