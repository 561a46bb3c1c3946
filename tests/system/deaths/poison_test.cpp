// A microbatch that ends whoever computes it, with real processes: it costs two replicas, is quarantined and named, and
// the run ends well, with the bits of one process that left this microbatch out.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/storage/journal.h"
#include "tests/support/process_scene.h"

namespace shoal {
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

std::size_t count_of(const RunRecords& records, const std::string& event) {
  return static_cast<std::size_t>(
      std::ranges::count_if(records.events, [&](const EventLine& line) { return line.event == event; }));
}

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

INSTANTIATE_TEST_SUITE_P(How, PoisonedRun, testing::Values("throw", "abort"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace shoal
