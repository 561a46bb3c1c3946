// The commit rule P-22, both halves with their controls, for the votes of steps and of rounds.
#include "runtime/cluster/ballots.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/commit_policies.h"

namespace shoal::ballots_test {
namespace {

constexpr RunId kRun{9};
constexpr Term kTerm{2};
const CommitPolicy kPolicy = rising_rate(1);

// Two stages, two replicas each, groups 50 and 51; nobody has voted.
class Scene {
 public:
  Scene() {
    for (std::uint64_t replica = 1; replica <= 4; ++replica) add(StageId{replica > 2 ? 1U : 0U}, replica);
    then(AppointGroup{StageId{0}, Incarnation{50}});
    then(AppointGroup{StageId{1}, Incarnation{51}});
  }
  void then(JournalBody body) { view.apply({JournalPosition{view.position().value + 1}, {}, kTerm, std::move(body)}); }
  void add(StageId stage, std::uint64_t replica) {
    then(AddReplica{stage, {}, Incarnation{replica}, ProcessIncarnation{replica}, view.committed_steps()});
  }
  void lose(StageId stage, std::uint64_t replica) { then(RemoveReplica{stage, Incarnation{replica}, "lost"}); }
  Prepared vote_of(std::uint32_t stage) const {
    Prepared vote;
    vote.order.run = kRun;
    vote.order.term = kTerm;
    vote.order.stage = StageId{stage};
    vote.order.step = StepId{view.committed_steps()};
    vote.order.epoch = Epoch{view.members().group_of(StageId{stage}), 3};
    vote.position = view.position();
    vote.norms = {{stage == 0 ? "wte" : "lm_head", stage == 0 ? 9.0 : 16.0}};
    const double loss = stage == 1 ? 2.0 : 0.0;
    vote.manifests = {{Incarnation{1}, {{MicrobatchId{0}, 10, loss, {}}}},
                      {Incarnation{2}, {{MicrobatchId{1}, 10, loss, {}}}}};
    return vote;
  }
  Prepared vote_of(std::uint32_t stage, RoundId round, std::size_t shares = 2) const {
    Prepared vote = vote_of(stage);
    vote.order.round = round;
    vote.shares.resize(shares);
    return vote;
  }
  // Returns whether the vote is kept.
  bool vote(const Prepared& vote) { return !ballots.hear(vote, view); }
  void vote_all() {
    for (const std::uint32_t stage : {0U, 1U}) EXPECT_TRUE(vote(vote_of(stage)));
  }
  std::vector<StageId> without() const { return ballots.stages_without(view); }
  std::vector<RoundId> take(const std::vector<std::pair<StageId, RoundId>>& open) {
    std::vector<RoundId> rounds;
    for (const Prepared& taken : ballots.take_rounds(open, view)) rounds.push_back(taken.order.round);
    return rounds;
  }

  View view;
  Ballots ballots{kRun, kTerm, 2};
};

using Stages = std::vector<StageId>;
using Rounds = std::vector<RoundId>;

TEST(Ballots, AStepIsCommittedWhenEveryStageHasAVoteThatCounts) {  // P-22
  Scene scene;
  scene.vote_all();
  EXPECT_TRUE(scene.without().empty());
  const Commit commit = scene.ballots.commit(scene.view, kPolicy);
  EXPECT_EQ(commit.stages.size(), 2U);
  EXPECT_EQ(commit.gradient_norm, 5.0);
  EXPECT_EQ(commit.clip_scale, 1.0 / (5.0 + 1e-6));
  EXPECT_EQ(commit.loss_sum, 4.0);
  EXPECT_EQ(commit.token_count, 20U);
  EXPECT_EQ(commit.learning_rate, 0.1);
  EXPECT_EQ(commit.optimizer_step, 1U);
  EXPECT_EQ(commit.norms[0].name, "lm_head");
}

TEST(Ballots, AMissingVoteHoldsTheStep) {
  Scene scene;
  EXPECT_TRUE(scene.vote(scene.vote_of(1)));
  EXPECT_EQ(scene.without(), Stages{StageId{0}});
  EXPECT_FALSE(scene.ballots.has_voted(StageId{0}));
  EXPECT_TRUE(scene.ballots.has_voted(StageId{1}));
}

TEST(Ballots, AStepThatIsForgottenIsVotedForAnew) {
  Scene scene;
  scene.vote_all();
  scene.ballots.forget_step();
  EXPECT_EQ(scene.without(), (Stages{StageId{0}, StageId{1}}));
  scene.vote_all();
  EXPECT_TRUE(scene.without().empty());
}

TEST(Ballots, AVoteOfAGroupThatWasReplacedIsVoid) {  // P-22, first half
  Scene scene;
  scene.vote_all();
  const Prepared old = scene.vote_of(0);
  scene.then(AppointGroup{StageId{0}, Incarnation{60}});
  EXPECT_EQ(scene.without(), Stages{StageId{0}});
  EXPECT_FALSE(scene.vote(old)) << "said again, it counts no more than before";
  EXPECT_TRUE(scene.vote(scene.vote_of(0)));
  EXPECT_TRUE(scene.without().empty());
}

TEST(Ballots, AVoteFromBeforeAChangeOfItsStageIsVoid) {  // P-22, second half
  for (const bool is_add : {true, false}) {
    Scene scene;
    scene.vote_all();
    is_add ? scene.add(StageId{1}, 9) : scene.lose(StageId{1}, 4);
    EXPECT_EQ(scene.without(), Stages{StageId{1}}) << "the other stage's vote stays good";
    EXPECT_TRUE(scene.vote(scene.vote_of(1)));
    EXPECT_TRUE(scene.without().empty());
  }
}

TEST(Ballots, ComparesPositionsNotMemberLists) {  // P-22: a list can return
  Scene scene;
  scene.vote_all();
  scene.add(StageId{1}, 9);
  scene.lose(StageId{1}, 9);
  EXPECT_EQ(scene.without(), Stages{StageId{1}});
}

TEST(Ballots, AVoteOfAnotherStepBranchRunOrTermIsRefusedWithAReason) {
  Scene scene;
  Prepared vote = scene.vote_of(0);
  vote.order.step = StepId{1};
  EXPECT_EQ(scene.ballots.hear(vote, scene.view), "it is for step 1");
  vote = scene.vote_of(0);
  vote.order.branch = Branch{1};
  EXPECT_EQ(scene.ballots.hear(vote, scene.view), "it is of branch 1");
  vote = scene.vote_of(0);
  vote.order.run = RunId{8};
  EXPECT_EQ(scene.ballots.hear(vote, scene.view), "it is of another run or term");
  vote = scene.vote_of(0);
  vote.order.term = Term{1};
  EXPECT_EQ(scene.ballots.hear(vote, scene.view), "it is of another run or term");
  EXPECT_EQ(scene.ballots.refused(), 4U);
  EXPECT_FALSE(scene.ballots.has_voted(StageId{0}));
  EXPECT_TRUE(scene.vote(scene.vote_of(0)));  // control
  EXPECT_EQ(scene.ballots.refused(), 4U);
}

TEST(Ballots, ARoundIsTakenOnceAndIsNoVoteForTheStep) {
  Scene scene;
  const RoundId first{0, 1};
  EXPECT_TRUE(scene.vote(scene.vote_of(0, first)));
  EXPECT_EQ(scene.without(), (Stages{StageId{0}, StageId{1}}));
  EXPECT_TRUE(scene.take({}).empty()) << "it is not due";
  EXPECT_TRUE(scene.take({{StageId{1}, first}}).empty()) << "another stage's";
  EXPECT_EQ(scene.take({{StageId{0}, first}}), Rounds{first});
  EXPECT_TRUE(scene.take({{StageId{0}, first}}).empty());
}

TEST(Ballots, TheRoundsOfAFragmentAreTakenOneAfterTheOther) {
  Scene scene;
  const RoundId first{0, 1}, second{0, 2}, other{1, 1};
  EXPECT_TRUE(scene.vote(scene.vote_of(0, second)));
  EXPECT_TRUE(scene.vote(scene.vote_of(0, other)));
  const std::vector<std::pair<StageId, RoundId>> open = {
      {StageId{0}, first}, {StageId{0}, second}, {StageId{0}, other}};
  EXPECT_EQ(scene.take(open), Rounds{other}) << "the second waits for the first";
  EXPECT_EQ(scene.take({open.begin() + 1, open.end()}), Rounds{second});
}

TEST(Ballots, ARoundsVoteFromBeforeAChangeOfItsStageIsDropped) {  // P-22
  Scene scene;
  const RoundId first{0, 1};
  EXPECT_TRUE(scene.vote(scene.vote_of(0, first)));
  EXPECT_TRUE(scene.vote(scene.vote_of(1, first)));
  scene.lose(StageId{0}, 2);
  EXPECT_EQ(scene.take({{StageId{0}, first}, {StageId{1}, first}}).size(), 1U);
}

TEST(Ballots, ARoundIsMissedByAMemberThatHasNoShareInIt) {
  Scene scene;
  EXPECT_TRUE(scene.vote(scene.vote_of(0, {0, 1}, 2)));
  EXPECT_FALSE(scene.ballots.is_round_missed(scene.view));
  EXPECT_TRUE(scene.vote(scene.vote_of(1, {0, 1}, 1)));
  EXPECT_TRUE(scene.ballots.is_round_missed(scene.view));
}

// Whatever happens, a stage has a vote exactly when nothing that concerns it came after its newest one.
TEST(Ballots, AgreeWithAListOfWhatHappened) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 50; ++run) {
    Scene scene;
    bool counts[2] = {false, false};
    std::uint64_t number = 100;
    for (int move = 0; move < 40; ++move) {
      const auto stage = static_cast<std::uint32_t>(random() % 2);
      const auto kind = random() % 4;
      if (kind == 0) scene.add(StageId{stage}, ++number);
      if (kind == 1) scene.then(AppointGroup{StageId{stage}, Incarnation{++number}});
      counts[stage] = kind >= 2 && scene.vote(scene.vote_of(stage));
      EXPECT_EQ(counts[stage], kind >= 2);
      Stages without;
      for (const std::uint32_t one : {0U, 1U}) {
        if (!counts[one]) without.push_back(StageId{one});
      }
      EXPECT_EQ(scene.without(), without);
      if (without.empty()) {
        scene.then(scene.ballots.commit(scene.view, kPolicy));
        scene.ballots.forget_step();
        counts[0] = counts[1] = false;
      }
    }
  }
}

}  // namespace
}  // namespace shoal::ballots_test
