// A worker that is killed comes back while the others train, with the state of its peers: at the end the view is whole,
// the worker has worked again, and the bits are those of one process.
#include <gtest/gtest.h>
#include <signal.h>

#include "runtime/journal/store.h"
#include "runtime/journal/view.h"
#include "tests/support/journal/journal_facts.h"
#include "tests/support/process_scene.h"
#include "tests/system/deaths/counted_events.h"

namespace shoal::rejoin_test {
namespace {

SmallRun run_to_disturb(const std::string& reduction = "exact") {
  return {2, 2, kEndless, {"sync.reduction=" + reduction, "checkpoint.every=50"}};
}

std::vector<JournalEntry> entries_of(const ProcessScene& scene) {
  auto journal = open_journal(scene.run() / "journal.db");
  EXPECT_TRUE(journal.ok());
  if (!journal.ok()) return {};
  auto entries = (*journal)->load(JournalPosition{}, (*journal)->last_position().value);
  EXPECT_TRUE(entries.ok());
  return entries.ok() ? std::move(*entries) : std::vector<JournalEntry>{};
}

class Rejoin : public testing::Test {
 protected:
  void start(const SmallRun& small) {
    small_ = small;
    program = &scene.start(train(scene, "run", small));
    ASSERT_TRUE(scene.wait_for_steps(5));
  }
  // And waits until a replica was added for it.
  void kill_worker(const std::string& node) {
    const auto victim = scene.worker_of(node);
    ASSERT_TRUE(victim);
    const std::size_t added = count_of(scene.records(), "replica_added");
    ASSERT_EQ(::kill(victim->pid, SIGKILL), 0);
    ASSERT_TRUE(wait_until([&] { return count_of(scene.records(), "replica_added") > added; }, kRunLimit))
        << node << " did not come back";
  }
  // And, as far as it went, what one process makes of the same steps.
  void expect_whole_at_the_end() {
    ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 10));
    ASSERT_TRUE(scene.stop_and_repeat_single(*program, small_));
    EXPECT_EQ(scene.records().steps.size(), scene.records("single").steps.size());
    const auto entries = entries_of(scene);
    View view;
    for (const JournalEntry& entry : entries) view.apply(entry);
    for (const std::uint32_t stage : {0U, 1U}) EXPECT_EQ(view.replicas_of(StageId{stage}).size(), 2U) << stage;
    EXPECT_GT(contributed_by_joiners(entries), 0U);
  }

  ProcessScene scene;
  Program* program = nullptr;

 private:
  SmallRun small_;
};

TEST_F(Rejoin, AKilledWorkerIsReplacedWhileTheOthersTrainAndTheBitsStayAsTheyAre) {
  start(run_to_disturb());
  kill_worker("node1");
  expect_whole_at_the_end();
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

TEST_F(Rejoin, EveryWorkerInTurn) {
  start(run_to_disturb());
  for (const std::string node : {"node1", "node2", "node3", "node4"}) kill_worker(node);
  expect_whole_at_the_end();
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

// Other bits than those of one process, but the replicas of a stage are equal: none is added that is not.
TEST_F(Rejoin, InFastModeToo) {
  start(run_to_disturb("fast"));
  kill_worker("node2");
  expect_whole_at_the_end();
  EXPECT_EQ(count_of(scene.records(), "state_differs"), 0U);
}

TEST_F(Rejoin, AStageActorThatEndsIsStartedAgainInItsProcess) {
  start(run_to_disturb());
  const std::size_t joined = count_of(scene.records(), "joined");
  for (const std::string how : {"throw", "exit", "kill"}) {
    const std::size_t added = count_of(scene.records(), "replica_added");
    ASSERT_EQ(scene.run_to_end({"kill", "stage/1/0", "--how", how, "--run", scene.run().string()}), 0);
    ASSERT_TRUE(wait_until([&] { return count_of(scene.records(), "replica_added") > added; }, kRunLimit)) << how;
  }
  expect_whole_at_the_end();
  EXPECT_EQ(count_of(scene.records(), "joined"), joined) << "no process was started again";
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

}  // namespace
}  // namespace shoal::rejoin_test
