// The data loader's decisions: credits, one step at a time, evaluations between steps, hints, restarts.
#include "runtime/pipeline/dispatch.h"

#include <random>

#include <gmock/gmock.h>

#include "tests/runtime/pipeline/loader_bench.h"

namespace shoal::dispatch_test {
namespace {

using namespace std::chrono_literals;
using Loader = LoaderBench;

std::map<Incarnation, int> by_first_hop(const std::vector<Forward>& forwards) {
  std::map<Incarnation, int> count;
  for (const Forward& forward : forwards) ++count[forward.path.at(0)];
  return count;
}

TEST(DataLoaderCore, SendsNothingBeforeEveryStageIsServed) {
  Loader loader;
  loader.add(0, 1);
  loader.tick(10s);
  loader.tick(10s);
  EXPECT_TRUE(loader.out.empty());
}

TEST(DataLoaderCore, AsksForHoldersFirstAndSendsToThem) {
  Loader loader;
  loader.add_two_and_two();
  loader.tick();
  EXPECT_EQ(loader.drain<AskHolders>().size(), 2U);
  loader.take(loader.core->holders({StageId{0}, {}, StepId{0}, {{MicrobatchId{5}, Incarnation{2}}}}, loader.now));
  EXPECT_TRUE(loader.out.empty()) << "one group has not answered";
  loader.take(loader.core->holders({StageId{1}, {}, StepId{0}, {{MicrobatchId{5}, Incarnation{3}}}}, loader.now));
  for (const Forward& forward : loader.answer_all()) {
    if (forward.cause.microbatch == MicrobatchId{5}) {
      EXPECT_THAT(forward.path, testing::ElementsAre(Incarnation{2}, Incarnation{3}));
    }
  }
}

TEST(DataLoaderCore, EveryPolicyFinishesItsStepsAlsoWhenAReplicaIsRemoved) {
  for (const Routing routing : {Routing::kStatic, Routing::kUniform, Routing::kIwrr, Routing::kCostToGo}) {
    Loader loader;
    loader.config.routing = routing;
    loader.restart();
    loader.begin();
    EXPECT_EQ(loader.answer_all().size(), 8U);
    loader.commit(0);
    const auto sent = loader.drain<Forward>();
    loader.follow(RemoveReplica{StageId{0}, Incarnation{1}, "test"});
    std::set<MicrobatchId> answered;
    for (const Forward& forward : sent) loader.answer(forward), answered.insert(forward.cause.microbatch);
    for (const Forward& forward : loader.answer_all()) answered.insert(forward.cause.microbatch);
    EXPECT_EQ(answered.size(), 8U);
  }
}

TEST(DataLoaderCore, SaysWhyAPathWasTaken) {
  Loader loader;
  loader.config.routing = Routing::kCostToGo;
  loader.restart();
  loader.begin();
  ASSERT_FALSE(loader.drain<Forward>().empty());
  EXPECT_EQ(loader.core->reason_of(MicrobatchId{0}, 1), "done soonest");
  EXPECT_EQ(loader.core->reason_of(MicrobatchId{0}, 7), "");
  Loader other;
  other.begin();
  EXPECT_EQ(other.core->reason_of(MicrobatchId{0}, 0), "") << "iwrr says nothing";
}

// P-14: whatever it sends before is computed twice.
TEST(DataLoaderCore, WaitsForWhoAnswersBehindALongPieceOfWork) {
  Loader loader;
  loader.config.holders_timeout = DataLoaderConfig{}.holders_timeout;
  loader.restart();
  loader.begin();
  for (int i = 0; i < 60; ++i) loader.tick(1s);
  EXPECT_TRUE(loader.drain<Forward>().empty());
  for (const std::uint32_t stage : {0U, 1U}) {
    loader.take(loader.core->holders({StageId{stage}, {}, StepId{0}, {}}, loader.now));
  }
  EXPECT_FALSE(loader.drain<Forward>().empty());
}

// The router drops what comes for a group before that is there.
TEST(DataLoaderCore, P14AQuestionThatWasLostIsPutAgainToWhoHasNotAnswered) {
  Loader loader;
  loader.config.holders_timeout = DataLoaderConfig{}.holders_timeout;
  loader.restart();
  loader.add_two_and_two();
  loader.tick();
  EXPECT_EQ(loader.drain<AskHolders>().size(), 2U);
  loader.take(loader.core->holders({StageId{0}, {}, StepId{0}, {}}, loader.now));
  loader.tick(1s);
  EXPECT_TRUE(loader.drain<AskHolders>().empty());
  loader.tick(1s);
  const auto again = loader.drain<AskHolders>();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].stage, StageId{1});
  loader.take(loader.core->holders({StageId{1}, {}, StepId{0}, {}}, loader.now));
  EXPECT_FALSE(loader.drain<Forward>().empty());
}

TEST(DataLoaderCore, AsksAGroupAnewThatIsAppointedWhileItAwaitsItsAnswer) {
  Loader loader;
  loader.add_two_and_two();
  loader.tick();
  (void)loader.drain<AskHolders>();
  loader.take(loader.core->holders({StageId{0}, {}, StepId{0}, {}}, loader.now));
  loader.follow(AppointGroup{StageId{0}, Incarnation{9}});
  EXPECT_TRUE(loader.out.empty()) << "its predecessor has answered";
  loader.follow(AppointGroup{StageId{1}, Incarnation{10}});
  const auto questions = loader.drain<AskHolders>();
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_EQ(questions[0].stage, StageId{1});
}

TEST(DataLoaderCore, NeverExceedsTheCreditsOfAReplicaOfTheFirstStage) {
  Loader loader;
  loader.begin();
  const auto first = loader.drain<Forward>();
  EXPECT_EQ(first.size(), 6U);
  for (const auto& [replica, count] : by_first_hop(first)) EXPECT_EQ(count, 3) << replica;
  loader.answer(first[0]);
  EXPECT_EQ(loader.drain<Forward>().size(), 1U);
}

Forward along(Forward forward, std::uint64_t first, std::uint64_t second) {
  forward.path = {Incarnation{first}, Incarnation{second}};
  return forward;
}

// As after a restart: the router still has the paths of before.
TEST(DataLoaderCore, WhoAnswersOthersIsNotBannedForAPathThatTheRouterHadAlready) {
  Loader loader;
  loader.begin();
  for (auto sent = loader.drain<Forward>(); !sent.empty(); sent = loader.drain<Forward>()) {
    for (const Forward& forward : sent) {
      const auto kept = std::exchange(loader.out, {});
      loader.answer(along(forward, 3 - forward.path[0].value, 7 - forward.path[1].value));
      loader.out.insert(loader.out.begin(), kept.begin(), kept.end());
    }
  }
  loader.commit(0);
  const auto next = loader.drain<Forward>();
  EXPECT_EQ(next.size(), 6U) << "both of the first stage have credits";
  EXPECT_EQ(by_first_hop(next).size(), 2U);
}

TEST(DataLoaderCore, WhoAnswersNothingIsBanned) {
  Loader loader;
  loader.begin();
  for (auto sent = loader.drain<Forward>(); !sent.empty(); sent = loader.drain<Forward>()) {
    for (const Forward& forward : sent) {
      const auto kept = std::exchange(loader.out, {});
      loader.answer(along(forward, 1, forward.path[1].value));
      loader.out.insert(loader.out.begin(), kept.begin(), kept.end());
    }
  }
  loader.commit(0);
  EXPECT_EQ(by_first_hop(loader.drain<Forward>()), (std::map<Incarnation, int>{{Incarnation{1}, 3}}));
}

TEST(DataLoaderCore, SaysAllAnsweredUntilTheCommitAndThenPlansTheNextStep) {
  Loader loader;
  loader.begin();
  EXPECT_EQ(loader.answer_all().size(), 8U);
  loader.out.clear();
  loader.tick(10s);
  EXPECT_EQ(loader.drain<AllAnswered>().size(), 2U) << "one per stage";
  loader.commit(0);
  const auto next = loader.drain<Forward>();
  ASSERT_EQ(next.size(), 6U);
  EXPECT_EQ(next[0].cause.step, StepId{1});
  EXPECT_EQ(next[0].weights_version, 1U);
}

CommitRound losing(const std::vector<std::uint64_t>& places, std::uint64_t from) {
  CommitRound round{StageId{0}, StepId{1}, {0, 1}, {}, 0, {}, 0};
  for (const std::uint64_t place : places) round.lost.push_back(PlaceId{place});
  round.trained_again_from = PlaceId{from};
  return round;
}

using Samples = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

// Every loader reads the same journal, so it does not matter which one plans.
TEST(DataLoaderCore, LostSamplesTakeTheFirstPlacesOfTheStepAfterTheOneInProgress) {
  Loader loader;
  loader.begin();
  (void)loader.answer_all();
  loader.commit(0);
  loader.samples.asked.clear();
  loader.follow(losing({3, 6}, 16));
  (void)loader.answer_all();
  EXPECT_EQ(loader.samples.asked.size(), 2U);
  for (const auto& [step, microbatch] : loader.samples.asked) EXPECT_EQ(step, 1U) << "step 1 is under way";
  loader.samples.asked.clear();
  loader.commit(1);
  const auto sent = loader.answer_all();
  const Samples expected{{0, 3}, {0, 6}, {2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {2, 5}};
  EXPECT_EQ(loader.samples.asked, expected);
  ASSERT_EQ(sent.size(), 8U);
  EXPECT_EQ(sent[0].cause.step, StepId{2}) << "under new ids";
  EXPECT_EQ(sent[0].cause.microbatch, MicrobatchId{0});
  loader.samples.asked.clear();
  loader.commit(2);
  (void)loader.answer_all();
  EXPECT_EQ(loader.samples.asked.front(), (Samples::value_type{2, 6})) << "the order of the data goes on";
}

TEST(DataLoaderCore, OneThatIsStartedLatePlansLostSamplesByTheViewItIsGiven) {
  Loader first;
  first.add_two_and_two();
  first.commit(0);
  first.follow(losing({3, 6}, 16));
  View past;
  const auto apply = [&past](JournalBody body) {
    past.apply({JournalPosition{past.position().value + 1}, {}, Term{1}, std::move(body)});
  };
  for (std::uint64_t replica = 1; replica <= 4; ++replica) {
    apply(AddReplica{StageId{replica > 2 ? 1U : 0U}, {}, Incarnation{replica}, {}, 0});
  }
  Commit commit;
  apply(commit);
  apply(losing({3, 6}, 16));
  Loader late;
  late.core->begin_at(past);
  late.position = first.position;
  for (Loader* loader : {&first, &late}) {
    loader->commit(1);
    loader->tick(), loader->tick(1s);
    (void)loader->answer_all();
    EXPECT_EQ(loader->samples.asked.front(), (Samples::value_type{0, 3}));
  }
  EXPECT_EQ(first.samples.asked, late.samples.asked);
}

TEST(DataLoaderCore, MissingTakesTheHintBack) {
  Loader loader;
  loader.begin();
  (void)loader.answer_all();
  loader.out.clear();
  Missing missing;
  missing.microbatches = {MicrobatchId{2}};
  loader.core->missing(missing, loader.now);
  loader.tick(10s);
  EXPECT_TRUE(loader.drain<AllAnswered>().empty());
}

TEST(DataLoaderCore, EvaluatesBetweenStepsAndSendsNoTrainingMeanwhile) {
  Loader loader;
  loader.config.evaluate_every = 1;
  loader.restart();
  loader.begin();
  (void)loader.answer_all();
  loader.out.clear();
  loader.commit(0);
  const auto evaluation = loader.drain<Forward>();
  ASSERT_EQ(evaluation.size(), 2U);
  for (const Forward& forward : evaluation) {
    EXPECT_EQ(forward.purpose, Purpose::kEvaluate);
    EXPECT_EQ(forward.weights_version, 1U);
    loader.answer(forward);
  }
  const auto results = std::exchange(loader.out, {});
  std::size_t told = 0;
  std::size_t trained = 0;
  for (const Letter& letter : results) {
    if (const auto* result = std::get_if<EvaluationResult>(&letter.body)) {
      ++told;
      EXPECT_EQ(*result, (EvaluationResult{{}, 1, 4, 2, 200, false, 4, 4}));
    }
    if (std::holds_alternative<Forward>(letter.body)) ++trained;
  }
  EXPECT_EQ(told, 2U) << "metrics and supervisor";
  EXPECT_EQ(trained, 6U) << "then the next step at once";
}

TEST(DataLoaderCore, GivesUpAPeriodicEvaluationThatNobodyAnswers) {
  Loader loader;
  loader.config.evaluate_every = 1;
  loader.restart();
  loader.begin();
  (void)loader.answer_all();
  loader.commit(0);
  loader.out.clear();
  loader.tick(1min);
  EXPECT_TRUE(loader.drain<RunEvent>().empty());
  loader.tick(2min);
  EXPECT_EQ(loader.core->evaluations_given_up(), 1U);
  EXPECT_EQ(loader.drain<Forward>().at(0).purpose, Purpose::kTrain);
}

// Replicas answer it when the round is agreed and applied, however long its sum takes.
TEST(DataLoaderCore, GivesUpNoEvaluationThatWaitsForARound) {
  for (const bool is_due : {true, false}) {
    SyncConfig sync;
    sync.mode = SyncMode::kDiloco;
    sync.H = is_due ? 1 : 2;
    Loader loader;
    loader.config.evaluate_every = 1;
    loader.config.rounds.emplace(sync);
    loader.restart();
    loader.begin();
    (void)loader.answer_all();
    loader.commit(0);
    for (int minute = 0; minute < 20; ++minute) loader.tick(1min);
    EXPECT_EQ(loader.core->evaluations_given_up(), is_due ? 0U : 1U);
    if (!is_due) continue;
    loader.follow(CommitRound{StageId{0}, StepId{1}, {0, 1}, {}, 0, {}, 0});
    loader.tick(5min);
    EXPECT_EQ(loader.core->evaluations_given_up(), 0U) << "the other stage has not agreed on it";
    loader.follow(CommitRound{StageId{1}, StepId{1}, {0, 1}, {}, 0, {}, 0});
    loader.tick(1min);
    EXPECT_EQ(loader.core->evaluations_given_up(), 0U);
    loader.tick(1min);
    EXPECT_EQ(loader.core->evaluations_given_up(), 1U) << "patience counts again";
  }
}

TEST(DataLoaderCore, AtTheTargetEvaluatesCompletelyAndPlansNoMore) {
  Loader loader(1);
  loader.begin();
  (void)loader.answer_all();
  loader.out.clear();
  loader.commit(0);
  const auto sent = loader.drain<Forward>();
  ASSERT_EQ(sent.size(), 5U);
  for (const Forward& forward : sent) loader.answer(forward);
  const auto results = loader.drain<EvaluationResult>();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_TRUE(results[0].complete);
  EXPECT_EQ(results[0].windows, 10U);
  EXPECT_EQ(results[0].windows_planned, 10U);
  for (int i = 0; i < 100; ++i) loader.tick(10s);
  EXPECT_TRUE(loader.out.empty());
}

// The supervisor waits for the end of it while it comes further, and a person sees that it does.
TEST(DataLoaderCore, SaysHowFarTheLastEvaluationIs) {
  Loader loader(1);
  loader.begin();
  (void)loader.answer_all();
  loader.out.clear();
  loader.commit(0);
  const auto sent = loader.drain<Forward>();
  loader.tick();
  const auto begun = loader.drain<EvaluationResult>();
  ASSERT_EQ(begun.size(), 2U) << "metrics and supervisor";
  EXPECT_EQ(begun[0].windows, 0U);
  EXPECT_EQ(begun[0].windows_planned, 10U);
  loader.tick(11s);
  EXPECT_TRUE(loader.drain<EvaluationResult>().empty()) << "it is nowhere yet";
  loader.answer(sent[0]);
  loader.answer(sent[1]);
  loader.tick(1s);
  ASSERT_EQ(loader.out.size(), 2U);
  EXPECT_EQ(loader.out[0].to, to_metrics());
  EXPECT_EQ(loader.out[1].to, to_supervisor());
  const auto so_far = loader.drain<EvaluationResult>();
  EXPECT_FALSE(so_far[0].complete);
  EXPECT_EQ(so_far[0].token_count, 2U);
  EXPECT_EQ(so_far[0].windows, 4U);
  loader.tick(11s);
  EXPECT_TRUE(loader.drain<EvaluationResult>().empty()) << "it came no further";
}

TEST(DataLoaderCore, ARemovedReplicaGivesItsCreditsToWhoeverTookOver) {
  Loader loader;
  loader.begin();
  const auto sent = loader.drain<Forward>();
  loader.follow(RemoveReplica{StageId{0}, Incarnation{1}, "gone"});
  EXPECT_TRUE(loader.drain<Forward>().empty()) << "its three now count for the survivor, which is over its credits";
  int answered = 0;
  for (const Forward& forward : sent) {
    loader.answer(forward);
    if (++answered < 4) {
      EXPECT_TRUE(loader.drain<Forward>().empty());
    }
  }
  EXPECT_EQ(loader.drain<Forward>().size(), 2U);
}

// Random answers in random order over many steps: credits hold at every moment, each microbatch is answered once, and
// results do not depend on the order of answers.
TEST(DataLoaderCore, KeepsItsCreditsUnderRandomOrder) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Loader loader(20);
  loader.begin();
  std::map<Incarnation, std::uint32_t> in_flight;
  std::vector<Forward> under_way;
  for (std::uint64_t step = 0; step < 20; ++step) {
    std::set<MicrobatchId> seen;
    while (true) {
      for (Forward& forward : loader.drain<Forward>()) {
        EXPECT_TRUE(seen.insert(forward.cause.microbatch).second);
        EXPECT_LE(++in_flight[forward.path[0]], loader.config.credits);
        under_way.push_back(std::move(forward));
      }
      if (under_way.empty()) break;
      std::swap(under_way[random() % under_way.size()], under_way.back());
      --in_flight[under_way.back().path[0]];
      const Forward chosen = std::move(under_way.back());
      under_way.pop_back();
      loader.answer(chosen);
    }
    EXPECT_EQ(seen.size(), 8U);
    if (step + 1 < 20) loader.commit(step);
  }
}

TEST(DataLoaderCore, LeavesOutWhatIsQuarantined) {
  Loader loader;
  loader.begin();
  loader.follow(Quarantine{StepId{0}, MicrobatchId{7}, "not sent yet"});
  const auto sent = loader.answer_all();
  EXPECT_EQ(sent.size(), 7U);
  for (const Forward& forward : sent) EXPECT_NE(forward.cause.microbatch, MicrobatchId{7});
  EXPECT_STREQ(loader.core->state(), "all answered, waiting for the commit");
}

TEST(DataLoaderCore, DoesNotWaitForTheAnswerOfWhatIsQuarantined) {
  Loader loader;
  loader.begin();
  std::optional<Forward> poison;
  for (auto sent = loader.drain<Forward>(); !sent.empty(); sent = loader.drain<Forward>()) {
    for (const Forward& forward : sent) {
      const auto kept = std::exchange(loader.out, {});
      if (forward.cause.microbatch == MicrobatchId{2}) {
        poison = forward;
      } else {
        loader.answer(forward);
      }
      loader.out.insert(loader.out.begin(), kept.begin(), kept.end());
    }
  }
  ASSERT_TRUE(poison);
  EXPECT_STREQ(loader.core->state(), "training");
  loader.follow(Quarantine{StepId{0}, MicrobatchId{2}, "in flight"});
  EXPECT_EQ(loader.drain<AllAnswered>().size(), 2U);
  loader.answer(*poison);
  loader.core->missing({{RunId{}, {}, Term{}, StageId{0}, StepId{0}, {}}, {}, {MicrobatchId{2}}}, loader.now);
  EXPECT_STREQ(loader.core->state(), "all answered, waiting for the commit") << "nothing of it counts any more";
  loader.tick(60s);
  EXPECT_TRUE(loader.drain<Forward>().empty());
}

TEST(DataLoaderCore, AQuarantineOfALaterStepHoldsThere) {
  Loader loader;
  loader.begin();
  loader.follow(Quarantine{StepId{1}, MicrobatchId{4}, "known from another branch"});
  EXPECT_EQ(loader.answer_all().size(), 8U);
  loader.commit(0);
  EXPECT_EQ(loader.answer_all().size(), 7U);
}

TEST(DataLoaderCore, WaitsForATextThatCannotBeReadAndSaysSoOnce) {
  Loader loader;
  loader.samples.unreadable = "the shard a.bin is gone";
  loader.begin();
  for (int i = 0; i < 50; ++i) loader.tick();
  EXPECT_TRUE(loader.samples.asked.empty());
  auto events = loader.drain<RunEvent>();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, RunEventKind::kDataUnreadable);
  EXPECT_EQ(events[0].reason, "the shard a.bin is gone");
  loader.samples.unreadable.reset();
  loader.tick(2s);
  const auto forwards = loader.drain<Forward>();
  EXPECT_EQ(forwards.size(), 6U) << "what the credits allow";
  loader.samples.unreadable = "the shard b.bin is gone";
  for (const Forward& forward : forwards) loader.answer(forward);
  loader.samples.unreadable.reset();
  loader.tick(2s);
  EXPECT_EQ(loader.drain<RunEvent>().size(), 2U) << "gone again, and there again";
}

TEST(DataLoaderCore, SaysThatATextIsReadAgain) {
  Loader loader;
  loader.samples.unreadable = "gone";
  loader.begin();
  loader.samples.unreadable.reset();
  loader.tick(2s);
  const auto events = loader.drain<RunEvent>();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].kind, RunEventKind::kDataReadAgain);
  EXPECT_EQ(loader.answer_all().size(), 0U) << "drained with the events";
}

// The bytes of its targets come with the samples: a validation text of any length keeps no handler busy at the end.
TEST(DataLoaderCore, AnEvaluationEndsWithoutReadingMoreOfItsText) {
  Loader loader(1);
  loader.begin();
  (void)loader.answer_all();
  loader.commit(0);
  const auto windows = loader.drain<Forward>();
  ASSERT_EQ(windows.size(), 5U);
  EXPECT_EQ(loader.samples.evaluations_read, 5);
  loader.samples.unreadable = "gone";
  for (const Forward& forward : windows) loader.answer(forward);
  EXPECT_EQ(loader.samples.evaluations_read, 5);
  const auto results = loader.drain<EvaluationResult>();
  ASSERT_EQ(results.size(), 2U) << "metrics and supervisor";
  EXPECT_TRUE(results[0].complete);
  EXPECT_EQ(results[0].target_bytes, 500U);
  EXPECT_TRUE(loader.drain<RunEvent>().empty());
}

// One that is sent again is read again, and counts once.
TEST(DataLoaderCore, AnEvaluationCountsTheBytesOfARepeatedMicrobatchOnce) {
  Loader loader(1);
  loader.begin();
  (void)loader.answer_all();
  loader.commit(0);
  const auto windows = loader.drain<Forward>();
  loader.tick(1min);
  EXPECT_EQ(loader.samples.evaluations_read, 10);
  for (const Forward& forward : windows) loader.answer(forward);
  const auto results = loader.drain<EvaluationResult>();
  ASSERT_FALSE(results.empty());
  EXPECT_TRUE(results.back().complete);
  EXPECT_EQ(results.back().target_bytes, 500U);
}

}  // namespace
}  // namespace shoal::dispatch_test
