// The spawner may die at any message and at any write of its journal, and a stage may lose its only replica: the run
// goes on by itself, and its weights are those of an undisturbed one.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "runtime/base/compose.h"
#include "tests/simulation/seeds.h"

namespace shoal::spawner_test {
namespace {

constexpr std::uint64_t kSeeds = 120;

constexpr std::uint64_t kSalt = 3;

[[nodiscard]] std::string a_node(const SimulatedSwarm& swarm, Chance& chance) {
  const auto names = nodes_of(swarm);
  return names.empty() ? std::string() : names[chance.below(names.size())];
}

[[nodiscard]] Branch branch_of(const SimulatedSwarm& swarm) {
  View view;
  for (const JournalEntry& entry : swarm.journal()) view.apply(entry);
  return view.branch();
}

void expect_right(const SimulatedSwarm& swarm, const std::string& trace) { EXPECT_EQ(violations(swarm), "") << trace; }

using Fault = std::function<void(SimulatedSwarm&, Chance&)>;

// One fault per seed, at any of the first `quarters` quarters of an undisturbed run's messages.
void expect_right_after(const SwarmShape& shape, std::uint64_t seeds, std::uint64_t quarters, const Fault& fault) {
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(seeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    const std::uint64_t at = chance.below(messages * quarters / 4);
    if (run_to_message(swarm, at)) fault(swarm, chance);
    swarm.run();
    expect_right(swarm, compose("the fault was at message ", at));
  });
}

TEST(SpawnerKilled, AtAnyMessageLosesNothing) {
  const SwarmShape shape = shape_of(2, 2);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    const std::uint64_t at = chance.below(messages);
    if (run_to_message(swarm, at)) swarm.kill("spawner");
    swarm.run();
    expect_right(swarm, compose("killed at message ", at));
    EXPECT_EQ(branch_of(swarm), Branch{0}) << describe_run(swarm);
  });
}

// P-14a: what is in flight at the spawner's end goes on where it is, as what is answered does.
TEST(SpawnerKilled, HasNothingComputedTwice) {
  SwarmShape shape = shape_of(3, 3);
  shape.microbatches = 12;
  shape.routing = Routing::kUniform;
  const std::uint64_t messages = messages_of_undisturbed(shape);
  std::size_t twice = 0;
  const std::uint64_t seeds = for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    swarm.network().crawl_in_passes(std::chrono::milliseconds(300));
    if (run_to_message(swarm, chance.below(messages))) swarm.kill("spawner");
    swarm.run();
    expect_right(swarm, "");
    twice += swarm.record().reasons_of(RunEventKind::kMicrobatchTwice).size();
  });
  EXPECT_EQ(twice, 0) << "in " << seeds << " runs";
}

// P-30: a member says what it holds behind the passes that it is at, and nothing leaves before.
TEST(SpawnerKilled, WhilePassesOfSecondsAreUnderWayHasNothingComputedTwice) {
  for_each_seed(20, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SwarmShape shape = shape_of(1 + static_cast<std::uint32_t>(seed % 2), 2);
    shape.microbatches = 12;
    shape.steps = 3;
    shape.has_late_devices = true;
    shape.draws_bounds = false;
    SimulatedSwarm swarm(shape, seed);
    swarm.take_in_passes(std::chrono::seconds(3));
    const Duration at = std::chrono::milliseconds(3'000 + chance.below(15'000));
    while (swarm.clockwork().elapsed() < at) ASSERT_TRUE(swarm.run_one());
    swarm.kill("spawner");
    swarm.run();
    expect_right(swarm, compose("killed after ", milliseconds(at), " ms"));
    EXPECT_EQ(branch_of(swarm), Branch{0}) << describe_run(swarm);
    EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kMicrobatchTwice), testing::IsEmpty());
  });
}

TEST(SpawnerKilled, AgainAndAgain) {
  const SwarmShape shape = shape_of(2, 2, 3);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds / 2, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    std::uint64_t at = 0;
    for (int kill = 0; kill < 4; ++kill) {
      at += chance.below(messages / 3);
      if (!run_to_message(swarm, at)) break;
      if (swarm.is_alive("spawner")) swarm.kill("spawner");
    }
    swarm.run();
    expect_right(swarm, compose("last killed at message ", at));
  });
}

// fault 17: at each write, the torn one included.
TEST(SpawnerKilled, AtAnyWriteOfItsJournal) {
  const SwarmShape shape = shape_of(2, 2);
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    swarm.kill_at_write(1 + chance.below(22), chance.below(2) == 0 ? WriteFate::kLost : WriteFate::kDurable);
    swarm.run();
    expect_right(swarm, "");
  });
}

TEST(SpawnerKilled, TogetherWithANode) {
  const SwarmShape shape = shape_of(2, 2, 3);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds / 2, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    const std::uint64_t at = chance.below(messages);
    const std::uint64_t later = chance.below(300);
    if (run_to_message(swarm, at)) swarm.kill("spawner");
    const bool is_under_way = run_to_message(swarm, at + later);
    const std::string node = a_node(swarm, chance);
    if (is_under_way && !node.empty()) swarm.kill(node);
    swarm.run();
    expect_right(swarm, compose("killed at message ", at, " and ", later, " later ", node));
  });
}

TEST(SpawnerKilled, TogetherWithStorage) {
  expect_right_after(shape_of(2, 2, 3), kSeeds / 4, 3, [](SimulatedSwarm& swarm, Chance&) {
    swarm.kill("spawner");
    if (swarm.is_alive("storage")) swarm.kill("storage");
  });
}

TEST(SpawnerKilled, WhileAllItsLinksWereCut) {
  expect_right_after(shape_of(2, 2), kSeeds / 4, 4, [](SimulatedSwarm& swarm, Chance&) {
    swarm.kill("spawner");
    for (const std::string& process : swarm.processes()) swarm.cut(process);
  });
}

// A spare says at its new spawner that it is a process of another node. That one may come first or last.
TEST(SpawnerKilled, S7NobodyElseTakesTheNumberOfANodeThatIsNotBack) {
  SwarmShape shape = shape_of(2, 2);
  shape.nodes = 5;
  shape.steps = 30;
  const std::uint64_t messages = messages_of_undisturbed(shape);
  std::uint64_t lies = 0;
  for_each_seed(kSeeds / 3, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    if (!run_to_message(swarm, messages / 3 + chance.below(messages / 3))) return;
    std::map<std::string, ProcessIncarnation> members;
    const View view = view_of(swarm);
    for (const std::string& node : nodes_of(swarm)) {
      for (std::uint32_t stage = 0; stage < view.stage_count(); ++stage) {
        for (const ReplicaMember& member : view.replicas_of(StageId{stage})) {
          if (swarm.port_of(member.process) == swarm.port_of(node)) members.emplace(node, member.process);
        }
      }
    }
    std::string spare;
    for (const std::string& node : nodes_of(swarm)) spare = members.contains(node) ? spare : node;
    if (members.size() != 4 || spare.empty()) return;
    ++lies;
    const auto [victim, number] = *std::next(members.begin(), static_cast<std::ptrdiff_t>(chance.below(4)));
    swarm.network().set_fault(
        [&swarm, claimed = number, from = swarm.port_of(spare)](const auto& hop, const auto& letter) {
          Letter lie = letter;
          if (hop.from != from || hop.to != swarm.network().spawner()) return std::vector{lie};
          if (auto* hello = std::get_if<Hello>(&lie.body)) hello->process = claimed;
          auto* join = std::get_if<Join>(&lie.body);
          if (join != nullptr) lie.from = join->previous = claimed;
          return std::vector{lie};
        });
    swarm.kill("spawner");
    swarm.run();
    expect_right(swarm, compose(spare, " says that it is ", victim, ", process ", number));
    for (const RunEvent& event : swarm.record().events) {
      const bool is_lost = event.kind == RunEventKind::kProcessLost && event.subject == victim;
      EXPECT_FALSE(is_lost) << victim << ": " << event.reason << "\n" << describe_run(swarm);
    }
  });
  EXPECT_GT(lies, 0U);
}

TEST(RolledBack, AStageThatLostItsOnlyReplica) { expect_right_after(shape_of(2, 1, 3), kSeeds, 3, kill_a_node); }

TEST(RolledBack, AllReplicasOfBothStages) {
  expect_right_after(shape_of(2, 2, 3), kSeeds / 2, 3, [](SimulatedSwarm& swarm, Chance&) {
    for (const std::string& node : nodes_of(swarm)) swarm.kill(node);
  });
}

TEST(RolledBack, AgainWhileItIsUnderWayAndTheSpawnerInTheMiddleOfIt) {
  const SwarmShape shape = shape_of(2, 1, 2);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    std::uint64_t at = chance.below(messages * 3 / 4);
    for (int fault = 0; fault < 4; ++fault) {
      if (!run_to_message(swarm, at)) break;
      at += chance.below(150);
      const std::string victim = fault % 2 == 1 ? "spawner" : a_node(swarm, chance);
      if (!victim.empty() && swarm.is_alive(victim)) swarm.kill(victim);
    }
    swarm.run();
    expect_right(swarm, compose("last fault at message ", at));
  });
}

}  // namespace
}  // namespace shoal::spawner_test
