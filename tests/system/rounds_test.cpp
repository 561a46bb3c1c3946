// sync.mode = diloco by real processes: rounds are agreed while the run trains, a killed replica is replaced from the
// outer state of its peers, and merged and lost tokens together are all that was committed.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/journal/store.h"
#include "tests/support/process_scene.h"

namespace shoal::rounds_test {
namespace {

SmallRun diloco_run(int steps, std::vector<std::string> more = {}) {
  SmallRun small{2, 2, steps, {"sync.mode=diloco", "sync.H=5", "pipeline.routing=static"}};
  small.sets.insert(small.sets.end(), more.begin(), more.end());
  return small;
}

// All entries of this kind in a run's journal.
template <class Body>
std::vector<Body> entries_of(const ProcessScene& scene, const std::string& name) {
  auto journal = open_journal(scene.run(name) / "journal.db");
  EXPECT_TRUE(journal.ok());
  if (!journal.ok()) return {};
  auto entries = (*journal)->load(JournalPosition{}, (*journal)->last_position().value);
  EXPECT_TRUE(entries.ok());
  std::vector<Body> found;
  if (!entries.ok()) return found;
  for (const JournalEntry& entry : *entries) {
    if (const auto* body = std::get_if<Body>(&entry.body)) found.push_back(*body);
  }
  return found;
}

std::vector<CommitRound> rounds_of(const ProcessScene& scene, const std::string& name) {
  return entries_of<CommitRound>(scene, name);
}

std::uint64_t merged_tokens(const std::vector<CommitRound>& rounds, StageId stage) {
  std::uint64_t tokens = 0;
  for (const CommitRound& round : rounds) {
    if (round.stage != stage || round.round.fragment != 0) continue;
    for (const RoundShare& share : round.shares) tokens += share.token_count;
  }
  return tokens;
}

// Returns the tokens of one of the first round's five steps; nobody was killed in it.
std::uint64_t tokens_of_a_step(const std::vector<CommitRound>& rounds) {
  std::uint64_t tokens = 0;
  for (const RoundShare& share : rounds.front().shares) tokens += share.token_count;
  return tokens / 5;
}

std::uint64_t lost_tokens(const std::vector<CommitRound>& rounds, StageId stage) {
  std::uint64_t tokens = 0;
  for (const CommitRound& round : rounds) {
    if (round.stage == stage && round.round.fragment == 0) tokens += round.tokens_lost;
  }
  return tokens;
}

// Without exact sums the order in which a replica's microbatches come would be in the bits: a forward that outruns the
// order to open is refused, and comes again behind the next one.
TEST(Rounds, TwoRunsOfTheSameSettingsEndWithTheSameBits) {
  const auto exact = [](std::vector<std::string> more = {}) {
    more.emplace_back("sync.reduction=exact");
    return diloco_run(20, std::move(more));
  };
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", exact())), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "again", exact())), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "other", exact({"sync.outer_lr=0.5"}))), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("again").weights());
  EXPECT_NE(scene.records().weights(), scene.records("other").weights());  // the outer step does something
  const auto rounds = rounds_of(scene, "run");
  EXPECT_EQ(rounds.size(), 8U);  // four of each stage
  for (const CommitRound& round : rounds) EXPECT_EQ(round.shares.size(), 2U);
}

// The stdout of a command.
std::string said(ProcessScene& scene, std::vector<std::string> words) {
  Program& command = scene.start(std::move(words));
  EXPECT_EQ(command.wait(kRunLimit), 0) << command.err();
  return command.out();
}

// Counts the recorded rounds of both replicas of a stage.
std::ptrdiff_t whole_rounds(const ProcessScene& scene, const std::string& stage) {
  const auto events = scene.records().events;
  return std::ranges::count_if(events, [&](const EventLine& event) {
    return event.event == "round" && event.subject.starts_with("stage " + stage + " ") &&
           event.reason.starts_with("the mean of 2 replicas ");
  });
}

// Waits until each stage agrees on rounds of both replicas again.
bool wait_until_whole(const ProcessScene& scene) {
  const std::map<std::string, std::ptrdiff_t> before{{"0", whole_rounds(scene, "0")}, {"1", whole_rounds(scene, "1")}};
  return wait_until(
      [&] {
        return std::ranges::all_of(before, [&](const auto& seen) {
          return whole_rounds(scene, seen.first) > seen.second + 1;  // one may have been on its way to the file
        });
      },
      kRunLimit);
}

// SIGKILL to the worker of a node, and until all are there again: both killed may serve one stage, and without either
// the run would go back.
void kill_and_wait_until_whole(const ProcessScene& scene, const std::string& node) {
  const auto worker = scene.worker_of(node);
  ASSERT_TRUE(worker);
  const std::size_t steps = scene.records().steps.size();
  ASSERT_EQ(::kill(worker->pid, SIGKILL), 0);
  ASSERT_TRUE(scene.wait_for_steps(steps + 20));
  ASSERT_TRUE(wait_until_whole(scene));
}

bool is_told_of_a_round(const ProcessScene& scene, const std::string& words) {
  return std::ranges::any_of(scene.records().events, [&](const EventLine& event) {
    return event.event == "round" && event.reason.find(words) != std::string::npos;
  });
}

constexpr int kKillsMax = 8;  // one that comes between two rounds costs nothing

// The run is stopped as soon as it is whole again, however fast its steps are.
TEST(Rounds, WhoIsKilledComesBackFromTheOuterStateAndNoTokenIsUnaccountedFor) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", diloco_run(kEndless, {"checkpoint.every=50"})));
  ASSERT_TRUE(scene.wait_for_steps(12));
  const auto something_is_lost = [&] {
    return std::ranges::any_of(scene.records().events, [](const EventLine& event) {
      return event.event == "round" && event.reason.find(" 0 tokens lost") == std::string::npos;
    });
  };
  for (int kills = 0; kills < 2 || (kills < kKillsMax && !something_is_lost()); ++kills) {
    ASSERT_NO_FATAL_FAILURE(kill_and_wait_until_whole(scene, kills % 2 == 0 ? "node1" : "node4"));
  }
  const std::string shown = said(scene, {"status", "--run", scene.run().string()});
  EXPECT_NE(shown.find("\nrounds: "), std::string::npos) << shown;
  EXPECT_NE(shown.find(" approximated\n"), std::string::npos) << shown;
  program.signal(SIGINT);
  ASSERT_EQ(program.wait(kRunLimit), 130);
  const auto rounds = rounds_of(scene, "run");
  const auto records = scene.records();
  ASSERT_EQ(records.finals.size(), 1U);
  EXPECT_EQ(records.steps.size(), records.finals.front().steps) << "each committed step is there once";
  const std::uint64_t rounds_of_all = records.steps.size() / 5;
  const std::uint64_t committed = rounds_of_all * 5 * tokens_of_a_step(rounds);
  for (const std::uint32_t stage : {0U, 1U}) {
    EXPECT_EQ(merged_tokens(rounds, StageId{stage}) + lost_tokens(rounds, StageId{stage}), committed) << stage;
  }
  EXPECT_GT(lost_tokens(rounds, StageId{0}) + lost_tokens(rounds, StageId{1}), 0U);
  EXPECT_EQ(rounds.back().shares.size(), 2U) << "whole again at the end";
  std::map<std::uint64_t, std::uint64_t> lost_by_round;  // the most that one stage lost
  for (const CommitRound& round : rounds) {
    if (round.round.fragment != 0) continue;
    std::uint64_t& most = lost_by_round[round.round.number];
    most = std::max(most, round.tokens_lost);
  }
  std::uint64_t lost = 0;
  for (const auto& [number, tokens] : lost_by_round) lost += tokens;
  const std::string summary = said(scene, {"trace", "summary", scene.run().string()});
  EXPECT_NE(summary.find("\nROUNDS\n  " + std::to_string(lost) + " tokens lost"), std::string::npos) << summary;
}

// Rounds are long here, so that the kill falls between the contributions of two of them: the first one that does.
TEST(Rounds, WithRequeueLostWhatDiedWithAWorkerIsTrainedAgain) {
  ProcessScene scene;
  const SmallRun small = diloco_run(kEndless, {"sync.H=20", "sync.requeue_lost=true", "trace.level=all"});
  Program& program = scene.start(train(scene, "run", small));
  ASSERT_TRUE(scene.wait_for_steps(25));
  const std::string told = " trained again from step ";
  for (int kills = 0; kills < kKillsMax && !is_told_of_a_round(scene, told); ++kills) {
    ASSERT_NO_FATAL_FAILURE(kill_and_wait_until_whole(scene, "node1"));
  }
  EXPECT_TRUE(is_told_of_a_round(scene, told));
  scene.stop(program);
  EXPECT_EQ(scene.records().steps.size(), scene.records().finals.back().steps);
  std::uint64_t tokens = 0;
  std::size_t requeued = 0;
  for (const CommitRound& round : rounds_of(scene, "run")) {
    tokens += round.tokens_lost;
    requeued += round.lost.size();
  }
  EXPECT_GT(tokens, 0U);
  EXPECT_GT(requeued, 0U);
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
}

// Returns the number that `shoal eval` prints after this word.
double number_of(const std::string& printed, const std::string& word) {
  const auto at = printed.find(word + " ");
  EXPECT_NE(at, std::string::npos) << printed;
  return at == std::string::npos ? 0 : std::stod(printed.substr(at + word.size() + 1));
}

class Ending : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Ending, IsTheModelOfEveryRoundAndIsWhatWasEvaluatedAndSaved) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", diloco_run(15, GetParam()), {"--steps", "10"})), 0);
  EXPECT_EQ(rounds_of(scene, "run").size(), 4U) << "two of each stage, the last one at the end";
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run().string()}), 0);
  const auto rounds = rounds_of(scene, "run");
  EXPECT_EQ(rounds.size(), 6U);
  for (const CommitRound& round : rounds) EXPECT_EQ(round.tokens_lost, 0U) << round.round.number;
  const auto records = scene.records();
  ASSERT_EQ(records.evaluations.size(), 2U);
  EXPECT_NE(records.steps.size(), 0U);
  for (const EvalLine& line : records.evaluations) {
    Program& eval = scene.start({"eval", scene.run().string(), "--step", std::to_string(line.step)});
    ASSERT_EQ(eval.wait(kRunLimit), 0);
    EXPECT_NEAR(number_of(eval.out(), "loss"), line.val_loss, 1e-5) << line.step;
  }
  EXPECT_GT(std::abs(records.evaluations[0].val_loss - records.evaluations[1].val_loss), 1e-3) << "the control";
}

INSTANTIATE_TEST_SUITE_P(Rounds, Ending,
                         testing::Values(std::vector<std::string>{}, std::vector<std::string>{"sync.overlap=2"},
                                         std::vector<std::string>{"sync.outer_update=delayed"},
                                         std::vector<std::string>{"sync.outer_update=eager"}));

// The first to come closes a round where the quorum is one. The other one misses it, and stays the member it was.
class Late : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Late, ForARoundStaysAndOnlyItsTokensAreLost) {
  std::vector<std::string> sets = GetParam();
  sets.insert(sets.end(), {"sync.quorum=1", "trace.level=all"});
  constexpr int kSteps = 30;
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", diloco_run(kSteps, sets))), 0);
  const auto rounds = rounds_of(scene, "run");
  EXPECT_GE(rounds.size(), 12U) << "six of each stage and fragment";
  std::size_t missed = 0;
  std::uint64_t contributed = 0;  // steps, to rounds of the first fragment
  for (const CommitRound& round : rounds) {
    missed += 2 - round.shares.size();
    if (round.round.fragment == 0) contributed = std::max(contributed, round.step.value);
  }
  EXPECT_GT(missed, 0U) << "TwoRunsOfTheSameSettingsEndWithTheSameBits is the control";
  EXPECT_TRUE(entries_of<RemoveReplica>(scene, "run").empty());
  EXPECT_EQ(entries_of<AddReplica>(scene, "run").size(), 4U);
  const auto records = scene.records();
  ASSERT_EQ(records.finals.size(), 1U);
  const std::uint64_t committed = records.finals[0].tokens_total / kSteps * contributed;
  for (const std::uint32_t stage : {0U, 1U}) {
    EXPECT_EQ(merged_tokens(rounds, StageId{stage}) + lost_tokens(rounds, StageId{stage}), committed) << stage;
  }
  const auto count = [&](const std::string& event) {
    return std::ranges::count_if(records.events, [&](const EventLine& line) { return line.event == event; });
  };
  EXPECT_EQ(count("round_closed"), static_cast<std::ptrdiff_t>(missed));
  EXPECT_EQ(count("digest_mismatch"), 0);
  EXPECT_LT(records.steps.back().loss, records.steps.front().loss);
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
}

INSTANTIATE_TEST_SUITE_P(Rounds, Late,
                         testing::Values(std::vector<std::string>{"sync.inner_state=average"},
                                         std::vector<std::string>{"sync.fragments=2", "sync.overlap=2"},
                                         std::vector<std::string>{"sync.outer_update=eager", "sync.wire=e3m0",
                                                                  "sync.backend=owner", "sync.error_feedback=true"},
                                         std::vector<std::string>{"sync.outer_update=delayed", "sync.outer_lr=0.3"}));

// Every way to synchronise ends well and learns by its outer update. The control: with one that moves nothing the loss
// falls within each round, and from one to the next it does not.
class EveryWay : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(EveryWay, Learns) {
  constexpr double kLearnt = 1.0;  // nats; about two
  std::vector<std::string> idle = GetParam();
  idle.push_back("sync.outer_lr=1e-9");
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", diloco_run(30, GetParam()))), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "idle", diloco_run(30, idle))), 0);
  const auto learning = scene.records().steps;
  const auto standing = scene.records("idle").steps;
  ASSERT_EQ(learning.size(), 30U);
  ASSERT_EQ(standing.size(), 30U);
  EXPECT_LT(learning.back().loss, learning.front().loss - kLearnt);
  EXPECT_GT(standing.back().loss, standing.front().loss - kLearnt);
}

INSTANTIATE_TEST_SUITE_P(Rounds, EveryWay,
                         testing::Values(std::vector<std::string>{"sync.fragments=2", "sync.overlap=2"},
                                         std::vector<std::string>{"sync.outer_update=eager"},
                                         std::vector<std::string>{"sync.outer_update=delayed", "sync.outer_lr=0.3"},
                                         std::vector<std::string>{"sync.wire=e3m0", "sync.backend=owner",
                                                                  "sync.error_feedback=true"},
                                         std::vector<std::string>{"sync.wire=int8", "sync.reduction=exact"}));

}  // namespace
}  // namespace shoal::rounds_test
