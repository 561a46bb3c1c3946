// Fewer workers than stages x replicas (`swarm.share_devices`): a worker serves several stages, with the bits of one
// process, whatever is killed; a node that comes late takes a stage over.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <set>

#include "runtime/journal/store.h"
#include "runtime/journal/view.h"
#include "tests/support/process_scene.h"
#include "tests/system/deaths/counted_events.h"

namespace shoal::shared_device_test {
namespace {

constexpr Milliseconds kSoon{20'000};

SmallRun shared(int stages, int replicas, int steps) {
  return {stages, replicas, steps, {"sync.reduction=exact", "checkpoint.every=10", "swarm.share_devices=true"}};
}

// Stages by process, as the members of the journal's end; `most`: of one process at any moment.
struct Serving {
  std::map<ProcessIncarnation, std::set<StageId>> at_the_end;
  std::size_t most = 0;
};

Serving serving_in(const ProcessScene& scene) {
  Serving serving;
  auto journal = open_journal(scene.run() / "journal.db");
  if (!journal.ok()) return serving;
  const auto entries = (*journal)->load(JournalPosition{}, (*journal)->last_position().value);
  if (!entries.ok()) return serving;
  View view;
  for (const JournalEntry& entry : *entries) {
    view.apply(entry);
    serving.at_the_end.clear();
    for (std::uint32_t stage = 0; stage < view.stage_count(); ++stage) {
      for (const ReplicaMember& member : view.replicas_of(StageId{stage})) {
        const auto& stages = serving.at_the_end[member.process];
        EXPECT_FALSE(stages.contains(StageId{stage})) << "P-25b";
        serving.at_the_end[member.process].insert(StageId{stage});
        serving.most = std::max(serving.most, stages.size());
      }
    }
  }
  return serving;
}

TEST(SharedDevice, OneWorkerOfTwoStagesHasTheBitsOfTwoWorkersAndOfOneProcess) {
  ProcessScene scene;
  const SmallRun run = shared(2, 1, 20);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", run, {"--nodes", "1"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "two", run)), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "single", run, {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "other", run, {"--single", "--set", "run.seed=8"})), 0);
  EXPECT_EQ(serving_in(scene).most, 2U);
  EXPECT_EQ(scene.records().weights().size(), 64U);
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
  EXPECT_EQ(scene.records("two").weights(), scene.records("single").weights());
  EXPECT_NE(scene.records("other").weights(), scene.records("single").weights()) << "the control: bits do differ";
}

// All its stages are lost at once: the run goes back to a checkpoint.
TEST(SharedDevice, AKilledWorkerComesBackToAllItsStages) {
  ProcessScene scene;
  const SmallRun run = shared(2, 1, kEndless);
  Program& program = scene.start(train(scene, "run", run, {"--nodes", "1"}));
  ASSERT_TRUE(scene.wait_for_steps(15));
  const auto victim = scene.worker_of("node1");
  ASSERT_TRUE(victim);
  ASSERT_EQ(::kill(victim->pid, SIGKILL), 0);
  ASSERT_TRUE(wait_until([&] { return count_of(scene.records(), "rolled_back") > 0; }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 10));
  ASSERT_TRUE(scene.stop_and_repeat_single(program, run));
  EXPECT_EQ(serving_in(scene).most, 2U);
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

// Another worker serves each stage, too: nothing is trained again, and both replicas come back.
TEST(SharedDevice, AKilledWorkerOfTwoCopiesBothItsStages) {
  ProcessScene scene;
  const SmallRun run = shared(2, 2, kEndless);
  Program& program = scene.start(train(scene, "run", run, {"--nodes", "2"}));
  ASSERT_TRUE(scene.wait_for_steps(5));
  const auto victim = scene.worker_of("node2");
  ASSERT_TRUE(victim);
  ASSERT_EQ(::kill(victim->pid, SIGKILL), 0);
  ASSERT_TRUE(wait_until([&] { return count_of(scene.records(), "replica_added") == 2; }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 10));
  ASSERT_TRUE(scene.stop_and_repeat_single(program, run));
  EXPECT_EQ(count_of(scene.records(), "rolled_back"), 0U);
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
  const auto serving = serving_in(scene).at_the_end;
  EXPECT_EQ(serving.size(), 2U);
  for (const auto& [process, stages] : serving) EXPECT_EQ(stages.size(), 2U);
}

Program& start_node(ProcessScene& scene, const std::string& name, std::vector<std::string> join) {
  join.insert(join.end(), {"--name", name});
  return scene.start(std::move(join));
}

Program& start_spawner(ProcessScene& scene, const SmallRun& run, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"spawner", "--out", scene.run().string()};
  for (const std::string& word : settings_of(scene, run)) words.push_back(word);
  words.insert(words.end(), more.begin(), more.end());
  return scene.start(std::move(words));
}

TEST(SharedDevice, ANodeThatComesLateTakesAStageOver) {
  ProcessScene scene;
  const SmallRun run = shared(2, 1, kEndless);
  Program& spawner = start_spawner(scene, run);
  const auto join = wait_for_join_words(spawner);
  Program& early = start_node(scene, "early", join);
  ASSERT_TRUE(scene.wait_for_steps(5));
  Program& late = start_node(scene, "late", join);
  ASSERT_TRUE(wait_until([&] { return count_of(scene.records(), "giving_way") > 0; }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 10));
  ASSERT_TRUE(scene.stop_and_repeat_single(spawner, run));
  EXPECT_EQ(early.wait(kSoon), 0) << early.err();
  EXPECT_EQ(late.wait(kSoon), 0) << late.err();
  EXPECT_EQ(count_of(scene.records(), "rolled_back"), 0U);
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
  const auto serving = serving_in(scene).at_the_end;
  EXPECT_EQ(serving.size(), 2U);
  for (const auto& [process, stages] : serving) EXPECT_EQ(stages.size(), 1U);
}

// The control: a run whose devices are not shared waits for the second node.
TEST(SharedDevice, WhereTheyAreNotSharedOneWorkerIsTooFew) {
  ProcessScene scene;
  Program& spawner = start_spawner(scene, {2, 1, 20, {"sync.reduction=exact"}}, {"--wait-timeout", "6"});
  (void)start_node(scene, "only", wait_for_join_words(spawner));
  EXPECT_EQ(spawner.wait(kRunLimit), 4);
  EXPECT_TRUE(scene.records().steps.empty());
}

}  // namespace
}  // namespace shoal::shared_device_test
