// Which stages of a process start, wait, end, and what is told of those that ended.
#include "runtime/node/hosted_stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "runtime/base/compose.h"

namespace shoal::hosted_stages_test {
namespace {

using namespace std::chrono_literals;

constexpr RunId kRun{9};

SpawnStage order_for(std::uint64_t replica, std::uint32_t branch = 0) {
  return {StageId{1}, ReplicaId{0}, Incarnation{replica}, Branch{branch}, 4, 4, false, {}, {}};
}

template <class Effect>
std::vector<Effect> all(const NodeEffects& effects) {
  std::vector<Effect> found;
  for (const NodeEffect& effect : effects) {
    if (const auto* one = std::get_if<Effect>(&effect)) found.push_back(*one);
  }
  return found;
}

StageEnded ended_in(const NodeEffect& effect) { return std::get<StageEnded>(std::get<TellSupervisor>(effect).body); }

struct Hosted {
  std::shared_ptr<WorkNote> note = std::make_shared<WorkNote>();
  HostedStages stages{note};

  // Says if it starts now.
  bool spawn(const SpawnStage& order) {
    const bool starts = !all<StartStage>(stages.spawn(order)).empty();
    if (starts) (void)stages.started(order, kRun);
    return starts;
  }
};

// The order may come again: the spawner does not know which of its letters were lost with a link.
TEST(HostedStages, ANumberStartsOnceHoweverOftenItIsOrdered) {
  Hosted hosted;
  EXPECT_TRUE(hosted.spawn(order_for(31)));
  EXPECT_TRUE(hosted.stages.spawn(order_for(31)).empty()) << "it runs";
  ASSERT_TRUE(hosted.stages.down(Incarnation{31}));
  const NodeEffects again = hosted.stages.spawn(order_for(31));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(ended_in(again[0]).replica, Incarnation{31}) << "whoever asks has not heard of its end";
  EXPECT_TRUE(hosted.spawn(order_for(32)));
}

TEST(HostedStages, AStageOfALaterBranchWaitsForTheEndOfTheEarlierOnes) {
  Hosted hosted;
  EXPECT_TRUE(hosted.spawn(order_for(31)));
  const auto stops = all<StopStage>(hosted.stages.spawn(order_for(41, 1)));
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].replica, Incarnation{31});
  EXPECT_FALSE(stops[0].reason) << "an ordinary end";
  ASSERT_TRUE(hosted.stages.down(Incarnation{31}));
  EXPECT_EQ(hosted.stages.take_next(), std::vector{order_for(41, 1)});
  EXPECT_TRUE(hosted.stages.take_next().empty()) << "once";
}

// A shared device is given several; each may be ordered again meanwhile, and no stage of the old branch may be left.
TEST(HostedStages, SeveralOfALaterBranchWaitTogether) {
  Hosted hosted;
  EXPECT_TRUE(hosted.spawn(order_for(31)));
  EXPECT_TRUE(hosted.spawn(order_for(32)));
  for (const std::uint64_t replica : {42, 41, 42}) EXPECT_FALSE(hosted.spawn(order_for(replica, 1)));
  ASSERT_TRUE(hosted.stages.down(Incarnation{32}));
  for (const SpawnStage& next : hosted.stages.take_next()) EXPECT_FALSE(hosted.spawn(next)) << "31 still runs";
  (void)hosted.stages.end({StageId{1}, Incarnation{43}, "another"});
  ASSERT_TRUE(hosted.stages.down(Incarnation{31}));
  const auto next = hosted.stages.take_next();
  EXPECT_EQ(next, (std::vector{order_for(41, 1), order_for(42, 1)})) << "in order, each once";
  for (const SpawnStage& order : next) EXPECT_TRUE(hosted.spawn(order));
  EXPECT_EQ(hosted.stages.served().size(), 2U);
}

TEST(HostedStages, AnOrderThatWaitsIsWithdrawnByItsEnd) {
  Hosted hosted;
  EXPECT_TRUE(hosted.spawn(order_for(31)));
  (void)hosted.stages.spawn(order_for(41, 1));
  EXPECT_TRUE(hosted.stages.end({StageId{1}, Incarnation{41}, "it is in no view"}).empty());
  ASSERT_TRUE(hosted.stages.down(Incarnation{31}));
  EXPECT_TRUE(hosted.stages.take_next().empty());
}

TEST(HostedStages, EndsTheStageThatIsMeantAndNoOther) {
  Hosted hosted;
  EXPECT_TRUE(hosted.spawn(order_for(31)));
  EXPECT_TRUE(hosted.spawn(order_for(32)));
  const auto stops = all<StopStage>(hosted.stages.end({StageId{1}, Incarnation{31}, "it is in no view"}));
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].replica, Incarnation{31});
  EXPECT_EQ(stops[0].reason, "it is in no view");
  EXPECT_TRUE(hosted.stages.end({StageId{1}, Incarnation{33}, "nobody"}).empty());
}

TEST(HostedStages, TellWhatAReplicaWasComputingWhenItEnded) {
  Hosted hosted;
  hosted.note->begin({kRun, StageId{1}, Incarnation{31}, StepId{4}, MicrobatchId{6}});
  EXPECT_EQ(ended_in(hosted.stages.report_end(order_for(31), "it throws")).computing,
            (ComputedMicrobatch{StepId{4}, MicrobatchId{6}}));
  EXPECT_FALSE(ended_in(hosted.stages.report_end(order_for(31), "it throws")).computing) << "once";
  EXPECT_FALSE(ended_in(hosted.stages.report_end(order_for(32), "it throws")).computing);
}

TEST(HostedStages, TellWithEveryStartWhatTheCrashOfTheLastLifeLeftBehind) {
  const std::string path = testing::TempDir() + "hosted_stages_note";
  {
    WorkNote before(path);
    before.begin({kRun, StageId{1}, Incarnation{31}, StepId{4}, MicrobatchId{6}});
    before.begin({RunId{8}, StageId{1}, Incarnation{32}, StepId{4}, MicrobatchId{6}});
  }
  HostedStages stages(std::make_shared<WorkNote>(path));
  for (const std::uint64_t replica : {41, 42}) {
    const NodeEffects told = stages.started(order_for(replica), kRun);
    ASSERT_EQ(told.size(), 1U) << "of this run alone";
    EXPECT_EQ(ended_in(told[0]).replica, Incarnation{31});
    EXPECT_EQ(ended_in(told[0]).computing, (ComputedMicrobatch{StepId{4}, MicrobatchId{6}}));
  }
}

TEST(HostedStages, EachIsAskedAgainWhenItHasAnswered) {
  Hosted hosted;
  EXPECT_TRUE(hosted.spawn(order_for(31)));
  EXPECT_TRUE(hosted.spawn(order_for(32)));
  const Instant now = Instant{} + 1h;
  EXPECT_EQ(all<AskStage>(hosted.stages.ask(now)).size(), 2U);
  EXPECT_TRUE(hosted.stages.ask(now + 1s).empty());
  hosted.stages.answered(Incarnation{32}, 10, 20ms);
  const auto asked = all<AskStage>(hosted.stages.ask(now + 2s));
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].replica, Incarnation{32});
}

// Orders as a supervisor may give them: rising numbers and branches, with repeats, while stages end at any moment.
TEST(HostedStages, NoNumberStartsTwiceAndNoTwoBranchesRunTogether) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  Hosted hosted;
  std::map<Incarnation, SpawnStage> running;
  std::set<Incarnation> started;
  std::vector<SpawnStage> orders;
  std::uint32_t branch = 0;
  const auto start = [&](const SpawnStage& order) {
    if (!hosted.spawn(order)) return;
    EXPECT_TRUE(started.insert(order.replica).second) << order.replica.value;
    running[order.replica] = order;
    EXPECT_TRUE(std::ranges::all_of(running, [&](const auto& one) { return one.second.branch >= order.branch; }));
  };
  for (std::uint64_t move = 1; move <= 5000; ++move) {
    const auto choice = random() % 10;
    if (choice < 3) orders.push_back(order_for(move, branch));
    if (choice < 3) start(orders.back());
    if (choice == 3) ++branch;
    if (choice >= 4 && choice < 6 && !orders.empty()) start(orders[random() % orders.size()]);
    if (choice >= 6 && !running.empty()) {
      const auto one = std::next(running.begin(), static_cast<std::ptrdiff_t>(random() % running.size()));
      EXPECT_EQ(hosted.stages.down(one->first), one->second);
      running.erase(one);
      for (const SpawnStage& next : hosted.stages.take_next()) start(next);
    }
    ASSERT_EQ(hosted.stages.served().size(), running.size());
  }
  EXPECT_FALSE(started.empty());
}

}  // namespace
}  // namespace shoal::hosted_stages_test
