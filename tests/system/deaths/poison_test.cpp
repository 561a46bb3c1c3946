// A microbatch that ends whoever computes it, with real processes: it costs two replicas, is quarantined and named, and
// the run ends well, with the bits of one process that left this microbatch out.
#include <gtest/gtest.h>

#include "runtime/journal/store.h"
#include "tests/support/process_scene.h"
#include "tests/system/deaths/counted_events.h"

namespace shoal::poison_test {
namespace {

constexpr int kSteps = 30;
constexpr Milliseconds kSoon{60'000};

SmallRun poisoned_run() { return {2, 2, kSteps, {"sync.reduction=exact", "trace.level=all", "checkpoint.every=5"}}; }

std::vector<Quarantine> quarantines_of(const ProcessScene& scene) {
  std::vector<Quarantine> found;
  auto journal = open_journal(scene.run() / "journal.db");
  EXPECT_TRUE(journal.ok());
  if (!journal.ok()) return found;
  const auto entries = (*journal)->load(JournalPosition{}, (*journal)->last_position().value);
  EXPECT_TRUE(entries.ok());
  for (const JournalEntry& entry : entries.ok() ? *entries : std::vector<JournalEntry>{}) {
    if (const auto* quarantine = std::get_if<Quarantine>(&entry.body)) found.push_back(*quarantine);
  }
  return found;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class PoisonedRun : public testing::TestWithParam<const char*> {};

TEST_P(PoisonedRun, EndsWellWithoutTheOneMicrobatch) {
  ProcessScene scene;
  scene.set_environment({{"SHOAL_POISON", std::string(GetParam()) + ":7/3/1"}});
  ASSERT_EQ(scene.run_to_end(train(scene, "single", poisoned_run(), {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", poisoned_run())), 0);
  const auto found = quarantines_of(scene);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].step, StepId{7});
  EXPECT_EQ(found[0].microbatch, MicrobatchId{3});
  const auto records = scene.records();
  EXPECT_EQ(count_of(records, "microbatch_quarantined"), 1U);
  const auto steps = records.steps;
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back().step, static_cast<std::uint64_t>(kSteps - 1));
  EXPECT_EQ(records.weights().size(), 64U);
  EXPECT_EQ(records.weights(), scene.records("single").weights());
  Program& check = scene.start({"trace", "check", scene.run().string()});
  EXPECT_EQ(check.wait(kSoon), 0) << check.out() << check.err();
  scene.set_environment({});
  ASSERT_EQ(scene.run_to_end(train(scene, "whole", poisoned_run(), {"--single"})), 0);
  EXPECT_NE(records.weights(), scene.records("whole").weights()) << "the control: the microbatch matters";
}

// A step of one microbatch, which ends whoever computes it: another start would come to the same.
SmallRun hopeless_run(int replicas) { return {2, replicas, kSteps, {"batch.microbatch=16", "checkpoint.every=5"}}; }

void expect_given_up_once(const RunRecords& records) {
  EXPECT_EQ(count_of(records, "failed"), 1U);
  EXPECT_TRUE(has(records.last_line, "no other microbatch of the step is left")) << records.last_line;
  ASSERT_FALSE(records.steps.empty());
  EXPECT_EQ(records.steps.back().step, 6U);
}

TEST_P(PoisonedRun, EndsOnceWhereAStepHasNoMicrobatchLeft) {
  ProcessScene scene;
  scene.set_environment({{"SHOAL_POISON", std::string(GetParam()) + ":7/0/1"}});
  Program& program = scene.start(train(scene, "run", hopeless_run(2)));
  ASSERT_EQ(program.wait(kSoon), 1) << program.err();
  EXPECT_TRUE(has(program.err(), "no other microbatch of the step is left")) << program.err();
  expect_given_up_once(scene.records());
}

TEST_P(PoisonedRun, EndsOnceForNodesThatWereStartedByHand) {
  ProcessScene scene;
  scene.set_environment({{"SHOAL_POISON", std::string(GetParam()) + ":7/0/1"}});
  std::vector<std::string> words = settings_of(scene, hopeless_run(1));
  words.insert(words.begin(), {"spawner", "--out", scene.run().string()});
  Program& spawner = scene.start(words);
  std::vector<Program*> nodes;
  for (const std::string name : {"one", "two"}) {
    std::vector<std::string> join = wait_for_join_words(spawner);
    join.insert(join.end(), {"--name", name});
    nodes.push_back(&scene.start(join));
  }
  ASSERT_EQ(spawner.wait(kSoon), 1) << spawner.err();
  for (Program* node : nodes) EXPECT_EQ(node->wait(kSoon), 1) << node->err();
  expect_given_up_once(scene.records());
}

INSTANTIATE_TEST_SUITE_P(How, PoisonedRun, testing::Values("throw", "abort"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace shoal::poison_test
