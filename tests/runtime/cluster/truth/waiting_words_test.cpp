// Tests what `shoal status` says of a run that trains.
#include "runtime/cluster/truth/waiting_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::waiting_words_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

struct WaitingWords : testing::Test, DutyBench {
  WaitingWords() { train(); }
  // Without who is silent: nobody beats here.
  [[nodiscard]] std::string words() const {
    const std::string all = explain_waiting(truth, now);
    return all.substr(0, all.find("; node"));
  }
  void leave(std::uint32_t stage, std::uint32_t slot) {
    const ProcessIncarnation gone = process(stage, slot);
    truth.roster.processes.leave(gone);
    truth.roster.processes.lose(gone, "drained");
    record(RemoveReplica{StageId{stage}, replica(stage, slot), "left"});
  }
};

TEST_F(WaitingWords, StatusNamesAStageThatHasFewerThanItShould) {
  EXPECT_THAT(words(), Not(HasSubstr("of 2 replicas"))) << "the control";
  leave(1, 1);
  EXPECT_THAT(words(), EndsWith("; stage 1 has 1 of 2 replicas; no worker is free")) << "nobody was lost";
  leave(0, 1);
  EXPECT_THAT(words(), EndsWith("; stages 0 and 1 have 1 of 2 replicas each; no worker is free"));
  SpawnStage order;
  order.stage = StageId{0};
  order.replica = Incarnation{99};
  truth.joins.ask(order, join("node5"), now);
  EXPECT_THAT(words(), EndsWith("; stage 1 has 1 of 2 replicas; stage 0 has 1 of 2 replicas, 1 is joining; no worker "
                                "is free"));
  join("node6");
  EXPECT_THAT(words(), EndsWith("1 is joining")) << "somebody is free for stage 1";
}

// One worker serves one stage.
TEST_F(WaitingWords, NobodySaysThatARunGoesOnWithFewerReplicasThanStages) {
  const auto lose = [this](std::uint32_t stage, std::uint32_t slot) {
    truth.roster.processes.leave(process(stage, slot));
    truth.roster.processes.lose(process(stage, slot), "killed");
  };
  ASSERT_TRUE(truth.fallback.throw_back("stage 0 lost its last replica", 2));
  truth.follow(PhaseBegins{RunPhase::kGathering}, now);
  lose(0, 1);
  lose(1, 1);
  EXPECT_THAT(explain_waiting(truth, now), HasSubstr("it goes on with fewer replicas")) << "the control: two are there";
  lose(1, 0);
  EXPECT_THAT(explain_waiting(truth, now), Not(HasSubstr("it goes on with fewer replicas")));
}

TEST_F(WaitingWords, StatusNamesWhyNoCheckpointIsSaved) {
  EXPECT_THAT(words(), Not(HasSubstr("no checkpoint"))) << "the control";
  truth.checkpoints.note_trouble("the disk is full");
  EXPECT_THAT(words(), HasSubstr("; no checkpoint yet: the disk is full"));
  truth.checkpoints.saved(50, "abc");
  EXPECT_THAT(words(), Not(HasSubstr("no checkpoint")));
  truth.checkpoints.note_trouble("the disk is full");
  EXPECT_THAT(words(), HasSubstr("; no checkpoint since step 50: the disk is full"));
  truth.checkpoints.begin_from(50, "abc");
  EXPECT_THAT(words(), Not(HasSubstr("no checkpoint"))) << "it goes on from there";
}

TEST_F(WaitingWords, AStageThatOthersWereMovedFromLacksNothing) {
  record(RemoveReplica{StageId{0}, replica(0, 1), "moves"});
  record(AddReplica{StageId{1}, ReplicaId{2}, Incarnation{99}, ProcessIncarnation{3}, 0});
  EXPECT_THAT(words(), HasSubstr("; stage 0 has 1 of 2 replicas")) << "the control";
  truth.config.rebalance_every = std::chrono::seconds(5);
  EXPECT_THAT(words(), Not(HasSubstr("of 2 replicas")));
}

}  // namespace
}  // namespace shoal::waiting_words_test
