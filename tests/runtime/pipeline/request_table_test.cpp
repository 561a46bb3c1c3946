// A router's memory of Forwards: repeats to the same hop, replacement of the failed hop only, and nothing forgotten
// before the Commit, under random loss.
#include "runtime/pipeline/request_table.h"

#include <functional>
#include <random>
#include <utility>

#include <gmock/gmock.h>

namespace shoal::request_table_test {
namespace {

using namespace std::chrono_literals;

constexpr Incarnation kSender{100};  // stage 0
constexpr Incarnation kFirst{201};   // stage 1
constexpr Incarnation kSecond{202};

struct Table {
  RequestTable table;
  Instant now = Instant{} + 1h;
  std::uint64_t position = 0;

  explicit Table(RequestLimits limits = {}) : table(limits) {
    (void)follow(AddReplica{StageId{0}, {}, kSender, {}, 0});
    (void)follow(AddReplica{StageId{1}, {}, kFirst, {}, 0});
    (void)follow(AddReplica{StageId{1}, {}, kSecond, {}, 0});
  }
  std::vector<Letter> follow(JournalBody body) {
    return table.follow({JournalPosition{++position}, Branch{}, Term{1}, std::move(body)}, now);
  }
  std::vector<Letter> commit(std::uint64_t step) {
    Commit body;
    body.step = StepId{step};
    return follow(body);
  }
  std::vector<Letter> after(Duration wait) {
    now += wait;
    return table.tick(now);
  }
  std::vector<Letter> add(const Forward& forward) { return table.add(kSender, forward, now); }
};

Forward forward_of(std::uint32_t microbatch, std::uint64_t step = 0) {
  Forward forward;
  forward.cause.step = StepId{step};
  forward.cause.microbatch = MicrobatchId{microbatch};
  forward.cause.hop = 1;
  forward.sender = kSender;
  forward.path = {kSender, kFirst};
  return forward;
}

Backward answer_of(const Forward& forward) {
  Backward backward;
  backward.cause = forward.cause;
  backward.purpose = forward.purpose;
  backward.sender = forward.path[1];
  return backward;
}

Refusal refusal_of(const Forward& forward, RefusalReason reason) {
  return {forward.cause, forward.path[1], forward.purpose, reason};
}

const Forward& only_forward(const std::vector<Letter>& letters) {
  EXPECT_EQ(letters.size(), 1U);
  return std::get<Forward>(letters.at(0).body);
}

Missing missing_of(std::vector<MicrobatchId> microbatches) {
  Missing missing;
  missing.order.stage = StageId{1};
  missing.upstream = kSender;
  missing.microbatches = std::move(microbatches);
  return missing;
}

TEST(RequestTable, ATimeoutAsksTheSameHop) {
  Table t;
  EXPECT_EQ(only_forward(t.add(forward_of(0))).path[1], kFirst);
  EXPECT_TRUE(t.after(900ms).empty());
  const auto asked = t.after(200ms);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Ask>(asked[0].body));
  EXPECT_EQ(asked[0].to.incarnation, kFirst);
}

TEST(RequestTable, WorkingWaitsOnAndUnknownGetsTheSameForwardAgain) {
  Table t;
  (void)t.add(forward_of(0));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(std::holds_alternative<Ask>(t.after(40s).at(0).body)) << "an answered Ask must not count as silence";
    EXPECT_TRUE(t.table.ask_answered(kSender, {forward_of(0).cause, kFirst, Purpose::kTrain, AskState::kWorking}, t.now)
                    .empty());
  }
  const auto again =
      t.table.ask_answered(kSender, {forward_of(0).cause, kFirst, Purpose::kTrain, AskState::kUnknown}, t.now);
  EXPECT_EQ(only_forward(again).path, forward_of(0).path);
  EXPECT_EQ(only_forward(again).cause.attempt, 1U);
}

// On a slow way several Asks wait behind the Forward; when it is lost, each is answered with `unknown`.
TEST(RequestTable, OneLossIsMendedOnceHoweverManyAsksTellOfIt) {
  Table t;
  (void)t.add(forward_of(0));
  std::vector<Ask> asks;
  for (int i = 0; i < 3; ++i) asks.push_back(std::get<Ask>(t.after(40s).at(0).body));
  std::size_t sent = 0;
  for (const Ask& ask : asks) {
    sent += t.table.ask_answered(kSender, {ask.cause, kFirst, Purpose::kTrain, AskState::kUnknown}, t.now).size();
  }
  EXPECT_EQ(sent, 1U);
  const Ask next = std::get<Ask>(t.after(40s).at(0).body);
  EXPECT_EQ(t.table.ask_answered(kSender, {next.cause, kFirst, Purpose::kTrain, AskState::kUnknown}, t.now).size(), 1U);
}

TEST(RequestTable, ThreeUnansweredAsksReplaceOnlyTheFailedHop) {
  Table t;
  (void)t.add(forward_of(0));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::holds_alternative<Ask>(t.after(40s).at(0).body));
  const auto sent = t.after(40s);
  EXPECT_THAT(only_forward(sent).path, testing::ElementsAre(kSender, kSecond));
  EXPECT_EQ(sent[0].to.incarnation, kSecond);
}

// While it computes, a replica answers nothing, and its router's link is as good as ever.
TEST(RequestTable, AHopWithAGoodLinkIsAskedForLongBeforeItIsReplaced) {
  Table t;
  const auto linked = [](Incarnation) { return true; };
  (void)t.add(forward_of(0));
  int asks = 0;
  for (Duration waited{}; waited < 59s; waited += 100ms) {
    for (const Letter& letter : t.table.tick(t.now += 100ms, linked)) {
      ASSERT_TRUE(std::holds_alternative<Ask>(letter.body)) << "after " << milliseconds(waited) << " ms";
      ++asks;
    }
  }
  EXPECT_GE(asks, 3);
  EXPECT_THAT(only_forward(t.table.tick(t.now += 20s, linked)).path, testing::ElementsAre(kSender, kSecond));
}

// On a slow way it is the turn of one after the other, and what is said of one holds for those behind it.
TEST(RequestTable, AHopWithAGoodLinkIsKeptWhileItAnswersForOthers) {
  Table t;
  const auto linked = [](Incarnation) { return true; };
  (void)t.add(forward_of(0));
  (void)t.add(forward_of(1));
  for (Duration waited{}; waited < 300s; waited += 100ms) {
    for (const Letter& letter : t.table.tick(t.now += 100ms, linked)) {
      ASSERT_TRUE(std::holds_alternative<Ask>(letter.body)) << "after " << milliseconds(waited) << " ms";
    }
    (void)t.table.ask_answered(kSender, {forward_of(0).cause, kFirst, Purpose::kTrain, AskState::kWorking}, t.now);
  }
  std::size_t replaced = 0;
  for (Duration waited{}; waited < 70s; waited += 100ms) {
    for (const Letter& letter : t.table.tick(t.now += 100ms, linked)) {
      replaced += std::holds_alternative<Forward>(letter.body) ? 1 : 0;
    }
  }
  EXPECT_EQ(replaced, 2U) << "the control: then it says nothing";
}

// A replica that takes its time: one microbatch after the other, and answers to Asks only between two of them.
struct SlowHop {
  explicit SlowHop(Duration of_each) : pace(of_each) {}

  Table t;
  Duration pace;
  std::vector<Forward> queue;
  std::vector<Ask> asks;
  std::size_t answered = 0;
  Instant done_at{};

  void receive(const std::vector<Letter>& letters) {
    for (const Letter& letter : letters) {
      if (const auto* ask = std::get_if<Ask>(&letter.body)) asks.push_back(*ask);
      if (const auto* forward = std::get_if<Forward>(&letter.body)) queue.push_back(*forward);
    }
  }
  void compute() {
    if (queue.empty() || t.now < done_at) return;
    t.table.answered(kSender, answer_of(queue.front()), t.now);
    queue.erase(queue.begin());
    ++answered;
    done_at = t.now + pace;
    for (const Ask& ask : std::exchange(asks, {})) {
      const AskAnswer answer{ask.cause, kFirst, Purpose::kTrain, AskState::kWorking};
      receive(t.table.ask_answered(kSender, answer, t.now));
    }
  }
  // Eight microbatches at once.
  void run(const std::function<bool(Incarnation)>& is_linked) {
    done_at = t.now + pace;
    for (std::uint32_t i = 0; i < 8; ++i) receive(t.add(forward_of(i)));
    for (Duration waited{}; waited < 12 * pace && answered < 8; waited += 100ms) {
      receive(t.table.tick(t.now += 100ms, is_linked));
      compute();
    }
  }
};

TEST(RequestTable, NothingOfASlowHopIsComputedTwice) {
  for (const Duration pace : {3s, 9s, 25s}) {
    SlowHop hop(pace);
    hop.run([](Incarnation) { return true; });
    EXPECT_EQ(hop.answered, 8U);
    EXPECT_GT(hop.t.table.counts().asked, 0U) << "it took longer than the first time-out";
    EXPECT_EQ(hop.t.table.counts().rerouted + hop.t.table.counts().sent_again, 0U);
  }
  SlowHop unlinked(25s);
  unlinked.run([](Incarnation) { return false; });
  EXPECT_GT(unlinked.t.table.counts().rerouted, 0U) << "the control: without a link its silence counts";
}

TEST(RequestTable, TypedRefusalsReplaceTheHopAndPassingOnesWaitForIt) {
  for (const auto reason : {RefusalReason::kNotMember, RefusalReason::kUnknownReplica, RefusalReason::kFenced}) {
    Table t;
    (void)t.add(forward_of(0));
    EXPECT_EQ(only_forward(t.table.refused(kSender, refusal_of(forward_of(0), reason), t.now)).path[1], kSecond);
  }
  for (const auto reason : {RefusalReason::kFrozen, RefusalReason::kStepNotReached, RefusalReason::kBusy}) {
    Table t;
    (void)t.add(forward_of(0));
    EXPECT_FALSE(t.table.has_retries());
    EXPECT_TRUE(t.table.refused(kSender, refusal_of(forward_of(0), reason), t.now).empty());
    EXPECT_TRUE(t.table.has_retries());
    EXPECT_EQ(only_forward(t.after(600ms)).path[1], kFirst) << to_text(reason);
    EXPECT_FALSE(t.table.has_retries());
  }
}

TEST(RequestTable, ARefusalOfAnEarlierAttemptChangesNothing) {  // P-13
  for (const auto reason : {RefusalReason::kFenced, RefusalReason::kNotMember, RefusalReason::kUnknownReplica,
                            RefusalReason::kFrozen, RefusalReason::kStepCommitted}) {
    Table t;
    const Forward first = only_forward(t.add(forward_of(0)));
    const Forward repeated = only_forward(t.table.missing(missing_of({MicrobatchId{0}}), t.now));
    EXPECT_TRUE(t.table.refused(kSender, refusal_of(first, reason), t.now).empty()) << to_text(reason);
    EXPECT_FALSE(t.table.has_retries()) << to_text(reason);
    EXPECT_TRUE(std::holds_alternative<Ask>(t.after(40s).at(0).body)) << "the repeat waits for its answer";
    (void)t.table.refused(kSender, refusal_of(repeated, RefusalReason::kBusy), t.now);
    EXPECT_TRUE(t.table.has_retries()) << "the control: its own refusal counts";
  }
}

TEST(RequestTable, InAStageThatStaysFrozenTheHolderIsLookedFor) {  // P-6
  Table t;
  (void)t.add(forward_of(0));
  Forward last = forward_of(0);
  for (int refusal = 0; refusal < 3; ++refusal) {
    (void)t.table.refused(kSender, refusal_of(last, RefusalReason::kFrozen), t.now);
    last = only_forward(t.after(600ms));
    EXPECT_EQ(last.path[1], kFirst) << "it may open again";
  }
  for (const Incarnation next : {kSecond, kFirst}) {
    (void)t.table.refused(kSender, refusal_of(last, RefusalReason::kFrozen), t.now);
    last = only_forward(t.after(600ms));
    EXPECT_EQ(last.path[1], next);
  }
}

TEST(RequestTable, TwoRefusingReplicasMakeNoStorm) {
  Table t;
  (void)t.add(forward_of(0));
  std::size_t sent = 0;
  Forward last = forward_of(0);
  for (int i = 0; i < 1000; ++i) {
    auto letters = t.table.refused(kSender, refusal_of(last, RefusalReason::kFenced), t.now);
    if (letters.empty()) letters = t.after(1ms);
    if (letters.empty()) continue;
    ++sent;
    last = only_forward(letters);
  }
  EXPECT_LT(sent, 20U) << "in one second";
}

TEST(RequestTable, StepCommittedIsLeftToTheJournal) {
  Table t;
  (void)t.add(forward_of(0));
  (void)t.table.refused(kSender, refusal_of(forward_of(0), RefusalReason::kStepCommitted), t.now);
  EXPECT_TRUE(t.after(1h).empty());
  EXPECT_EQ(t.table.size(), 1U);
  (void)t.commit(0);
  EXPECT_EQ(t.table.size(), 0U);
}

TEST(RequestTable, P11KeepsAnsweredForwardsUntilTheCommitAndRemoveSendsThemElsewhere) {
  Table t;
  for (std::uint32_t i = 0; i < 4; ++i) {
    (void)t.add(forward_of(i));
    if (i % 2 == 0) t.table.answered(kSender, answer_of(forward_of(i)), t.now);
  }
  const auto sent = t.follow(RemoveReplica{StageId{1}, kFirst, "gone"});
  ASSERT_EQ(sent.size(), 4U) << "answered or not";
  for (const Letter& letter : sent) EXPECT_EQ(letter.to.incarnation, kSecond);
  (void)t.commit(0);
  EXPECT_EQ(t.table.size(), 0U);
  EXPECT_TRUE(t.follow(RemoveReplica{StageId{1}, kSecond, "gone"}).empty());
}

// The sender of the Forward drops that answer (P-10), and goes on waiting.
TEST(RequestTable, AnAnswerOfOneThatWasRemovedAnswersNothing) {
  Table t;
  (void)t.add(forward_of(0));
  Forward sent = only_forward(t.follow(RemoveReplica{StageId{1}, kFirst, "gone"}));
  ASSERT_EQ(sent.path[1], kSecond);
  t.table.answered(kSender, answer_of(forward_of(0)), t.now);
  EXPECT_EQ(t.table.unanswered_count(), 1U);
  (void)t.table.refused(kSender, refusal_of(sent, RefusalReason::kFrozen), t.now);
  sent = only_forward(t.after(600ms));
  EXPECT_EQ(sent.path[1], kSecond);
  t.table.answered(kSender, answer_of(sent), t.now);
  EXPECT_EQ(t.table.unanswered_count(), 0U) << "the control";
}

// The sender may have read of its removal, and dropped its answer, before the router did.
TEST(RequestTable, WithTheRemovalOfWhoAnsweredWhoWasAskedSinceIsAskedAgain) {
  Table t;
  (void)t.add(forward_of(0));
  const auto elsewhere = t.table.refused(kSender, refusal_of(forward_of(0), RefusalReason::kFenced), t.now);
  ASSERT_EQ(only_forward(elsewhere).path[1], kSecond);
  t.table.answered(kSender, answer_of(forward_of(0)), t.now);
  EXPECT_EQ(t.table.unanswered_count(), 0U);
  EXPECT_EQ(only_forward(t.follow(RemoveReplica{StageId{1}, kFirst, "gone"})).path[1], kSecond);
  EXPECT_EQ(t.table.unanswered_count(), 1U);
}

TEST(RequestTable, AStageWithoutReplicasGetsItsForwardsWhenOneIsAdded) {
  Table t;
  (void)t.add(forward_of(0));
  EXPECT_EQ(t.follow(RemoveReplica{StageId{1}, kFirst, "gone"}).size(), 1U);
  EXPECT_TRUE(t.follow(RemoveReplica{StageId{1}, kSecond, "gone"}).empty());
  const auto sent = t.follow(AddReplica{StageId{1}, {}, Incarnation{203}, {}, 0});
  t.now += 1s;
  const auto later = sent.empty() ? t.table.tick(t.now) : sent;
  EXPECT_EQ(only_forward(later).path[1], Incarnation{203});
}

TEST(RequestTable, P17ARepeatOfAMissingSendsNothingTwice) {
  Table t;
  std::vector<Forward> sent;
  for (const std::uint32_t microbatch : {0U, 1U, 2U}) sent.push_back(only_forward(t.add(forward_of(microbatch))));
  t.table.answered(kSender, answer_of(sent[0]), t.now);
  Missing question = missing_of({MicrobatchId{0}, MicrobatchId{1}});
  question.order.epoch = Epoch{Incarnation{9}, 3};
  const auto again = t.table.missing(question, t.now);
  ASSERT_EQ(again.size(), 2U) << "answered or not: the answer may be lost with who gave it";
  t.table.answered(kSender, answer_of(std::get<Forward>(again[1].body)), t.now);
  question.microbatches.push_back(MicrobatchId{2});
  EXPECT_EQ(only_forward(t.table.missing(question, t.now)).cause.microbatch, MicrobatchId{2}) << "it was frozen before";
  question.order.epoch = Epoch{Incarnation{9}, 5};
  EXPECT_EQ(t.table.missing(question, t.now).size(), 3U) << "the manifests of another epoch lack them";
}

TEST(RequestTable, MissingSendsAgainAnsweredOrNotAndOnlyThoseOfThatRequester) {
  Table t;
  for (std::uint32_t i = 0; i < 3; ++i) (void)t.add(forward_of(i));
  t.table.answered(kSender, answer_of(forward_of(0)), t.now);
  EXPECT_EQ(t.table.missing(missing_of({MicrobatchId{0}, MicrobatchId{1}, MicrobatchId{9}}), t.now).size(), 2U);
  Missing others = missing_of({MicrobatchId{0}});
  others.upstream = Incarnation{101};
  EXPECT_TRUE(t.table.missing(others, t.now).empty());
}

TEST(RequestTable, TheTimeoutFollowsTheMeasuredHop) {
  Table t;
  EXPECT_EQ(t.table.timeout_of(kFirst), Duration(1s)) << "the floor";
  (void)t.add(forward_of(0));
  t.now += 900ms;
  t.table.answered(kSender, answer_of(forward_of(0)), t.now);
  EXPECT_EQ(t.table.timeout_of(kFirst), Duration(3600ms));
}

// Otherwise every loss would lengthen the time-out by which the next loss is found.
TEST(RequestTable, AnAnswerFetchedByAnAskIsNoMeasurement) {
  Table t;
  (void)t.add(forward_of(0));
  (void)t.after(2s);
  t.table.answered(kSender, answer_of(forward_of(0)), t.now);
  EXPECT_EQ(t.table.timeout_of(kFirst), Duration(1s));
}

// Otherwise a lost Forward would be missed only after four times the pause.
TEST(RequestTable, APauseOfThisProcessIsNoMeasurement) {
  for (const bool is_stopped : {true, false}) {
    Table t(RequestLimits{.floor = 60s, .ceiling = 60s});
    (void)t.after(100ms);
    (void)t.add(forward_of(0));
    for (int i = 0; i < 100 && !is_stopped; ++i) (void)t.after(200ms);
    if (is_stopped) t.now += 20s;
    t.table.answered(kSender, answer_of(forward_of(0)), t.now);
    EXPECT_EQ(t.table.timeout_of(kFirst), Duration(is_stopped ? 60s : 80s));
  }
}

// The answer to a long microbatch finds an open Ask too; its trail says how long the work was.
TEST(RequestTable, TheTimeoutFollowsALongMicrobatchByItsTrail) {
  Table t;
  (void)t.add(forward_of(0));
  (void)t.after(2s);
  t.now += 8s;
  Backward answer = answer_of(forward_of(0));
  answer.trail = {Hop{kFirst, 1000, 6000, 500}};
  t.table.answered(kSender, answer, t.now);
  EXPECT_EQ(t.table.timeout_of(kFirst), Duration(30s));
}

TEST(RequestTable, ARequesterCannotHoldMoreThanItsBound) {
  RequestLimits limits;
  limits.entries_per_requester_max = 3;
  Table t(limits);
  for (std::uint32_t i = 0; i < 5; ++i) (void)t.add(forward_of(i));
  EXPECT_EQ(t.table.size(), 3U);
  EXPECT_EQ(t.table.counts().refused, 2U);
}

TEST(RequestTable, AnEvaluationIsForgottenWithItsAnswerAndANewBranchForgetsAll) {
  Table t;
  Forward evaluation = forward_of(0);
  evaluation.purpose = Purpose::kEvaluate;
  (void)t.add(evaluation);
  (void)t.add(forward_of(0));
  t.table.answered(kSender, answer_of(evaluation), t.now);
  EXPECT_EQ(t.table.size(), 1U);
  (void)t.table.follow({JournalPosition{++t.position}, Branch{1}, Term{1}, AddReplica{StageId{0}, {}, kSender, {}, 0}},
                       t.now);
  EXPECT_EQ(t.table.size(), 0U);
}

// A hop that loses, refuses and forgets at random: every microbatch is answered in the end, always by a member, and a
// hop that lives and answers its Asks is never left. The control: without ticks nothing would be answered.
TEST(RequestTable, ForgetsWhatItAskedBeforeTheJournalWentOnWithoutIt) {
  Table t;
  (void)t.add(forward_of(0));
  View past = t.table.view();
  past.apply({JournalPosition{4}, Branch{}, Term{1}, RemoveReplica{StageId{1}, kFirst, "lost"}});
  t.table.begin_at(past);
  t.position = 4;
  EXPECT_EQ(t.table.size(), 0U);
  EXPECT_TRUE(t.after(40s).empty());
  EXPECT_FALSE(t.table.view().contains(kFirst));
  EXPECT_TRUE(t.follow(AppointGroup{StageId{1}, Incarnation{9}}).empty());
  EXPECT_EQ(t.add(forward_of(1)).size(), 1U) << "what is asked from there on is as ever";
}

struct LossyRun {
  std::mt19937_64 random;
  Table t;
  std::set<std::pair<std::uint64_t, std::uint32_t>> received;  // (replica, microbatch)
  std::set<std::uint32_t> answered;

  explicit LossyRun(std::uint64_t seed) : random(seed) {}
  bool chance(double p) { return std::bernoulli_distribution(p)(random); }

  void carry(std::vector<Letter> letters) {
    for (const Letter& letter : letters) {
      if (chance(0.4)) continue;
      ASSERT_TRUE(t.table.view().contains(letter.to.incarnation));
      if (const auto* forward = std::get_if<Forward>(&letter.body)) {
        receive(*forward);
      } else {
        answer(std::get<Ask>(letter.body), letter.to.incarnation);
      }
    }
  }
  void receive(const Forward& forward) {
    if (chance(0.1)) return carry(t.table.refused(kSender, refusal_of(forward, RefusalReason::kFrozen), t.now));
    received.insert({forward.path[1].value, forward.cause.microbatch.value});
    if (chance(0.4)) return;
    answered.insert(forward.cause.microbatch.value);
    t.table.answered(kSender, answer_of(forward), t.now);
  }
  void answer(const Ask& ask, Incarnation hop) {
    const bool has_it = received.contains({hop.value, ask.cause.microbatch.value});
    if (has_it && chance(0.5)) {
      Forward forward = forward_of(ask.cause.microbatch.value);
      forward.path[1] = hop;
      answered.insert(ask.cause.microbatch.value);
      return t.table.answered(kSender, answer_of(forward), t.now);
    }
    const AskState state = has_it ? AskState::kWorking : AskState::kUnknown;
    carry(t.table.ask_answered(kSender, {ask.cause, hop, Purpose::kTrain, state}, t.now));
  }
};

TEST(RequestTable, UnderRandomLossEveryMicrobatchIsAnsweredInTheEnd) {
  for (int round = 0; round < 50; ++round) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    LossyRun run(seed);
    for (std::uint32_t i = 0; i < 32; ++i) run.carry(run.t.add(forward_of(i)));
    EXPECT_LT(run.answered.size(), 32U) << "the loss must bite, or this test shows nothing";
    if (round % 2 == 0) run.carry(run.t.follow(RemoveReplica{StageId{1}, kFirst, "gone"}));
    for (int i = 0; i < 4000 && run.t.table.unanswered_count() > 0; ++i) run.carry(run.t.after(100ms));
    EXPECT_EQ(run.t.table.unanswered_count(), 0U);
    EXPECT_EQ(run.answered.size(), 32U);
    EXPECT_EQ(run.t.table.size(), 32U) << "P-11";
  }
}

TEST(RequestTable, ForgetsWhatIsQuarantined) {
  Table table;
  (void)table.add(forward_of(2));
  (void)table.add(forward_of(3));
  (void)table.follow(Quarantine{StepId{0}, MicrobatchId{2}, "it ends whoever computes it"});
  EXPECT_EQ(table.table.size(), 1U);
  EXPECT_TRUE(table.add(forward_of(2)).empty()) << "and takes it no more";
  EXPECT_EQ(table.table.size(), 1U);
  EXPECT_EQ(table.after(2s).size(), 1U) << "the other one is asked for";
}

}  // namespace
}  // namespace shoal::request_table_test
