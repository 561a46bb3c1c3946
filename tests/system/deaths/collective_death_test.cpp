// Whole runs whose steps are summed by a library of collectives: that of the tests, over host memory. Bits, the death
// of a worker in the middle of a sum, a sum that hangs, and the refusal where there is no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/nccl/planted.h"
#include "tests/support/process_scene.h"

namespace shoal::collective_death_test {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int kSteps = 30;

SmallRun exact(int stages, int replicas, int steps = kSteps) {
  return {stages, replicas, steps, {"sync.reduction=exact", "sync.backend=nccl", "sync.private_network=127.0.0.0/8"}};
}

SmallRun ring(SmallRun small) {
  small.sets = {"sync.reduction=exact"};
  return small;
}

// A scene whose processes find the tests' library, and a folder where faults are planted.
class NcclScene : public ProcessScene {
 public:
  NcclScene() : faults_(make_folder("nccl")) {
    ::setenv(planted::kVariable, faults_.c_str(), 1);
    set_environment(
        {{"LD_LIBRARY_PATH", std::string(SHOAL_BUILD_DIR) + "/tests-nccl"}, {planted::kVariable, faults_.string()}});
  }
  ~NcclScene() { ::unsetenv(planted::kVariable); }

  // Lines that the library has written.
  [[nodiscard]] int count(const std::string& word) const {
    std::ifstream log(faults_ / "sums.log");
    int found = 0;
    for (std::string line; std::getline(log, line);) found += line == word ? 1 : 0;
    return found;
  }
  [[nodiscard]] bool wait_for_sums(int sums) const {
    const auto end = std::chrono::steady_clock::now() + kRunLimit;
    while (std::chrono::steady_clock::now() < end) {
      if (count("sum") >= sums) return true;
      std::this_thread::yield();
    }
    return false;
  }

 private:
  std::filesystem::path faults_;
};

TEST(Nccl, HasTheBitsOfOneProcess) {
  NcclScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "single", ring(exact(2, 2)), {"--single"})), 0);
  EXPECT_EQ(scene.count("sum"), 0) << "control";
  ASSERT_EQ(scene.run_to_end(train(scene, "run", exact(2, 2))), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
  EXPECT_EQ(scene.records().weights().size(), 64U);
  EXPECT_EQ(scene.count("sum"), 2 * kSteps) << "each step of each stage";
  EXPECT_EQ(scene.count("communicator"), 2) << "one per stage";
}

TEST(Nccl, AWorkerIsKilledInTheMiddleOfASum) {
  NcclScene scene;
  const SmallRun small = exact(1, 2, kEndless);
  Program& program = scene.start(train(scene, "run", small));
  ASSERT_TRUE(scene.wait_for_steps(3));
  planted::plant("sum_hangs");
  ASSERT_TRUE(scene.wait_for_sums(scene.count("sum") + 1));
  const auto worker = scene.worker_of("node2");
  ASSERT_TRUE(worker);
  ::kill(worker->pid, SIGKILL);
  planted::remove("sum_hangs");
  ASSERT_TRUE(scene.wait_for_steps(12));
  EXPECT_GE(scene.count("communicator"), 2) << "another one for the members that there are now";
  ASSERT_TRUE(scene.stop_and_repeat_single(program, ring(small)));
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

TEST(Nccl, ASumThatHangsIsOpenedAgainAndGoesOverTheRing) {
  NcclScene scene;
  const SmallRun small = exact(1, 2, kEndless);
  Program& program = scene.start(train(scene, "run", small));
  ASSERT_TRUE(scene.wait_for_steps(3));
  const int communicators = scene.count("communicator");
  planted::plant("sum_hangs");
  const auto steps = scene.records().steps.size();
  ASSERT_TRUE(scene.wait_for_steps(steps + 1)) << "the library still hangs";
  planted::remove("sum_hangs");
  ASSERT_TRUE(scene.wait_for_steps(steps + 10));
  EXPECT_GT(scene.count("communicator"), communicators) << "it is tried again";
  ASSERT_TRUE(scene.stop_and_repeat_single(program, ring(small)));
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

TEST(Nccl, IsRefusedWhereThereIsNoGpu) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", exact(1, 2)));
  EXPECT_EQ(program.wait(kRunLimit), 2);
  EXPECT_THAT(program.err(), HasSubstr("NCCL sums on GPUs, and this run computes on processors"));
}

// Nodes that are started apart from their spawner may have none: their stages sum over the ring, and each says so once.
TEST(Nccl, NodesWithoutAGpuTakeTheRingAndAPersonIsTold) {
  ProcessScene scene;
  std::vector<std::string> words{"spawner", "--out", scene.run().string()};
  for (auto& word : settings_of(scene, exact(2, 2))) words.push_back(std::move(word));
  Program& spawner = scene.start(std::move(words));
  const auto join = wait_for_join_words(spawner);
  ASSERT_FALSE(join.empty()) << spawner.err();
  for (const char* const name : {"node1", "node2", "node3", "node4"}) {
    auto node = join;
    node.insert(node.end(), {"--name", name});
    scene.start(std::move(node));
  }
  ASSERT_EQ(spawner.wait(kRunLimit), 0) << spawner.err();
  std::vector<std::string> told;
  for (const EventLine& event : scene.records().events) {
    if (event.event == "sums_chosen") told.push_back(event.subject + ": " + event.reason);
  }
  const std::string why = "sums go over the ring: NCCL sums on GPUs, and the replica computes on a processor";
  EXPECT_THAT(told, UnorderedElementsAre("sync_group/0: " + why, "sync_group/1: " + why));
  EXPECT_THAT(spawner.err(), HasSubstr("[sums_chosen] sync_group/0: " + why));
}

}  // namespace
}  // namespace shoal::collective_death_test
