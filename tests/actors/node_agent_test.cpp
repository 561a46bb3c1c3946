// The shell of the node agent: its stages are actors, its timer and its router are CAF's. What its core decides is
// tested with it (tests/runtime/node).
#include "actors/node_agent.h"

#include <gtest/gtest.h>

#include <system_error>

#include "runtime/base/config_file.h"
#include "runtime/base/machine/memory_lack.h"
#include "tests/actors/lone_actor.h"
#include "tests/support/manual_clock.h"

namespace shoal::node_agent_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kNonce = 77;
constexpr ProcessIncarnation kNumber{5};

using OwedAnswers = std::vector<caf::response_promise>;

// Answers when the test wants it to, by a number.
caf::behavior some_stage(caf::event_based_actor* self, const std::shared_ptr<OwedAnswers>& owed) {
  return {[self, owed](const Ping&) {
            owed->push_back(self->make_response_promise());
            return owed->back();
          },
          [owed](int) {
            for (auto& answer : std::exchange(*owed, {})) answer.deliver(WorkSoFar{40, 60});
          }};
}

class NodeAgentTest : public testing::Test {
 protected:
  NodeAgentTest() {
    NodeAgentSettings& settings = settings_;
    settings.join.name = "node1";
    settings.join.nonce = kNonce;
    settings.router = lone_.router();
    settings.start_stage = [this](const SpawnStage& order, const Config&, const Welcome&) {
      started_.push_back(order);
      stages_.push_back(lone_.spawn(some_stage, owed_));
      return caf::actor_cast<StageActor>(stages_.back());
    };
    settings.end_process = [this](int status, const std::string&) { ended_ = status; };
    settings.give_up_process = [this](const std::string& reason) { given_up_ = reason; };
    settings.fail_process = [this](const Inject& order) { failed_ = order.how; };
    settings.note = note_;
    agent_ = lone_.spawn(node_agent, settings);
  }
  void welcome(Term term, ProcessIncarnation process = kNumber, const Config& config = Config{}) {
    lone_.give(agent_, Welcome{kNonce, process, RunId{9}, {}, term, {}, write_config(config)});
  }
  void spawn_stage(std::uint64_t replica, std::uint32_t branch = 0) {
    lone_.give(agent_, SpawnStage{StageId{1}, ReplicaId{0}, Incarnation{replica}, Branch{branch}, 4, 4, false, {}});
  }
  void answer() { lone_.give(stages_.back(), 0); }
  void lose_spawner() { lone_.give(agent_, ProcessLost{kSpawnerProcess, "killed"}); }
  [[nodiscard]] Join last_join() const { return lone_.sent<Join>().back(); }

  LoneActor lone_;
  std::shared_ptr<WorkNote> note_ = std::make_shared<WorkNote>();
  NodeAgentSettings settings_;
  NodeAgentActor agent_;
  std::vector<SpawnStage> started_;
  std::vector<caf::actor> stages_;
  std::shared_ptr<OwedAnswers> owed_ = std::make_shared<OwedAnswers>();
  std::optional<int> ended_;
  std::string given_up_;
  std::optional<InjectKind> failed_;
};

TEST_F(NodeAgentTest, AsksToJoinForEver) {
  for (int second = 0; second < 100; ++second) lone_.advance(1s);
  EXPECT_GT(lone_.sent<Join>().size(), 100U);
  EXPECT_FALSE(ended_);
}

TEST_F(NodeAgentTest, ALostSpawnerEndsNoStage) {
  welcome(Term{1});
  spawn_stage(31);
  lose_spawner();
  EXPECT_FALSE(ended_);
  EXPECT_TRUE(lone_.sent<StageEnded>().empty());
  const Join join = last_join();
  EXPECT_EQ(join.previous, kNumber);
  EXPECT_EQ(join.nonce, kNonce);
  EXPECT_EQ(join.serves, (std::vector<ServedReplica>{{StageId{1}, ReplicaId{0}, Incarnation{31}, Branch{0}, 4}}));
  const std::size_t beats = lone_.sent<Heartbeat>().size();
  lone_.advance(5s);
  EXPECT_EQ(lone_.sent<Heartbeat>().size(), beats) << "nobody is there to hear them";
  welcome(Term{2});
  lone_.advance(2s);
  EXPECT_GT(lone_.sent<Heartbeat>().size(), beats);
  EXPECT_FALSE(ended_);
}

TEST_F(NodeAgentTest, AProcessWithAStageThatHangsIsGivenUp) {
  welcome(Term{1});
  spawn_stage(31);
  for (int piece = 0; piece < 40; ++piece) {
    lone_.advance(500ms);
    lone_.advance(60ms);
    answer();
  }
  for (int look = 0; look < 18; ++look) lone_.advance(500ms);
  EXPECT_EQ(given_up_, "") << "it may be slow";
  for (int look = 0; look < 6; ++look) lone_.advance(500ms);
  EXPECT_TRUE(given_up_.starts_with("stage/1/0: it hangs")) << given_up_;
  ASSERT_EQ(lone_.sent<StageEnded>().size(), 1U);
  EXPECT_EQ(lone_.sent<StageEnded>()[0].replica, Incarnation{31});
}

TEST_F(NodeAgentTest, TakesTheLevelsOfTheRunThatGoesOn) {
  settings_.tracer = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  agent_ = lone_.spawn(node_agent, settings_);
  welcome(Term{1});
  lose_spawner();
  Config changed;
  changed.trace.level = TraceLevel::kAll;
  EXPECT_NE(settings_.tracer->level(), TraceLevel::kAll);
  welcome(Term{2}, kNumber, changed);
  EXPECT_EQ(settings_.tracer->level(), TraceLevel::kAll);
}

TEST_F(NodeAgentTest, AStageOfALaterBranchStartsWhenTheEarlierOneHasEnded) {
  welcome(Term{1});
  spawn_stage(31);
  ASSERT_EQ(started_.size(), 1U);
  spawn_stage(41, 1);
  EXPECT_EQ(lone_.sent<StageEnded>().size(), 1U);
  ASSERT_EQ(started_.size(), 2U);
  EXPECT_EQ(started_[1].replica, Incarnation{41});
}

// The order may come again: the spawner does not know which of its letters were lost with a link.
TEST_F(NodeAgentTest, AReplicaIsStartedOnceHoweverOftenItIsOrdered) {
  welcome(Term{1});
  for (int repeat = 0; repeat < 3; ++repeat) spawn_stage(31);
  EXPECT_EQ(started_.size(), 1U);
  EXPECT_TRUE(lone_.sent<StageEnded>().empty());
  lone_.give(agent_, EndStage{StageId{1}, Incarnation{31}, "it is in no view"});
  ASSERT_EQ(lone_.sent<StageEnded>().size(), 1U);
  spawn_stage(31);
  EXPECT_EQ(started_.size(), 1U);
  ASSERT_EQ(lone_.sent<StageEnded>().size(), 2U) << "whoever asks has not heard of its end";
  EXPECT_EQ(lone_.sent<StageEnded>()[1].replica, Incarnation{31});
  spawn_stage(32);
  EXPECT_EQ(started_.size(), 2U);
}

// It has a thread of its own.
TEST_F(NodeAgentTest, AStageThatTheMachineHasNoThreadForIsToldToHaveEnded) {
  settings_.start_stage = [](const SpawnStage&, const Config&, const Welcome&) -> StageActor {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  agent_ = lone_.spawn(node_agent, settings_);
  welcome(Term{1});
  spawn_stage(31);
  ASSERT_EQ(lone_.sent<StageEnded>().size(), 1U);
  EXPECT_TRUE(tells_of_memory_lack(lone_.sent<StageEnded>()[0].reason));
}

TEST_F(NodeAgentTest, EndsAStageThatNoViewKnows) {
  welcome(Term{1});
  spawn_stage(31);
  spawn_stage(32);
  lone_.give(agent_, EndStage{StageId{1}, Incarnation{31}, "it is in no view"});
  ASSERT_EQ(lone_.sent<StageEnded>().size(), 1U);
  EXPECT_EQ(lone_.sent<StageEnded>()[0].replica, Incarnation{31});
  EXPECT_FALSE(ended_);
}

// Its stages end one after the other, and whoever is told of the first may want another one here.
TEST_F(NodeAgentTest, OfAProcessThatIsToldToFailStartsNothingMore) {
  for (const InjectKind how : {InjectKind::kFreeze, InjectKind::kExit}) {
    const bool is_ending = how == InjectKind::kExit;
    welcome(Term{1});
    spawn_stage(31);
    const std::size_t told = lone_.sent<StageEnded>().size();
    lone_.give(agent_, Inject{1, {}, true, how, 10});
    EXPECT_EQ(failed_, how);
    started_.clear();
    caf::anon_send_exit(stages_.back(), caf::exit_reason::user_shutdown);
    lone_.advance(1s);
    EXPECT_EQ(lone_.sent<StageEnded>().size(), told + (is_ending ? 0 : 1));
    spawn_stage(is_ending ? 42 : 41);
    EXPECT_EQ(started_.size(), is_ending ? 0U : 1U);
  }
}

TEST_F(NodeAgentTest, SaysThatItLeavesUntilItIsLetGo) {
  welcome(Term{1});
  spawn_stage(31);
  lone_.give(agent_, StopRequest{"SIGTERM", 0});
  lose_spawner();
  lone_.advance(2s);
  EXPECT_FALSE(ended_) << "what it serves is worth a short wait";
  const std::size_t said = lone_.sent<Leaving>().size();
  welcome(Term{2});
  lone_.advance(1s);
  EXPECT_GT(lone_.sent<Leaving>().size(), said);
  lone_.give(agent_, EndProcess{"it asked to leave", 0});
  EXPECT_EQ(ended_, 0);
}

TEST_F(NodeAgentTest, SaysThatItLeavesWhenAPersonDrainsIt) {
  welcome(Term{1});
  spawn_stage(31);
  lone_.give(agent_, LeaveRun{"shoal drain"});
  lone_.advance(1s);
  const auto said = lone_.sent<Leaving>();
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.back().reason, "shoal drain");
}

TEST_F(NodeAgentTest, LeavesByItselfWhenNoSpawnerAnswers) {
  welcome(Term{1});
  spawn_stage(31);
  lose_spawner();
  lone_.give(agent_, StopRequest{"SIGTERM", 0});
  lone_.advance(10s);
  EXPECT_EQ(ended_, 0);
}

TEST_F(NodeAgentTest, SaysWhatAReplicaWasComputingWhenItEnded) {
  welcome(Term{1});
  spawn_stage(31);
  spawn_stage(32);
  note_->begin({RunId{9}, StageId{1}, Incarnation{31}, StepId{4}, MicrobatchId{6}});
  for (const std::uint64_t replica : {31, 32}) {
    lone_.give(agent_, EndStage{StageId{1}, Incarnation{replica}, "it throws"});
  }
  const auto ended = lone_.sent<StageEnded>();
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].computing, (ComputedMicrobatch{StepId{4}, MicrobatchId{6}}));
  EXPECT_FALSE(ended[1].computing);
}

}  // namespace
}  // namespace shoal::node_agent_test
