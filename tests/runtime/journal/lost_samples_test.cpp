// A round loses what no share is made of; over a whole run every lost sample is trained again, once per loss.
#include "runtime/journal/lost_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "tests/support/requeue_model.h"

namespace shoal::lost_samples_test {
namespace {

constexpr std::uint32_t kMicrobatches = 4;
constexpr std::uint32_t kStages = 2;
constexpr std::uint32_t kFragments = 2;
constexpr std::uint64_t kPeriod = 3;
constexpr std::uint64_t kTokens = 10;  // those of every microbatch

// Fragment 0 contributes at versions 2, 5, 8, .., fragment 1 at 3, 6, 9, ..
std::uint64_t contributed_at(const RoundId& round) { return 2 + round.fragment + (round.number - 1) * kPeriod; }
std::uint64_t contributed_before(const RoundId& round) {
  return round.number == 1 ? 0 : contributed_at({round.fragment, round.number - 1});
}

// The journal of a run, with the view and the losses that a supervisor makes of it.
class LossyRun {
 public:
  explicit LossyRun(std::uint64_t delay = 0) : delay_(delay) {
    for (std::uint32_t stage = 0; stage < kStages; ++stage) add(stage), add(stage);
  }

  void append(JournalBody body) {
    JournalEntry entry{JournalPosition{view.position().value + 1}, branch_, Term{1}, std::move(body)};
    if (auto* round = std::get_if<CommitRound>(&entry.body)) {
      losses.name_lost(*round, StepId{contributed_before(round->round)}, view);
    }
    view.apply(entry);
    losses.follow(entry);
    model.follow(entry);
    journal.push_back(std::move(entry));
  }
  void add(std::uint32_t stage) {
    append(AddReplica{StageId{stage}, {}, Incarnation{++incarnations_}, {}, view.committed_steps()});
  }
  Incarnation member(std::uint32_t stage, std::size_t index) const {
    return view.replicas_of(StageId{stage})[index].incarnation;
  }
  void replace(std::uint32_t stage, std::size_t index) {
    append(RemoveReplica{StageId{stage}, member(stage, index), "killed"});
    add(stage);
  }
  // Each microbatch to the member that `chooses` says.
  template <class Choose>
  void step(Choose chooses) {
    Commit commit;
    commit.step = StepId{view.committed_steps()};
    const auto& left_out = view.quarantined();
    commit.token_count = (kMicrobatches - left_out.size()) * kTokens;
    for (std::uint32_t stage = 0; stage < kStages; ++stage) {
      StageCommit& one = commit.stages.emplace_back();
      one.stage = StageId{stage};
      one.manifests = {{member(stage, 0), {}}, {member(stage, 1), {}}};
      for (std::uint32_t index = 0; index < kMicrobatches; ++index) {
        if (left_out.contains(MicrobatchId{index})) continue;
        one.manifests[chooses(stage, index)].entries.push_back({MicrobatchId{index}, kTokens, 1.0, {}});
      }
    }
    append(commit);
    agree();
  }
  void step() {
    step([](std::uint32_t, std::uint32_t index) { return index % 2; });
  }
  // Every round that is due now: shares are what manifests say, lost is the rest.
  void agree() {
    for (std::uint32_t fragment = 0; fragment < kFragments; ++fragment) {
      const std::uint64_t version = view.committed_steps();
      const std::uint64_t since_first = version - std::min(version, contributed_at({fragment, 1}) + delay_);
      const bool is_due = version >= contributed_at({fragment, 1}) + delay_ && since_first % kPeriod == 0;
      const RoundId round{fragment, since_first / kPeriod + 1};
      for (std::uint32_t stage = 0; is_due && stage < kStages; ++stage) {
        const StepId contributed{contributed_at(round)};
        if (!view.rounds().has(StageId{stage}, round, contributed, version)) append(agreed(stage, round));
      }
    }
  }
  CommitRound agreed(std::uint32_t stage, const RoundId& round) const {
    CommitRound entry{StageId{stage}, StepId{contributed_at(round)}, round, {}, 0, {}, 0};
    entry.tokens_lost = committed(since(round), entry.step.value);
    for (const ReplicaMember& member : view.replicas_of(entry.stage)) {
      entry.shares.push_back({member.incarnation, trained(entry, member.incarnation)});
      entry.tokens_lost -= entry.shares.back().token_count;
    }
    return entry;
  }
  static std::uint64_t since(const RoundId& round) { return contributed_before(round); }
  // Sums up the newest commits of these steps.
  std::uint64_t committed(std::uint64_t from, std::uint64_t to) const {
    std::map<StepId, std::uint64_t> tokens;
    for (const JournalEntry& entry : journal) {
      const auto* commit = std::get_if<Commit>(&entry.body);
      if (commit != nullptr) tokens[commit->step] = commit->token_count;
    }
    std::uint64_t sum = 0;
    for (std::uint64_t step = from; step < to; ++step) sum += tokens[StepId{step}];
    return sum;
  }
  // Sums up the newest commits of the steps that the round covers.
  std::uint64_t trained(const CommitRound& round, Incarnation member) const {
    std::map<StepId, std::uint64_t> tokens;
    for (const JournalEntry& entry : journal) {
      const auto* commit = std::get_if<Commit>(&entry.body);
      if (commit == nullptr || commit->step >= round.step || commit->step.value < since(round.round)) continue;
      tokens[commit->step] = 0;
      for (const MemberManifest& manifest : commit->stages[round.stage.value].manifests) {
        if (manifest.member == member) tokens[commit->step] = manifest.entries.size() * kTokens;
      }
    }
    std::uint64_t sum = 0;
    for (const auto& [step, count] : tokens) sum += count;
    return sum;
  }
  void roll_back_to(std::uint64_t version) {
    ++branch_.value;
    for (std::uint32_t index = 0; index < 2 * kStages; ++index) {
      append(AddReplica{StageId{index / 2}, {}, Incarnation{++incarnations_}, {}, version});
    }
  }
  // A supervisor that was started again.
  void restart() {
    view = View();
    losses = LostSamples(kMicrobatches, window());
    for (const JournalEntry& entry : journal) view.apply(entry), losses.follow(entry);
  }
  [[nodiscard]] std::uint64_t window() const { return kPeriod + delay_; }
  std::vector<std::uint64_t> samples_of(std::uint64_t step) const {
    std::vector<std::uint64_t> samples;
    for (std::uint32_t index = 0; index < kMicrobatches; ++index) {
      samples.push_back(view.requeued().sample_at(PlaceId{step * kMicrobatches + index}).value);
    }
    return samples;
  }
  std::vector<PlaceId> lost_in_last() const {
    for (auto entry = journal.rbegin(); entry != journal.rend(); ++entry) {
      if (const auto* round = std::get_if<CommitRound>(&entry->body)) return round->lost;
    }
    return {};
  }

 private:
  std::uint64_t delay_;
  Branch branch_;
  std::uint64_t incarnations_ = 0;

 public:
  View view;
  LostSamples losses{kMicrobatches, window()};
  RequeueModel model{kMicrobatches, contributed_before};
  std::vector<JournalEntry> journal;
};

std::vector<PlaceId> places(const std::vector<std::uint64_t>& numbers) {
  std::vector<PlaceId> all;
  for (const std::uint64_t number : numbers) all.push_back(PlaceId{number});
  return all;
}

using Numbers = std::vector<std::uint64_t>;

TEST(LostSamples, NobodyDiedSoNothingIsLost) {
  LossyRun run;
  for (int step = 0; step < 9; ++step) run.step();
  for (const JournalEntry& entry : run.journal) {
    const auto* round = std::get_if<CommitRound>(&entry.body);
    EXPECT_TRUE(round == nullptr || round->lost.empty()) << entry.position;
  }
}

TEST(LostSamples, WhatADeadMemberTrainedOnComesAgainAfterTheStepInProgress) {
  LossyRun run;
  run.step();
  run.replace(0, 1);  // the old one had trained on 1 and 3 of step 0
  run.step();         // fragment 0 is agreed; step 2 is under way
  EXPECT_EQ(run.samples_of(2), (Numbers{8, 9, 10, 11}));
  EXPECT_EQ(run.samples_of(3), (Numbers{1, 3, 12, 13}));
  run.step();  // fragment 1 loses the same two
  EXPECT_TRUE(run.lost_in_last().empty());
  EXPECT_EQ(run.samples_of(4), (Numbers{14, 15, 16, 17}));
}

TEST(LostSamples, TwoStagesLoseAMicrobatchOnce) {
  LossyRun run;
  run.step();
  run.replace(0, 1);
  run.replace(1, 0);
  run.step();
  EXPECT_EQ(run.samples_of(3), (Numbers{1, 3, 0, 2}));
}

TEST(LostSamples, OfASmallerShareTheNewestIsMerged) {
  LossyRun run;
  run.step();
  run.step([](std::uint32_t, std::uint32_t) { return 0U; });
  CommitRound round = run.agreed(0, {0, 1});
  round.shares = {{run.member(0, 0), 3 * kTokens}, {run.member(0, 1), 2 * kTokens}};
  EXPECT_EQ(run.losses.lost_in(round, StepId{0}, run.view), places({0, 2, 4}));
  round.shares = {{run.member(0, 1), 2 * kTokens}};
  EXPECT_EQ(run.losses.lost_in(round, StepId{0}, run.view), places({0, 2, 4, 5, 6, 7}));
}

TEST(LostSamples, ABranchThatBeginsInARoundLosesItsStepsButNoQuarantinedMicrobatch) {
  LossyRun run;
  run.append(Quarantine{StepId{2}, MicrobatchId{1}, "poison"});
  for (int step = 0; step < 4; ++step) run.step();
  run.roll_back_to(4);  // fragment 0 has contributed at 2, fragment 1 at 3
  run.step();
  EXPECT_EQ(run.lost_in_last(), places({})) << "stage 1 loses what stage 0 has lost";
  EXPECT_EQ(run.samples_of(6), (Numbers{8, 10, 11, 12}));
  EXPECT_EQ(run.samples_of(7), (Numbers{13, 14, 15, 24}));
  EXPECT_EQ(run.model.violations(), std::vector<std::string>{});
}

TEST(LostSamples, WithoutTheKeyNothingIsNamed) {
  LossyRun run;
  run.losses = LostSamples(kMicrobatches, 0);
  run.step();
  run.replace(0, 1);
  run.step();
  EXPECT_TRUE(run.lost_in_last().empty());
  EXPECT_FALSE(run.model.requeued().empty()) << "the control";
}

// S-6: what nobody can wait for is not trained again.
TEST(LostSamples, MoreThanMayWaitIsNotTrainedAgain) {
  const auto kMany = static_cast<std::uint32_t>(RequeuedSamples::kWaitingMax / 2 + 1);
  View view;
  LostSamples losses(kMany, kPeriod);
  const auto append = [&](JournalBody body) {
    const JournalEntry entry{JournalPosition{view.position().value + 1}, {}, Term{1}, std::move(body)};
    view.apply(entry);
    losses.follow(entry);
  };
  append(AddReplica{{}, {}, Incarnation{1}, {}, 0});
  for (std::uint64_t step = 0; step < 2; ++step) {
    Commit commit;
    commit.step = StepId{step};
    MemberManifest manifest{Incarnation{9}, {}};
    for (std::uint32_t index = 0; index < kMany; ++index) manifest.entries.push_back({MicrobatchId{index}, 1, 1.0, {}});
    commit.stages = {{StageId{}, {}, 0, {manifest}}};
    append(commit);
  }
  CommitRound round{StageId{}, StepId{2}, {0, 1}, {}, 0, {}, 2 * kMany};
  losses.name_lost(round, StepId{0}, view);
  EXPECT_EQ(round.lost.size(), RequeuedSamples::kWaitingMax - RequeuedSamples::kPlacesOfAnEntry);
  append(round);
  CommitRound next{StageId{}, StepId{2}, {1, 1}, {}, 0, {}, 2 * kMany};
  losses.name_lost(next, StepId{0}, view);
  EXPECT_TRUE(next.lost.empty()) << "those before it wait";
}

// Every sample up to the newest fresh one is in the plan once, and once more for each time that it was lost; or it
// waits.
void expect_whole(const LossyRun& run, const std::string& story) {
  std::map<std::uint64_t, int> trained, expected;
  for (const auto& step : run.model.plan()) {
    for (const std::uint64_t sample : step) ++trained[sample];
  }
  for (std::uint64_t sample = 0; sample < run.model.fresh(); ++sample) ++expected[sample];
  const auto& requeued = run.model.requeued();
  const std::size_t placed = run.model.plan().size() * kMicrobatches - run.model.fresh();
  ASSERT_LE(placed, requeued.size()) << story;
  for (std::size_t at = 0; at < placed; ++at) ++expected[requeued[at]];
  ASSERT_EQ(trained, expected) << story;
}

void expect_as_the_model(const LossyRun& run, const std::string& story) {
  const auto& plan = run.model.plan();
  for (std::uint64_t step = 0; step < plan.size(); ++step) {
    ASSERT_EQ(run.samples_of(step), plan[step]) << story << ", step " << step;
  }
  std::set<PlaceId> lost;
  for (const auto& [step, index] : run.model.lost()) lost.insert(PlaceId{step * kMicrobatches + index});
  ASSERT_EQ(run.view.requeued().lost_from(PlaceId{}), lost) << story;
  ASSERT_EQ(run.model.violations(), std::vector<std::string>{}) << story;
}

TEST(LostSamples, RandomRunsTrainWhatTheyLoseAgainAndNothingElse) {
  std::size_t requeued = 0, again_and_again = 0;
  const std::uint64_t first = std::random_device{}();
  std::cout << "seeds " << first << " to " << first + 59 << '\n';
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](std::uint64_t bound) { return static_cast<std::uint32_t>(random() % bound); };
    LossyRun run(below(3));
    const std::string story = compose("seed ", seed);
    for (int turn = 0; turn < 60; ++turn) {
      const std::uint32_t event = below(10);
      if (event < 2) run.replace(below(kStages), below(2));
      if (event == 2 && run.view.committed_steps() > 0) run.roll_back_to(below(run.view.committed_steps() + 1));
      if (event == 3) run.restart();
      if (event == 4 && below(4) == 0) {
        run.append(Quarantine{StepId{run.view.committed_steps()}, MicrobatchId{below(kMicrobatches)}, "poison"});
      }
      run.step([&](std::uint32_t, std::uint32_t) { return below(2); });
      ASSERT_NO_FATAL_FAILURE(expect_as_the_model(run, story));
    }
    ASSERT_NO_FATAL_FAILURE(expect_whole(run, story));
    requeued += run.model.requeued().size();
    const std::set<std::uint64_t> distinct(run.model.requeued().begin(), run.model.requeued().end());
    again_and_again += run.model.requeued().size() - distinct.size();
  }
  EXPECT_GT(requeued, 1000U);
  EXPECT_GT(again_and_again, 0U) << "no sample was lost where it was trained again";
}

// The control: a loader that is told of the losses one step too late trains something else.
TEST(LostSamples, TheModelSeesAnEntryThatIsReadElsewhere) {
  LossyRun run;
  run.step();
  run.replace(0, 1);
  run.step();
  run.step();
  View late;
  for (JournalEntry entry : run.journal) {
    auto* round = std::get_if<CommitRound>(&entry.body);
    if (round != nullptr) round->trained_again_from.value += kMicrobatches * (round->lost.empty() ? 0 : 1);
    late.apply(entry);
  }
  EXPECT_NE(late.requeued().sample_at(PlaceId{3 * kMicrobatches}).value, run.model.plan()[3][0]);
  EXPECT_EQ(run.view.requeued().sample_at(PlaceId{3 * kMicrobatches}).value, run.model.plan()[3][0]);
}

}  // namespace
}  // namespace shoal::lost_samples_test
