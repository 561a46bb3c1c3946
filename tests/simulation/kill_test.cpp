// Anything may be killed at any message: the run goes on by itself, and its weights are those of an undisturbed one.
#include <gmock/gmock.h>

#include "tests/simulation/seeds.h"

namespace shoal::kill_test {
namespace {

constexpr std::uint64_t kSeeds = 120;

constexpr std::uint64_t kSalt = 1;

using Fault = std::function<void(SimulatedSwarm&, Chance&)>;

void expect_right(const SimulatedSwarm& swarm, std::uint64_t fault_at) {
  EXPECT_EQ(violations(swarm), "") << "the fault was at message " << fault_at;
}

// One fault at one message of the whole run, drawn anew for each seed.
void expect_unharmed(SwarmShape shape, std::uint64_t seeds, const Fault& fault) {
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(seeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    const std::uint64_t at = chance.below(messages);
    if (run_to_message(swarm, at)) fault(swarm, chance);
    swarm.run();
    expect_right(swarm, at);
  });
}

TEST(Killed, ANodeOfTwoByTwo) { expect_unharmed(shape_of(2, 2), kSeeds, kill_a_node); }

TEST(Killed, ANodeOfTwoByThree) { expect_unharmed(shape_of(2, 3), kSeeds, kill_a_node); }

TEST(Killed, ANodeOfThreeByTwo) { expect_unharmed(shape_of(3, 2), kSeeds / 4, kill_a_node); }

TEST(Killed, AStageActorAlone) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2, [](SimulatedSwarm& swarm, Chance& chance) {
    const auto nodes = nodes_of(swarm);
    if (!nodes.empty()) (void)swarm.kill_stage(nodes[chance.below(nodes.size())]);
  });
}

TEST(Killed, TheDataLoader) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2,
                  [](SimulatedSwarm& swarm, Chance&) { (void)swarm.kill_child("data_loader"); });
}

TEST(Killed, ASyncGroup) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2, [](SimulatedSwarm& swarm, Chance& chance) {
    (void)swarm.kill_child("sync_group/" + std::to_string(chance.below(2)));
  });
}

// The frozen one's place is taken, and it wakes up beside its successor, or not before the end.
TEST(Frozen, ADataLoaderOrASyncGroup) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2, [](SimulatedSwarm& swarm, Chance& chance) {
    const char* const kChildren[] = {"data_loader", "sync_group/0", "sync_group/1"};
    const Duration time = std::chrono::milliseconds(1 + chance.below(3000));
    (void)swarm.freeze_child(kChildren[chance.below(3)], chance.below(4) == 0 ? std::chrono::hours(1) : time);
  });
}

// Every commit is right without a disk, and the last checkpoint waits for it.
TEST(Killed, Storage) {
  expect_unharmed(shape_of(2, 2), kSeeds / 10, [](SimulatedSwarm& swarm, Chance&) {
    if (swarm.is_alive("storage")) swarm.kill("storage");
  });
}

// The control: a disk that does not come back for minutes after the last commit costs the last checkpoint. The run says
// so, and no verdict overlooks that end.
TEST(Lost, StorageForGoodAfterTheLastCommitIsAFailedRun) {
  for_each_seed(kSeeds / 20, [](std::uint64_t seed) {
    SimulatedSwarm swarm(shape_of(2, 2), seed);
    while (view_of(swarm).committed_steps() < swarm.shape().steps) ASSERT_TRUE(swarm.run_one());
    swarm.pause("storage", std::chrono::hours(1));
    swarm.run();
    ASSERT_TRUE(swarm.record().end) << describe_run(swarm);
    EXPECT_EQ(swarm.record().end->exit_status, 3) << describe_run(swarm);
    EXPECT_THAT(violations(swarm), testing::HasSubstr("L-1: the run failed"));
    EXPECT_THAT(journal_violations(swarm), testing::IsEmpty());
    EXPECT_THAT(weight_violations(swarm), testing::IsEmpty());
  });
}

// A stage without a second replica: all go back together.
TEST(Killed, TheOnlyReplicaOfAStage) { expect_unharmed(shape_of(2, 1), kSeeds / 2, kill_a_node); }

TEST(Cut, TheLinksOfANode) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2, [](SimulatedSwarm& swarm, Chance& chance) {
    const auto nodes = nodes_of(swarm);
    if (!nodes.empty()) swarm.cut(nodes[chance.below(nodes.size())]);
  });
}

// A member that was removed, of the present branch.
[[nodiscard]] std::optional<std::pair<StageId, Incarnation>> removed_member(const SimulatedSwarm& swarm) {
  const Branch branch = view_of(swarm).branch();
  for (const JournalEntry& entry : swarm.journal()) {
    const auto* removed = std::get_if<RemoveReplica>(&entry.body);
    if (removed != nullptr && entry.branch == branch) return std::pair(removed->stage, removed->replica);
  }
  return std::nullopt;
}

// Every node that lives saves a state that it made up, as a member that is gone.
TEST(Killed, S7NobodySavesInTheNameOfWhoIsGone) {
  SwarmShape shape = shape_of(2, 2);
  shape.steps = 30;
  const std::uint64_t messages = messages_of_undisturbed(shape);
  const std::vector<std::int64_t> kMadeUp{666};
  std::uint64_t forged = 0;
  for_each_seed(kSeeds / 3, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    std::vector<Peer> peers;  // as the spawner told somebody last
    swarm.network().set_fault([&peers](const SimulatedHop&, const Letter& letter) {
      if (const auto* told = std::get_if<Peers>(&letter.body)) peers = told->peers;
      return std::vector{letter};
    });
    if (!run_to_message(swarm, chance.below(messages / 2))) return;
    kill_a_node(swarm, chance);
    while (!removed_member(swarm) && swarm.run_one()) {
    }
    const auto gone = removed_member(swarm);
    const auto storage = std::ranges::find(peers, ProcessRole::kStorage, &Peer::role);
    if (!gone || storage == peers.end()) return;
    SaveShard shard;
    shard.branch = view_of(swarm).branch();
    shard.step = view_of(swarm).committed_steps();
    shard.stage = gone->first;
    shard.stages = shape.stages;
    shard.replica = gone->second;
    shard.image = make_values(DType::kInt64, kMadeUp);
    for (const Peer& peer : peers) {
      if (peer.role == ProcessRole::kStorage || !swarm.is_alive(peer.name)) continue;
      const Letter letter{peer.process, {storage->process, Role::kStorage, {}, {}}, shard};
      forged += swarm.network().inject({swarm.port_of(peer.name), swarm.port_of("storage")}, letter) ? 1 : 0;
    }
    swarm.run();
    expect_right(swarm, 0);
    for (const auto& [of, weights] : swarm.record().saved) EXPECT_NE(weights, kMadeUp) << "step " << of.first;
  });
  EXPECT_GT(forged, 0U);
}

TEST(Killed, OneOfEachOneAfterTheOther) {
  const SwarmShape shape = shape_of(2, 3);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds / 2, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    std::uint64_t at = 0;
    for (int fault = 0; fault < 3; ++fault) {
      at += chance.below(messages / 3);
      if (!run_to_message(swarm, at)) break;
      if (fault == 0) (void)swarm.kill_child("sync_group/" + std::to_string(chance.below(2)));
      if (fault == 1) kill_a_node(swarm, chance);
      if (fault == 2) (void)swarm.kill_child("data_loader");
    }
    swarm.run();
    expect_right(swarm, at);
  });
}

}  // namespace
}  // namespace shoal::kill_test
