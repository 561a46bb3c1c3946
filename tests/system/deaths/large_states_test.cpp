// A state of several pieces (P-26b) is saved, copied and restored, and whoever gives or takes it is killed in the
// middle: the run ends with the bits of one process.
//
// The emulator of links shows the middle: a link that carries nothing else is slow, and some of the state's bytes have
// come over it, but not all.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/image/image_source.h"
#include "tests/emulator/emulator.h"
#include "tests/support/process_scene.h"
#include "tests/system/deaths/counted_events.h"

namespace shoal::large_states_test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr Milliseconds kSoon{60'000};
const char* const kSlow = " bytes_per_s=20000000";  // all of the state in three seconds
constexpr std::uint64_t kWrapping = 1U << 20U;      // what else goes over a link meanwhile, at most

// One layer so wide that its state has four pieces; few tokens, so that a step is short.
SmallRun wide_run(int replicas) {
  return {1,
          replicas,
          kEndless,
          {"sync.reduction=exact", "model.layers=1", "model.width=640", "model.context=16", "batch.sequences=4",
           "batch.microbatch=1", "optim.lr=0.001", "checkpoint.every=3", "checkpoint.keep=0"}};
}

std::uint64_t bytes_of_pieces(std::uint64_t count) { return count * kImagePieceBytes.usual(); }

// In each checkpoint that there is.
void expect_several_pieces(const ProcessScene& scene) {
  const auto steps = list_checkpoints(scene.run() / "checkpoints");
  EXPECT_FALSE(steps.empty());
  for (const std::uint64_t step : steps) {
    const fs::path shard = checkpoint_folder(scene.run() / "checkpoints", step) / "stage_0.safetensors";
    EXPECT_GT(fs::file_size(shard), bytes_of_pieces(3)) << shard;
  }
}

// The state that one process has after as many steps.
std::string weights_of_single(ProcessScene& scene, const std::string& steps, const Words& words = {}) {
  Words all{"--single", "--steps", steps, "--set", "checkpoint.every=0"};
  all.insert(all.end(), words.begin(), words.end());
  const std::string name = words.empty() ? "single" : "other";
  EXPECT_EQ(scene.run_to_end(train(scene, name, wide_run(1), all)), 0);
  EXPECT_EQ(scene.records(name).weights().size(), 64U);
  return scene.records(name).weights();
}

bool wait_for(const ProcessScene& scene, const std::string& event, std::size_t count = 1) {
  return wait_until([&] { return count_of(scene.records(), event) >= count; }, kSoon);
}

// Stops a run and compares it with one process.
void expect_equal_bits(ProcessScene& scene, Program& program) {
  const Words as_far = scene.stop(program);
  expect_several_pieces(scene);
  EXPECT_EQ(scene.records().weights(), weights_of_single(scene, as_far[1]));
}

Words resumed(const ProcessScene& scene, const std::string& steps, const Words& words = {}) {
  Words all{"train", "--resume", scene.run().string(), "--steps", steps};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

class KilledRun : public testing::TestWithParam<Words> {};

TEST_P(KilledRun, OfALargeStateGoesOnWithTheSameBits) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", wide_run(2)));
  ASSERT_TRUE(wait_for(scene, "checkpoint"));
  program.signal(SIGKILL);
  ASSERT_EQ(program.wait(kRunLimit), 128 + SIGKILL);
  ASSERT_TRUE(scene.wait_until_all_gone(kSoon));
  expect_several_pieces(scene);
  const std::string steps = std::to_string(scene.records().steps.back().step + 4);
  ASSERT_EQ(scene.run_to_end(resumed(scene, steps, GetParam())), 0);
  EXPECT_EQ(scene.records().weights(), weights_of_single(scene, steps));
  EXPECT_NE(scene.records().weights(), weights_of_single(scene, steps, {"--set", "run.seed=8"})) << "the control";
}

INSTANTIATE_TEST_SUITE_P(By, KilledRun, testing::Values(Words{}, Words{"--single"}),
                         [](const auto& tested) { return tested.index == 0 ? "Replicas" : "OneProcess"; });

TEST(LargeStates, ACheckpointOfOneProcessIsGoneOnFromByReplicas) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", wide_run(2), {"--single", "--steps", "3"})), 0);
  expect_several_pieces(scene);
  ASSERT_EQ(scene.run_to_end(resumed(scene, "6")), 0);
  EXPECT_EQ(scene.records().weights(), weights_of_single(scene, "6"));
}

TEST(LargeStates, AKilledWorkerCopiesItsPeersWhileTheyTrain) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", wide_run(2)));
  ASSERT_TRUE(scene.wait_for_steps(3));
  const auto victim = scene.worker_of("node1");
  ASSERT_TRUE(victim);
  ASSERT_EQ(::kill(victim->pid, SIGKILL), 0);
  ASSERT_TRUE(wait_for(scene, "replica_added"));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 3));
  EXPECT_EQ(count_of(scene.records(), "rolled_back"), 0U);
  EXPECT_EQ(count_of(scene.records(), "state_differs"), 0U);
  expect_equal_bits(scene, program);
}

class StateUnderWay : public testing::Test {
 protected:
  StateUnderWay() { scene.set_environment(network.environment()); }

  void say(const std::string& command) { ASSERT_TRUE(network.command(command).ok()) << command; }
  void slow_down(const std::string& name) { say("shape " + name + " <-> *" + kSlow); }
  void heal(const std::string& name) { say("heal " + name + " <-> *"); }

  // Waits until a piece and more has come over one of the links since this was called, and not all of a state.
  // Returns its sender; empty: nothing came.
  [[nodiscard]] std::string wait_for_giver(const std::vector<LinkEnds>& links) {
    std::vector<std::uint64_t> before;
    for (const LinkEnds& link : links) before.push_back(network.counts(link.from, link.to).bytes);
    std::string giver;
    std::uint64_t come = 0;
    const auto gives = [&] {
      for (std::size_t at = 0; at < links.size() && giver.empty(); ++at) {
        come = network.counts(links[at].from, links[at].to).bytes - before[at];
        if (come > bytes_of_pieces(1) + kWrapping) giver = links[at].from;
      }
      return !giver.empty();
    };
    EXPECT_TRUE(wait_until(gives, kSoon)) << "no state was seen on its way";
    EXPECT_LT(come, bytes_of_pieces(3)) << "it came too fast for a kill in the middle";
    return giver;
  }
  void kill_like(const std::string& words) {
    const auto found = named_like(scene.processes(), words);
    ASSERT_EQ(found.size(), 1U) << words;
    ASSERT_EQ(::kill(found.front().pid, SIGKILL), 0);
  }
  void kill_worker(const std::string& node) {
    const auto victim = scene.worker_of(node);
    ASSERT_TRUE(victim) << node;
    ASSERT_EQ(::kill(victim->pid, SIGKILL), 0);
  }
  // Kills the last node's worker, and then whoever gives its successor a state. The joiner's link is whole afterwards.
  void kill_joiner_and_donor(const Words& others, const std::string& joiner) {
    std::vector<LinkEnds> links;
    for (const std::string& other : others) links.push_back({other, joiner});
    ASSERT_NO_FATAL_FAILURE(kill_worker(joiner));
    slow_down(joiner);
    const std::string donor = wait_for_giver(links);
    ASSERT_NO_FATAL_FAILURE(kill_worker(donor));
    EXPECT_EQ(count_of(scene.records(), "replica_added"), 0U) << "the copy was over before";
    heal(joiner);
  }
  void expect_equal_bits_after_more(std::size_t steps) {
    ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + steps));
    expect_equal_bits(scene, *program);
  }

  LinkEmulator network{1};
  ProcessScene scene;
  Program* program = nullptr;
};

TEST_F(StateUnderWay, OfAKilledDonorIsTakenFromAnother) {
  program = &scene.start(train(scene, "run", wide_run(3)));
  ASSERT_TRUE(scene.wait_for_steps(3));
  ASSERT_NO_FATAL_FAILURE(kill_joiner_and_donor({"node1", "node2"}, "node3"));
  ASSERT_TRUE(wait_for(scene, "replica_added", 2)) << "the joiner and the donor";
  EXPECT_EQ(count_of(scene.records(), "rolled_back"), 0U);
  expect_equal_bits_after_more(3);
}

// Nobody has the state of that step any more.
TEST_F(StateUnderWay, OfTheOnlyDonorSendsTheRunBackToItsCheckpoint) {
  program = &scene.start(train(scene, "run", wide_run(2)));
  ASSERT_TRUE(wait_for(scene, "checkpoint"));
  ASSERT_NO_FATAL_FAILURE(kill_joiner_and_donor({"node1"}, "node2"));
  ASSERT_TRUE(wait_for(scene, "rolled_back"));
  expect_equal_bits_after_more(3);
}

const std::vector<LinkEnds> kToStorage = {{"node1", "storage"}, {"node2", "storage"}};

TEST_F(StateUnderWay, ToAKilledStorageIsSavedWhenItIsBack) {
  slow_down("storage");
  program = &scene.start(train(scene, "run", wide_run(2)));
  ASSERT_FALSE(wait_for_giver(kToStorage).empty());
  ASSERT_NO_FATAL_FAILURE(kill_like("internal-storage"));
  EXPECT_EQ(count_of(scene.records(), "checkpoint"), 0U) << "the checkpoint was whole before";
  heal("storage");
  ASSERT_TRUE(wait_for(scene, "checkpoint"));
  EXPECT_EQ(count_of(scene.records(), "rolled_back"), 0U);
  expect_equal_bits_after_more(1);
}

TEST_F(StateUnderWay, OfAKilledSaverIsSavedByAnother) {
  slow_down("storage");
  program = &scene.start(train(scene, "run", wide_run(2)));
  const std::string saver = wait_for_giver(kToStorage);
  ASSERT_NO_FATAL_FAILURE(kill_worker(saver));
  EXPECT_EQ(count_of(scene.records(), "checkpoint"), 0U) << "the checkpoint was whole before";
  heal("storage");
  ASSERT_TRUE(wait_for(scene, "checkpoint"));
  ASSERT_TRUE(wait_for(scene, "replica_added"));
  EXPECT_EQ(count_of(scene.records(), "rolled_back"), 0U);
  expect_equal_bits_after_more(1);
}

// A replica that waits for the rest asks again after five seconds of silence.
TEST_F(StateUnderWay, FromAKilledStorageIsTakenWhenItIsBack) {
  ASSERT_EQ(scene.run_to_end(train(scene, "run", wide_run(2), {"--steps", "3"})), 0);
  expect_several_pieces(scene);
  slow_down("storage");
  Program& again = scene.start(resumed(scene, "6"));
  ASSERT_FALSE(wait_for_giver({{"storage", "node1"}, {"storage", "node2"}}).empty());
  ASSERT_NO_FATAL_FAILURE(kill_like("internal-storage"));
  heal("storage");
  ASSERT_EQ(again.wait(kRunLimit), 0) << again.err();
  EXPECT_EQ(scene.records().weights(), weights_of_single(scene, "6"));
}

}  // namespace
}  // namespace shoal::large_states_test
