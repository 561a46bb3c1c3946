// Tests what the next commit waits for: each cause alone, all of them together, and none.
#include "runtime/cluster/commit_gate.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace shoal::commit_gate_test {
namespace {

using namespace std::chrono_literals;
using Waits = std::vector<CommitWait>;

CommitQuestion with_a_leaver(Duration without_progress) {
  CommitQuestion question;
  question.leaver = LastOfStage{StageId{3}, "node7"};
  question.is_saving = true;
  question.without_progress = without_progress;
  question.save_within = 120s;
  return question;
}

TEST(CommitGate, IsOpenWhenNothingIsWaitedFor) {
  const CommitDecision decision = decide_commit({});
  EXPECT_TRUE(decision.is_now());
  EXPECT_EQ(decision.reason, "all is there for its commit");
}

TEST(CommitGate, NamesTheStagesWithoutAVote) {
  CommitQuestion question;
  question.without_vote = {StageId{0}, StageId{2}};
  EXPECT_EQ(decide_commit(question).waits, Waits{CommitWait::kVotes});
  EXPECT_EQ(decide_commit(question).reason, "waiting for the sums of stages 0 and 2");
}

TEST(CommitGate, NamesTheRoundsThatAreDueBeforeIt) {
  CommitQuestion question;
  question.open_rounds = {{StageId{0}, {0, 4}}, {StageId{1}, {0, 4}}, {StageId{1}, {1, 3}}};
  EXPECT_EQ(decide_commit(question).waits, Waits{CommitWait::kRounds});
  EXPECT_EQ(decide_commit(question).reason,
            "waiting for round 4 of fragment 0 of stages 0 and 1, round 3 of fragment 1 of stage 1");
}

TEST(CommitGate, WaitsForAJoinerThatIsLate) {
  CommitQuestion question;
  question.is_joiner_late = true;
  EXPECT_EQ(decide_commit(question).waits, Waits{CommitWait::kJoiner});
  EXPECT_EQ(decide_commit(question).reason, "waiting for a replica that catches up");
}

TEST(CommitGate, WaitsForTheStateThatALeaverLeavesBehindButNotForEver) {
  EXPECT_EQ(decide_commit(with_a_leaver(119s)).waits, Waits{CommitWait::kLeaver});
  EXPECT_EQ(decide_commit(with_a_leaver(119s)).reason,
            "waiting for the checkpoint of node7, the last of stage 3, before it leaves");
  EXPECT_TRUE(decide_commit(with_a_leaver(120s)).is_now());
  CommitQuestion saved = with_a_leaver(0s);
  saved.is_saving = false;
  EXPECT_TRUE(decide_commit(saved).is_now());
  CommitQuestion other = with_a_leaver(0s);
  other.leaver.reset();
  EXPECT_TRUE(decide_commit(other).is_now()) << "an ordinary checkpoint holds nobody";
}

// Each cause is named if and only if it is there, whatever else is.
TEST(CommitGate, NamesAllThatIsWaitedForAndNothingElse) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    CommitQuestion question = with_a_leaver(0s);
    Waits expected;
    const auto sometimes = [&](CommitWait what, const std::function<void()>& happens) {
      if (random() % 2 == 0) return;
      happens();
      expected.push_back(what);
    };
    question.is_saving = false;
    sometimes(CommitWait::kQuorum, [&] { question.lacking_for_quorum = "1 more replica"; });
    sometimes(CommitWait::kVotes, [&] { question.without_vote = {StageId{1}}; });
    sometimes(CommitWait::kRounds, [&] { question.open_rounds = {{StageId{0}, {0, 1}}}; });
    sometimes(CommitWait::kJoiner, [&] { question.is_joiner_late = true; });
    sometimes(CommitWait::kLeaver, [&] { question.is_saving = true; });
    const CommitDecision decision = decide_commit(question);
    EXPECT_EQ(decision.waits, expected) << "seed " << seed;
    EXPECT_EQ(decision.is_now(), expected.empty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shoal::commit_gate_test
