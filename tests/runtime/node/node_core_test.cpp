// How a process comes into a run, stays in it and leaves: it asks to be welcomed for ever, keeps its stages when the
// spawner is lost, and comes back under its number with what it serves.
#include "runtime/node/node_core.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "runtime/base/config_file.h"
#include "runtime/base/log.h"
#include "runtime/base/restart_policy.h"

namespace shoal::node_core_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kNonce = 77;
constexpr ProcessIncarnation kNumber{5};

SpawnStage order_for(std::uint64_t replica, std::uint32_t branch = 0) {
  return {StageId{1}, ReplicaId{0}, Incarnation{replica}, Branch{branch}, 4, 4, false, {}, {}};
}

// This processor is as one that has no units for bf16, as long as this lives.
struct WithoutBf16Units {
  WithoutBf16Units() { ::setenv("SHOAL_BF16", "none", 1); }
  ~WithoutBf16Units() { ::unsetenv("SHOAL_BF16"); }
  WithoutBf16Units(const WithoutBf16Units&) = delete;
  WithoutBf16Units& operator=(const WithoutBf16Units&) = delete;
};

// A node's core, whose effects are written down; stages start when they are asked to, unless the machine refuses.
struct Node {
  NodeSettings settings;
  std::optional<NodeCore> core;
  NodeEffects done;
  std::optional<std::string> refuses_threads;
  Instant now = Instant{} + 1h;
  DeviceUse use{3, 4, 5, 6, 7, 8, {9, 10, 11}};

  Node() {
    settings.join.name = "node1";
    settings.join.nonce = kNonce;
    begin();
  }
  void begin() { core.emplace(settings); }
  void perform(const NodeEffects& effects) {
    for (const NodeEffect& effect : effects) {
      done.push_back(effect);
      const auto* start = std::get_if<StartStage>(&effect);
      if (start == nullptr) continue;
      perform(refuses_threads ? core->start_failed(start->order, *refuses_threads) : core->stage_started(start->order));
    }
  }
  void welcome(Term term, ProcessIncarnation process = kNumber, const Config& config = Config{}) {
    perform(core->welcomed(Welcome{kNonce, process, RunId{9}, {}, term, {}, write_config(config)}));
  }
  void spawn(std::uint64_t replica, std::uint32_t branch = 0) { perform(core->spawn(order_for(replica, branch))); }
  void stage_down(std::uint64_t replica) { perform(core->stage_down(Incarnation{replica}, "it ended")); }
  void lose_spawner() { perform(core->spawner_lost({kSpawnerProcess, "killed"})); }
  void refuse(JoinRefusal why) { perform(core->refused({kNonce, why, "no"})); }
  void tick(Duration after = 500ms) {
    now += after;
    perform(core->tick({}, use, now));
  }

  template <class Effect>
  [[nodiscard]] std::vector<Effect> all() const {
    std::vector<Effect> found;
    for (const NodeEffect& effect : done) {
      if (const auto* one = std::get_if<Effect>(&effect)) found.push_back(*one);
    }
    return found;
  }
  template <class Body>
  [[nodiscard]] std::vector<Body> told() const {
    std::vector<Body> found;
    for (const TellSupervisor& effect : all<TellSupervisor>()) {
      if (const auto* one = std::get_if<Body>(&effect.body)) found.push_back(*one);
    }
    return found;
  }
  [[nodiscard]] std::optional<int> ended() const {
    const auto ends = all<EndThisProcess>();
    return ends.empty() ? std::nullopt : std::optional(ends.front().status);
  }
};

TEST(NodeCore, AsksToJoinForEver) {
  Node node;
  for (int second = 0; second < 100; ++second) node.tick(1s);
  EXPECT_EQ(node.told<Join>().size(), 100U);
  EXPECT_EQ(node.all<LookAgain>().size(), 100U);
  EXPECT_FALSE(node.ended());
}

TEST(NodeCore, IsWelcomedOnceByItsNonceAndTellsItsRouter) {
  Node node;
  node.perform(node.core->welcomed(Welcome{kNonce + 1, kNumber, RunId{9}, {}, Term{1}, {}, write_config({})}));
  EXPECT_TRUE(node.done.empty()) << "that is for another process";
  for (int repeat = 0; repeat < 2; ++repeat) node.welcome(Term{1});
  ASSERT_EQ(node.all<TellNumber>().size(), 1U);
  EXPECT_EQ(node.all<TellNumber>()[0].welcome.process, kNumber);
}

TEST(NodeCore, ALostSpawnerEndsNoStage) {
  Node node;
  node.welcome(Term{1});
  node.spawn(31);
  node.lose_spawner();
  ASSERT_EQ(node.told<Join>().size(), 1U);
  const Join join = node.told<Join>().back();
  EXPECT_EQ(join.previous, kNumber);
  EXPECT_EQ(join.nonce, kNonce);
  EXPECT_EQ(join.serves, (std::vector<ServedReplica>{{StageId{1}, ReplicaId{0}, Incarnation{31}, Branch{0}, 4}}));
  node.tick();
  EXPECT_TRUE(node.told<Heartbeat>().empty()) << "nobody is there to hear it";
  node.welcome(Term{2});
  node.tick();
  ASSERT_EQ(node.told<Heartbeat>().size(), 1U);
  EXPECT_EQ(node.told<Heartbeat>()[0].use, node.use);
  EXPECT_TRUE(node.told<StageEnded>().empty() && node.all<StopStage>().empty());
  EXPECT_FALSE(node.ended());
}

TEST(NodeCore, AWelcomeOfAnOlderTermIsNotBelieved) {
  Node node;
  node.welcome(Term{3});
  node.lose_spawner();
  node.welcome(Term{2});
  EXPECT_EQ(node.all<TellNumber>().size(), 1U);
  node.welcome(Term{3});
  EXPECT_EQ(node.all<TellNumber>().size(), 2U) << "the same spawner, by another link";
}

TEST(NodeCore, WhoIsGivenAnotherNumberStartsAgain) {
  Node node;
  node.welcome(Term{1});
  node.lose_spawner();
  node.welcome(Term{2}, ProcessIncarnation{9});
  EXPECT_EQ(node.ended(), kRejoinStatus);
}

TEST(NodeCore, AConfigurationThatCannotBeReadEndsTheProcess) {
  Node node;
  node.perform(node.core->welcomed(Welcome{kNonce, kNumber, RunId{9}, {}, Term{1}, {}, "no such = key"}));
  ASSERT_TRUE(node.ended());
  EXPECT_NE(node.ended(), 0);
  EXPECT_TRUE(node.all<TellNumber>().empty());
}

// In exact mode every replica computes with as many threads.
TEST(NodeCore, AnotherNumberOfThreadsThanTheRunsIsRefusedWhereBitsMustAgree) {
  for (const auto reduction : {Reduction::kExact, Reduction::kFast}) {
    Node node;
    Config config;
    config.sync.reduction = reduction;
    node.settings.threads = config.run.threads + 1;
    node.begin();
    node.welcome(Term{1}, kNumber, config);
    EXPECT_EQ(node.ended().has_value(), reduction == Reduction::kExact);
  }
}

TEST(NodeCore, AProcessorWithoutBf16LeavesARunThatComputesInIt) {
  const WithoutBf16Units here;
  Config config;
  Node with_fp32;
  with_fp32.welcome(Term{1}, kNumber, config);
  EXPECT_EQ(with_fp32.ended(), std::nullopt) << "control";
  config.model.precision = Precision::kBf16;
  Node node;
  node.welcome(Term{1}, kNumber, config);
  EXPECT_EQ(node.ended(), exit_code(Error::kUsage));
  EXPECT_NE(node.all<EndThisProcess>().front().reason.find("avx512_bf16"), std::string::npos);
  Node on_gpu;  // whose units are asked about with its executor
  on_gpu.settings.join.device = "cuda:0";
  on_gpu.begin();
  on_gpu.welcome(Term{1}, kNumber, config);
  EXPECT_EQ(on_gpu.ended(), std::nullopt);
}

TEST(NodeCore, StagesThatDoNotFitTheRunAnyMoreStartAgain) {
  Node node;
  node.welcome(Term{1});
  node.lose_spawner();
  Config changed;
  changed.pipeline.stages = 4;
  node.welcome(Term{2}, kNumber, changed);
  EXPECT_FALSE(node.ended()) << "it serves nothing";
  node.spawn(31);
  node.lose_spawner();
  node.welcome(Term{3});
  EXPECT_EQ(node.ended(), kRejoinStatus);
}

// Whoever is started later would refuse the parts of those that were not.
TEST(NodeCore, WhatStagesWereMadeForMustStayAsItIs) {
  using Change = std::function<void(Config&)>;
  Config config;
  config.sync.mode = SyncMode::kDiloco;
  const std::vector<std::pair<Change, bool>> changes = {
      {[](Config& now) { now.run.threads += 1; }, false},
      {[](Config& now) { now.sync.wire = WireFormat::kInt8; }, false},
      {[](Config& now) { now.sync.backend = SyncBackend::kOwner; }, false},
      {[](Config& now) { now.sync.error_feedback = !now.sync.error_feedback; }, false},
      {[](Config& now) { now.optim.weight_decay = 0.5; }, false},  // a branch that a person began
      {[](Config& now) { now.checkpoint.every = 77; }, true},
      {[](Config& now) { now.trace.level = TraceLevel::kAll; }, true},
  };
  for (const auto& [change, fits] : changes) {
    Config now = config;
    change(now);
    EXPECT_EQ(fits_stages(config, now), fits) << &change - &changes.front().first;
  }
}

TEST(NodeCore, ANameThatIsTakenIsAskedForAFewTimes) {
  Node node;
  for (int refusal = 0; refusal < 5; ++refusal) node.refuse(JoinRefusal::kNameTaken);
  EXPECT_FALSE(node.ended()) << "the process that it replaces may hold it still";
  node.refuse(JoinRefusal::kNameTaken);
  EXPECT_EQ(node.ended(), exit_code(Error::kRefused));
}

TEST(NodeCore, WhoComesTooLateHasNothingToAnswerFor) {
  Node node;
  node.welcome(Term{1});
  node.refuse(JoinRefusal::kRunIsOver);
  EXPECT_FALSE(node.ended()) << "an old answer: it is in";
  node.lose_spawner();
  node.refuse(JoinRefusal::kRunIsOver);
  EXPECT_EQ(node.ended(), 0);
}

TEST(NodeCore, SaysThatItLeavesUntilItIsLetGo) {
  Node node;
  node.welcome(Term{1});
  node.spawn(31);
  node.perform(node.core->leave(node.now));
  EXPECT_EQ(node.told<Leaving>().size(), 1U);
  node.lose_spawner();
  node.tick(2s);
  EXPECT_FALSE(node.ended()) << "what it serves is worth a short wait";
  node.welcome(Term{2});
  node.tick(1s);
  EXPECT_EQ(node.told<Leaving>().size(), 2U);
  node.perform(node.core->end({"it asked to leave", 0}));
  EXPECT_EQ(node.ended(), 0);
}

TEST(NodeCore, SaysToEverySpawnerThatAPersonDrainedIt) {
  Node node;
  node.welcome(Term{1});
  node.spawn(31);
  node.perform(node.core->leave(LeaveRun{"shoal drain"}));
  EXPECT_TRUE(node.told<Leaving>().empty()) << "this one has said so itself";
  node.tick(1s);
  ASSERT_EQ(node.told<Leaving>().size(), 1U);
  EXPECT_EQ(node.told<Leaving>()[0], (Leaving{kNumber, "shoal drain"}));
  node.lose_spawner();
  for (int second = 0; second < 100; ++second) node.tick(1s);
  EXPECT_FALSE(node.ended()) << "nobody set a deadline: it waits for the spawner as others do";
  node.welcome(Term{2});
  node.tick(1s);
  ASSERT_EQ(node.told<Leaving>().size(), 2U);
  EXPECT_EQ(node.told<Leaving>()[1].reason, "shoal drain");
  node.perform(node.core->end({"shoal drain", 0}));
  EXPECT_EQ(node.ended(), 0);
}

TEST(NodeCore, ADrainedOneEndsByASignalAsOthersDo) {
  Node node;
  node.welcome(Term{1});
  node.spawn(31);
  node.perform(node.core->leave(LeaveRun{"shoal drain"}));
  node.lose_spawner();
  node.tick(60s);
  node.perform(node.core->leave(node.now));
  EXPECT_FALSE(node.ended()) << "what it serves is worth a short wait";
  node.tick(6s);
  EXPECT_EQ(node.ended(), 0);
}

TEST(NodeCore, LeavesByItselfWhenNoSpawnerAnswers) {
  for (const bool serves : {false, true}) {
    Node node;
    node.welcome(Term{1});
    if (serves) node.spawn(31);
    node.lose_spawner();
    node.perform(node.core->leave(node.now));
    EXPECT_EQ(node.ended().has_value(), !serves);
    node.tick(6s);
    EXPECT_EQ(node.ended(), 0);
  }
}

TEST(NodeCore, EndsOnceAndWaitsForStorageWhereItIsTold) {
  Node node;
  node.welcome(Term{1});
  for (int repeat = 0; repeat < 2; ++repeat) node.perform(node.core->end({"the run is over", 3, true}));
  EXPECT_EQ(node.all<EndThisProcess>().size(), 1U);
  EXPECT_EQ(node.ended(), 3);
  EXPECT_FALSE(node.all<AwaitStorage>().empty());
}

// The spawner of a run that is over ends, too: nobody is to be alarmed.
TEST(NodeCore, LooksForItsSpawnerAndSaysSoUnlessItIsEnding) {
  for (const bool is_ending : {false, true}) {
    Node node;
    node.welcome(Term{1});
    if (is_ending) node.perform(node.core->end({"the run is over", 0, true}));
    testing::internal::CaptureStderr();
    node.perform(node.core->spawner_lost({}));
    flush_log();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("looking for it") == std::string::npos, is_ending) << said;
  }
}

// The supervisor may have been started again since, and has not heard of it.
TEST(NodeCore, SaysWhomItRefusesWheneverItIsWelcomed) {
  Node node;
  node.settings.refusals = {{{}, ProcessRole::kNode, "guest"}};
  node.begin();
  node.welcome(Term{1});
  node.lose_spawner();
  node.welcome(Term{2});
  const auto told = node.told<PeerRefused>();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].name, "guest");
  EXPECT_EQ(told[1].process, kNumber) << "it says who says so";
}

// Stages of a process that fails end one after the other, and whoever hears of the first may want another one here.
TEST(NodeCore, AProcessThatIsToldToFailStartsNothingMore) {
  for (const InjectKind how : {InjectKind::kFreeze, InjectKind::kExit}) {
    Node node;
    node.welcome(Term{1});
    node.spawn(31);
    node.perform(node.core->fail({1, {}, true, how, 10}));
    EXPECT_EQ(node.all<FailOnPurpose>().size(), 1U);
    node.stage_down(31);
    node.spawn(41);
    const bool is_ending = how == InjectKind::kExit;
    EXPECT_EQ(node.told<StageEnded>().size(), is_ending ? 0U : 1U);
    EXPECT_EQ(node.all<StartStage>().size(), is_ending ? 1U : 2U);
    EXPECT_EQ(node.all<ForgetStage>().size(), 1U);
  }
}

TEST(NodeCore, NothingIsStartedBeforeItIsWelcomed) {
  Node node;
  node.spawn(31);
  EXPECT_TRUE(node.done.empty());
}

TEST(NodeCore, P28bAProcessWithAStageThatHangsIsGivenUp) {
  Node node;
  node.welcome(Term{1});
  node.spawn(31);
  for (int piece = 0; piece < 40; ++piece) {
    node.tick(500ms);
    node.core->stage_answered(Incarnation{31}, 40, 60ms);
  }
  for (int look = 0; look < 18; ++look) node.tick();
  EXPECT_TRUE(node.all<GiveUpProcess>().empty()) << "it may be slow";
  for (int look = 0; look < 6; ++look) node.tick();
  ASSERT_EQ(node.all<GiveUpProcess>().size(), 1U) << "once";
  EXPECT_TRUE(node.all<GiveUpProcess>()[0].reason.starts_with("stage/1/0: it hangs"));
  ASSERT_EQ(node.told<StageEnded>().size(), 1U);
  EXPECT_EQ(node.told<StageEnded>()[0].replica, Incarnation{31});
}

}  // namespace
}  // namespace shoal::node_core_test
