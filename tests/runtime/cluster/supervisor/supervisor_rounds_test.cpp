// Rounds that are agreed long after their contributions: what no share names is reported lost, and what waits for them
// is given up by nobody.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/journal/contributed_tokens.h"
#include "tests/support/rounds_every.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_rounds_test {
namespace {

using Phase = SupervisorCore::Phase;

constexpr std::uint64_t kTokensPerStep = 10;  // tokens of a step of the bench

// One fragment that contributes after `period` steps, 2 * period, ...; each round is due at the next contribution.
[[nodiscard]] SupervisorConfig with_delayed_rounds(std::uint64_t period) {
  SupervisorConfig config = two_by_two();
  config.steps_target = 4 * period;
  config.rounds = rounds_every(period, OuterUpdate::kDelayed);
  return config;
}

[[nodiscard]] Prepared vote_for(SupervisorBench& bench, std::uint32_t stage, const RoundId& round,
                                std::uint64_t contributed_at, std::uint64_t tokens) {
  Prepared vote = bench.vote_of(stage);
  vote.order.step = StepId{contributed_at};
  vote.order.round = round;
  vote.manifests.clear();
  vote.shares = {{bench.core.view().replicas_of(StageId{stage})[0].incarnation, tokens}};
  return vote;
}

[[nodiscard]] std::vector<CommitRound> rounds_of(const SupervisorBench& bench) {
  std::vector<CommitRound> rounds;
  for (const JournalEntry& entry : bench.entries) {
    if (const auto* round = std::get_if<CommitRound>(&entry.body)) rounds.push_back(*round);
  }
  return rounds;
}

class FarRoundsOf : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FarRoundsOf, ReportWhatNoShareNamesAsLost) {
  const std::uint64_t period = GetParam();
  constexpr std::uint64_t kLost = 30;
  SupervisorBench bench(with_delayed_rounds(period));
  bench.train();
  for (std::uint64_t round = 1; round <= 2; ++round) {
    while (bench.core.view().committed_steps() < (round + 1) * period) {
      bench.step();
      bench.sent.clear();
    }
    for (const std::uint32_t stage : {0U, 1U}) {
      const std::uint64_t lost = stage == 0 ? 0 : kLost;
      bench.hear(vote_for(bench, stage, {0, round}, round * period, period * kTokensPerStep - lost));
    }
  }
  const auto rounds = rounds_of(bench);
  ASSERT_EQ(rounds.size(), 4U);
  for (const CommitRound& round : rounds) {
    EXPECT_EQ(round.tokens_lost, round.stage == StageId{0} ? 0 : kLost) << describe({{}, {}, {}, round});
  }
}

// The second is longer than a view remembers the totals of plain steps.
INSTANTIATE_TEST_SUITE_P(Periods, FarRoundsOf, testing::Values(3, View::kTotalsMax + 100),
                         testing::PrintToStringParamName());

// Rounds are agreed after the commit that a leaver waits for: nobody may need of them what it takes along.
TEST(FarRounds, WhoLeavesTakesNoMeanAlongThatOthersMissed) {
  for (const bool is_whole : {false, true}) {
    SupervisorBench bench(with_delayed_rounds(3));
    bench.train();
    while (bench.core.view().committed_steps() < 5) bench.step(), bench.sent.clear();
    const auto members = bench.core.view().replicas_of(StageId{0});
    for (const std::uint32_t stage : {0U, 1U}) {
      Prepared vote = vote_for(bench, stage, {0, 1}, 3, 15);
      const Incarnation second = bench.core.view().replicas_of(StageId{stage})[1].incarnation;
      if (is_whole) vote.shares.push_back({second, 15});
      bench.hear(vote);
    }
    bench.perform(bench.core.operate({OperatorVerb::kDrain, "stage/0/0", {}, 0, "shoal drain"}, bench.now).effects);
    const std::size_t before = bench.entries.size();
    bench.step();
    std::vector<std::string> kinds;
    for (std::size_t at = before; at < bench.entries.size(); ++at) {
      const JournalBody& body = bench.entries[at].body;
      if (std::holds_alternative<CommitRound>(body)) kinds.emplace_back("round");
      if (const auto* removed = std::get_if<RemoveReplica>(&body)) {
        kinds.emplace_back(removed->replica == members[0].incarnation ? "leaver" : "another");
      }
    }
    const std::vector<std::string> goes_first = {"leaver"};
    const std::vector<std::string> goes_last = {"round", "round", "leaver"};
    EXPECT_EQ(kinds, is_whole ? goes_last : goes_first);
  }
}

// One fragment, a checkpoint and a round after every second step, the round due there.
[[nodiscard]] SupervisorConfig with_rounds(std::uint64_t target) {
  SupervisorConfig config = two_by_two();
  config.steps_target = target;
  config.checkpoint_every = 2;
  config.rounds = rounds_every(2);
  return config;
}

// The sum of the first round takes longer than any patience of the supervisor.
struct LongRound {
  static constexpr int kLongSeconds = 2400;

  explicit LongRound(std::uint64_t target) : bench(with_rounds(target)) {
    bench.join(99, ProcessRole::kStorage);
    bench.train();
    bench.step();
  }
  // Contributions follow it.
  void second_step() {
    bench.step();
    ASSERT_EQ(bench.core.view().committed_steps(), 2U);
  }
  void agree() {
    for (const std::uint32_t stage : {0U, 1U}) bench.hear(vote_for(bench, stage, {0, 1}, 2, 10));
    ASSERT_EQ(rounds_of(bench).size(), 2U);
  }
  // A process is to take the place of a replica of stage 0.
  [[nodiscard]] SpawnStage replace_one() {
    bench.lose(bench.process_of(0, 0));
    bench.join(7);
    return bench.all<SpawnStage>().back();
  }
  void say_version(const SpawnStage& joiner, Incarnation replica, std::uint64_t version) {
    bench.hear(StageReady{joiner.stage, replica, {}, version, version});
  }
  [[nodiscard]] std::size_t events(RunEventKind kind) const {
    const auto is_it = [&](const RunEvent& event) { return event.kind == kind; };
    return static_cast<std::size_t>(std::ranges::count_if(bench.all<RunEvent>(), is_it));
  }

  SupervisorBench bench;
};

// The replica that saves or evaluates is at the boundary, and does neither before the round is applied.
TEST(LongRounds, TheEndOfARunWaitsForTheLastOne) {
  for (const bool is_saved : {true, false}) {
    LongRound run(2);
    run.second_step();
    run.bench.beat(LongRound::kLongSeconds);
    EXPECT_EQ(run.events(RunEventKind::kCheckpointRepeated), 0U);
    ASSERT_EQ(run.bench.core.phase(), Phase::kTraining);
    run.agree();
    if (is_saved) {
      run.bench.saved(2);
      run.bench.beat(60);
      EXPECT_EQ(run.events(RunEventKind::kEvaluationGivenUp), 0U) << "it has just begun";
      run.bench.evaluated();
    } else {
      run.bench.beat(700);  // patience counts again
    }
    EXPECT_EQ(run.bench.exit_status(), is_saved ? 0 : 3);
  }
}

TEST(LongRounds, ACompleteEvaluationOfWhichNothingComesIsGivenUpAfterThem) {
  LongRound run(2);
  run.second_step();
  run.bench.beat(60);
  run.agree();
  run.bench.saved(2);
  run.bench.beat(1790);
  EXPECT_EQ(run.events(RunEventKind::kEvaluationGivenUp), 0U);
  run.bench.beat(20);
  EXPECT_EQ(run.events(RunEventKind::kEvaluationGivenUp), 1U);
}

TEST(LongRounds, ACheckpointIsNotMadeTwiceForThem) {
  LongRound run(100);
  run.second_step();
  ASSERT_FALSE(run.bench.last_commit().checkpoint_by.empty());
  run.bench.beat(LongRound::kLongSeconds);
  run.agree();
  run.bench.beat(30);
  EXPECT_EQ(run.events(RunEventKind::kCheckpointRepeated), 0U);
  run.bench.beat(60);
  EXPECT_EQ(run.events(RunEventKind::kCheckpointRepeated), 1U) << "the control: silence after them";
}

TEST(LongRounds, TheLastOfAStageLeavesItsStateBehindAfterThem) {
  LongRound run(100);
  const auto drain = [&run](const std::string& name) {
    run.bench.perform(
        run.bench.core.operate({OperatorVerb::kDrain, name, {}, 0, "shoal drain"}, run.bench.now).effects);
  };
  drain("stage/0/0");
  run.second_step();
  run.bench.saved(2);
  run.agree();
  run.bench.step();
  drain("stage/0/1");
  run.bench.step();
  ASSERT_EQ(run.bench.core.view().committed_steps(), 4U);
  ASSERT_FALSE(run.bench.last_commit().checkpoint_by.empty());
  run.bench.step();
  run.bench.beat(LongRound::kLongSeconds);
  for (const std::uint32_t stage : {0U, 1U}) run.bench.hear(vote_for(run.bench, stage, {0, 2}, 4, 10));
  EXPECT_EQ(run.bench.core.view().committed_steps(), 4U) << "the next commit waits until that is saved";
  run.bench.beat(130);
  EXPECT_EQ(run.bench.core.view().committed_steps(), 5U) << "the control: what cannot be saved stops nobody";
}

TEST(LongRounds, AJoinerThatWaitsForACopyIsNotGivenUp) {
  for (const bool is_agreed : {true, false}) {
    LongRound run(100);
    const SpawnStage joiner = run.replace_one();
    run.second_step();
    if (!is_agreed) run.agree();  // the control: nobody has to wait
    run.bench.beat(LongRound::kLongSeconds);
    EXPECT_EQ(run.events(RunEventKind::kJoinGivenUp) == 0, is_agreed);
    if (is_agreed) run.agree();
    for (const Incarnation replica : {joiner.donor, joiner.replica}) run.say_version(joiner, replica, 2);
    EXPECT_EQ(run.bench.core.view().contains(joiner.replica), is_agreed);
  }
}

// The state that it copied before is not what all agree on after the round.
TEST(LongRounds, AJoinerThatHasToCopyAgainIsNotGivenUp) {
  LongRound run(100);
  const SpawnStage joiner = run.replace_one();
  run.second_step();
  run.say_version(joiner, joiner.replica, 1);
  run.bench.beat(LongRound::kLongSeconds);
  EXPECT_EQ(run.events(RunEventKind::kCommitHeld), 1U);
  EXPECT_EQ(run.events(RunEventKind::kCommitReleased), 0U);
  EXPECT_EQ(run.events(RunEventKind::kJoinGivenUp), 0U);
  run.agree();
  for (const Incarnation replica : {joiner.donor, joiner.replica}) run.say_version(joiner, replica, 2);
  EXPECT_TRUE(run.bench.core.view().contains(joiner.replica));
}

// Rounds of one fragment and two steps until a branch after four, then of two fragments and four steps: the first one's
// contributions before its next ones would have been after two, by the schedule that it has now.
TEST(FarRounds, OfANewScheduleLoseNothingThatOneBeforeItHasMerged) {
  SupervisorConfig config = with_rounds(100);
  SupervisorBench first(config);
  first.join(99, ProcessRole::kStorage);
  first.train();
  for (const std::uint64_t version : {2U, 4U}) {
    while (first.core.view().committed_steps() < version) first.step();
    for (const std::uint32_t stage : {0U, 1U}) first.hear(vote_for(first, stage, {0, version / 2}, version, 20));
  }
  config.term = Term{2};
  config.start = StartPoint{4, 4, true, "abc", Branch{1}, true};
  config.rounds_from = 4;
  config.rounds = rounds_every(4, OuterUpdate::kWait, 2);
  SupervisorBench second(config, first.entries);
  second.join(99, ProcessRole::kStorage);
  second.train();
  while (second.core.view().committed_steps() < 6) second.step();
  for (const std::uint32_t stage : {0U, 1U}) second.hear(vote_for(second, stage, {0, 2}, 6, 20));
  ASSERT_EQ(rounds_of(second).back().round, (RoundId{0, 2}));
  EXPECT_EQ(rounds_of(second).back().tokens_lost, 0U);
  EXPECT_EQ(second.core.view().lost().count(), 0U);
}

// A branch begins so many contributions back, more than are kept of steps without a checkpoint: what nobody's weights
// have of the steps between the fragment's contributions and the checkpoint is lost.
TEST(FarRounds, CountWhatARollbackOverManyContributionsLoses) {
  constexpr std::uint64_t kSaved = 7;  // a step after the contributions of round 3
  SupervisorConfig config = with_rounds(6000);
  config.checkpoint_every = kSaved;
  config.settle_for = Duration::zero();
  SupervisorBench bench(config);
  bench.join(99, ProcessRole::kStorage);
  bench.train();
  const auto train_to = [&bench](std::uint64_t version) {
    while (bench.core.view().committed_steps() < version) {
      bench.step();
      bench.sent.clear();
      const std::uint64_t now = bench.core.view().committed_steps();
      if (now % 2 != 0) continue;
      for (const std::uint32_t stage : {0U, 1U}) bench.hear(vote_for(bench, stage, {0, now / 2}, now, 20));
    }
  };
  train_to(kSaved);
  bench.saved(kSaved);
  bench.sent.clear();
  train_to(kSaved + 2 * ContributedTokens::kKeptMax + 10);
  bench.checkpoint = StartPoint{kSaved, kSaved, true, "abc"};
  bench.sent.clear();
  while (bench.core.phase() == Phase::kTraining) bench.lose(bench.process_of(1, 0));
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(std::chrono::seconds(0));
  bench.ready();
  ASSERT_EQ(bench.core.view().committed_steps(), kSaved);
  bench.step();
  for (const std::uint32_t stage : {0U, 1U}) bench.hear(vote_for(bench, stage, {0, 4}, 8, kTokensPerStep));
  const auto rounds = rounds_of(bench);
  ASSERT_EQ(rounds.back().round, (RoundId{0, 4}));
  EXPECT_EQ(rounds.back().tokens_lost, kTokensPerStep) << "of step 6, before the checkpoint";
  EXPECT_EQ(rounds.front().tokens_lost, 0U);
}

// A fragment for each step: in the steps that a round looks back at there are more contributions than are kept where
// rounds are few.
TEST(FarRounds, OfManyFragmentsReportWhatNoShareNamesAsLost) {
  constexpr std::uint64_t kPeriod = 600;
  constexpr std::uint64_t kEnd = 2 * kPeriod + 10;  // ten rounds have one of their fragment before them
  constexpr std::uint64_t kLost = 30;
  SupervisorConfig config = two_by_two();
  config.steps_target = 4 * kPeriod;
  config.rounds = rounds_every(kPeriod, OuterUpdate::kDelayed, kPeriod);
  const RoundSchedule& schedule = *config.rounds;
  SupervisorBench bench(config);
  bench.train();
  for (std::uint64_t version = 1; version <= kEnd; ++version) {
    bench.step();
    bench.sent.clear();
    ASSERT_EQ(bench.core.view().committed_steps(), version);
    for (const RoundId& round : schedule.due_at(version)) {
      if (round.number == 0) continue;
      const std::uint64_t contributed_at = schedule.contribution_version(round);
      const std::uint64_t tokens = std::min(contributed_at, kPeriod) * kTokensPerStep;
      for (const std::uint32_t stage : {0U, 1U}) {
        bench.hear(vote_for(bench, stage, round, contributed_at, tokens - std::min(tokens, kLost)));
      }
    }
  }
  const auto rounds = rounds_of(bench);
  ASSERT_EQ(rounds.size(), 2 * (kEnd - kPeriod));
  for (const CommitRound& round : rounds) {
    const std::uint64_t trained = round.step.value * kTokensPerStep;
    ASSERT_EQ(round.tokens_lost, std::min(trained, kLost)) << describe({{}, {}, {}, round});
  }
}

}  // namespace
}  // namespace shoal::supervisor_rounds_test
