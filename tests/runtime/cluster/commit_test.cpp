// The commit rule P-22, both halves with their controls, and the arithmetic of a commit (design.md §4.8, §4.9).
#include "runtime/cluster/commit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace shoal {
namespace {

const CommitPolicy kPolicy{1.0, [](std::uint64_t t) { return 0.1 * static_cast<double>(t + 1); }};

// Two stages, two replicas each, groups 50 and 51.
class Scene {
 public:
  Scene() {
    for (std::uint64_t replica = 1; replica <= 4; ++replica) add(StageId{replica > 2 ? 1U : 0U}, replica);
    then(AppointGroup{StageId{0}, Incarnation{50}});
    then(AppointGroup{StageId{1}, Incarnation{51}});
    for (const std::uint32_t stage : {0, 1}) vote(stage);
  }
  void then(JournalBody body) {
    view.apply({JournalPosition{view.position().value + 1}, {}, Term{1}, std::move(body)});
  }
  void add(StageId stage, std::uint64_t replica) {
    then(AddReplica{stage, {}, Incarnation{replica}, ProcessIncarnation{replica}, view.committed_steps()});
  }
  Prepared& vote(std::uint32_t stage) {
    Prepared prepared;
    prepared.order.stage = StageId{stage};
    prepared.order.step = StepId{view.committed_steps()};
    prepared.order.epoch = Epoch{view.group_of(StageId{stage}), 3};
    prepared.position = view.position();
    prepared.norms = {{stage == 0 ? "wte" : "lm_head", stage == 0 ? 9.0 : 16.0}};
    const double loss = stage == 1 ? 2.0 : 0.0;
    prepared.manifests = {{Incarnation{1}, {{MicrobatchId{0}, 10, loss, {}}}},
                          {Incarnation{2}, {{MicrobatchId{1}, 10, loss, {}}}}};
    return votes[StageId{stage}] = prepared;
  }
  std::optional<Commit> commit() const { return commit_if_unanimous(votes, 2, view, kPolicy); }

  View view;
  std::map<StageId, Prepared> votes;
};

TEST(CommitRule, AStepIsCommittedWhenEveryStageHasAValidVote) {  // P-22
  const Scene scene;
  const auto commit = scene.commit();
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->stages.size(), 2U);
  EXPECT_EQ(commit->gradient_norm, 5.0);
  EXPECT_EQ(commit->clip_scale, 1.0 / (5.0 + 1e-6));
  EXPECT_EQ(commit->loss_sum, 4.0);
  EXPECT_EQ(commit->token_count, 20U);
  EXPECT_EQ(commit->learning_rate, 0.1);
  EXPECT_EQ(commit->optimizer_step, 1U);
  EXPECT_EQ(commit->norms[0].name, "lm_head");
}

TEST(CommitRule, AMissingVoteHoldsTheStep) {
  Scene scene;
  scene.votes.erase(StageId{0});
  EXPECT_FALSE(scene.commit());
}

TEST(CommitRule, AVoteOfAGroupThatWasReplacedIsVoid) {  // P-22, first half
  Scene scene;
  scene.then(AppointGroup{StageId{0}, Incarnation{60}});
  EXPECT_FALSE(scene.commit());
  scene.vote(0);
  EXPECT_TRUE(scene.commit());
}

TEST(CommitRule, AVoteFromBeforeAChangeOfItsStageIsVoid) {  // P-22, second half
  for (const bool is_add : {true, false}) {
    Scene scene;
    is_add ? scene.add(StageId{1}, 9) : scene.then(RemoveReplica{StageId{1}, Incarnation{4}, "lost"});
    EXPECT_FALSE(scene.commit());
    EXPECT_EQ(stages_without_vote(scene.votes, 2, scene.view), std::vector<StageId>{StageId{1}});
    scene.vote(1);
    EXPECT_TRUE(stages_without_vote(scene.votes, 2, scene.view).empty());
    EXPECT_TRUE(scene.commit());  // the other stage's vote stays good
  }
}

TEST(CommitRule, ComparesPositionsNotMemberLists) {  // P-22: a list can return
  Scene scene;
  scene.add(StageId{1}, 9);
  scene.then(RemoveReplica{StageId{1}, Incarnation{9}, "lost"});
  EXPECT_FALSE(scene.commit());
}

TEST(CommitRule, AVoteOfAnotherStepOrBranchIsVoid) {
  Scene scene;
  scene.votes[StageId{0}].order.step = StepId{1};
  EXPECT_FALSE(scene.commit());
  scene.vote(0).order.branch = Branch{1};
  EXPECT_FALSE(scene.commit());
}

TEST(CommitArithmetic, DoesNotDependOnTheOrderOfVotesOrManifests) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(1e-9, 1e3);
  StepSums sums{StepId{4}, 4, {}, {}, {}};
  for (std::uint32_t index = 0; index < 64; ++index) {
    sums.norms.push_back({"tensor" + std::to_string(index), value(random)});
    sums.loss_entries.push_back({MicrobatchId{index}, 7, value(random), {}});
  }
  const Commit first = conclude_step(sums, kPolicy);
  for (int trial = 0; trial < 50; ++trial) {
    std::shuffle(sums.norms.begin(), sums.norms.end(), random);
    std::shuffle(sums.loss_entries.begin(), sums.loss_entries.end(), random);
    EXPECT_EQ(conclude_step(sums, kPolicy), first);
  }
  double naive = 0;  // control: the order does matter to doubles
  bool differs = false;
  for (int trial = 0; trial < 50 && !differs; ++trial) {
    std::shuffle(sums.loss_entries.begin(), sums.loss_entries.end(), random);
    naive = 0;
    for (const auto& entry : sums.loss_entries) naive += entry.loss_sum;
    differs = naive != first.loss_sum;
  }
  EXPECT_TRUE(differs);
}

TEST(CommitArithmetic, ClippingIsOffAtZeroAndNeverScalesUp) {
  StepSums sums{StepId{0}, 0, {}, {}, {{"a", 100.0}}};
  EXPECT_EQ(conclude_step(sums, {0, kPolicy.learning_rate}).clip_scale, 1.0);
  EXPECT_EQ(conclude_step(sums, {100, kPolicy.learning_rate}).clip_scale, 1.0);
  EXPECT_LT(conclude_step(sums, {1, kPolicy.learning_rate}).clip_scale, 0.11);
}

TEST(CommitArithmetic, ClippingShortensLongGradientsOnly) {
  EXPECT_DOUBLE_EQ(clip_scale_of(2, 1), 1);
  EXPECT_DOUBLE_EQ(clip_scale_of(2, 4), 2 / (4 + 1e-6));
  EXPECT_DOUBLE_EQ(clip_scale_of(0, 1e9), 1);
}

TEST(CommitSkip, NamesTheLowestBadMicrobatchAndItsTensor) {  // design.md §4.9
  StepSums sums{StepId{6}, 5, {}, {}, {{"a", 1.0}}};
  sums.entries = {{MicrobatchId{3}, 1, 0, "x"}, {MicrobatchId{1}, 1, 0, "z"}, {MicrobatchId{1}, 1, 0, "y"}};
  const Commit commit = conclude_step(sums, kPolicy);
  ASSERT_TRUE(commit.skip);
  EXPECT_EQ(*commit.skip, (SkipStep{"y", MicrobatchId{1}}));
  EXPECT_EQ(commit.optimizer_step, 5U);  // the optimiser's count does not change
}

TEST(CommitSkip, ALossOrNormThatIsNotFiniteSkips) {
  const double infinite = std::numeric_limits<double>::infinity();
  StepSums sums{StepId{0}, 0, {}, {{MicrobatchId{0}, 1, 1.0, {}}, {MicrobatchId{1}, 1, std::nan(""), {}}}, {}};
  EXPECT_EQ(conclude_step(sums, kPolicy).skip, (SkipStep{"loss", MicrobatchId{1}}));
  sums.loss_entries.pop_back();
  EXPECT_FALSE(conclude_step(sums, kPolicy).skip);
  sums.norms = {{"a", 1.0}, {"b", infinite}};
  EXPECT_EQ(conclude_step(sums, kPolicy).skip->tensor, "b");
  sums.norms = {{"a", 1.7e308}, {"b", 1.7e308}};
  EXPECT_EQ(conclude_step(sums, kPolicy).skip->tensor, "gradient norm");
}

}  // namespace
}  // namespace shoal
