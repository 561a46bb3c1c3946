// Two sites whose way to each other is cut for good: one of them goes on by itself, however the stages lie. Where the
// spawner reaches both, nothing that is committed is lost; where it is in one of them, that one goes on.
#include <gmock/gmock.h>

#include <cstdio>
#include <set>

#include "runtime/base/compose.h"
#include "tests/simulation/seeds.h"

namespace shoal::sites_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kSeeds = 12;
constexpr std::uint64_t kSalt = 31;

enum class Spawner { kReachesBoth, kIsInTheOther };

// Keeps the nodes of one site apart from those of the other, also those that start again.
class Sites {
 public:
  Sites(std::set<std::string> one, Spawner spawner) : one_(std::move(one)), spawner_(spawner) {}

  void keep_apart(SimulatedSwarm& swarm) {
    auto others = nodes_of(swarm);
    if (spawner_ == Spawner::kIsInTheOther) others.insert(others.end(), {"spawner", "storage"});
    for (const std::string& here : nodes_of(swarm)) {
      for (const std::string& there : others) {
        if (!one_.contains(here) || one_.contains(there) || !swarm.is_alive(there)) continue;
        const SimulatedHop hop{swarm.port_of(here), swarm.port_of(there)};
        if (!cut_.insert(hop).second) continue;
        const Instant end = swarm.clockwork().now() + 1h;
        swarm.network().stall(hop, end);
        swarm.network().stall({hop.to, hop.from}, end);
        swarm.network().break_links(hop.from, hop.to);
      }
    }
  }

 private:
  std::set<std::string> one_;
  Spawner spawner_;
  std::set<SimulatedHop> cut_;
};

[[nodiscard]] std::string name_of(const SimulatedSwarm& swarm, ProcessIncarnation process) {
  const auto port = swarm.port_of(process);
  for (const std::string& node : nodes_of(swarm)) {
    if (port && swarm.port_of(node) == *port) return node;
  }
  return std::string();
}

enum class Lie { kWholeStages, kWholePipelines };

// Nodes of one of the two sites.
[[nodiscard]] std::set<std::string> site_of(const SimulatedSwarm& swarm, Lie lie) {
  std::set<std::string> names;
  const auto view = view_of(swarm);
  for (std::uint32_t stage = 0; stage < swarm.shape().stages; ++stage) {
    for (const ReplicaMember& member : view.replicas_of(StageId{stage})) {
      const bool is_here = lie == Lie::kWholeStages ? stage % 2 == 0 : member.slot.value % 2 == 0;
      if (is_here) names.insert(name_of(swarm, member.process));
    }
  }
  return names;
}

[[nodiscard]] bool has_all_members(const SimulatedSwarm& swarm) {
  const auto view = view_of(swarm);
  if (view.committed_steps() < 2) return false;
  for (std::uint32_t stage = 0; stage < swarm.shape().stages; ++stage) {
    if (view.replicas_of(StageId{stage}).size() != swarm.shape().replicas) return false;
  }
  return true;
}

// Cuts them apart at a message behind the second step. True: there was such a moment, and the run went on to its end.
bool train_apart(SimulatedSwarm& swarm, Chance& chance, Lie lie, Spawner spawner = Spawner::kReachesBoth) {
  while (!has_all_members(swarm)) {
    if (!swarm.run_one()) return false;
  }
  (void)run_to_message(swarm, swarm.clockwork().messages() + chance.below(200));
  if (!has_all_members(swarm) || view_of(swarm).committed_steps() + 2 > swarm.shape().steps) return false;
  Sites sites(site_of(swarm, lie), spawner);
  sites.keep_apart(swarm);
  while (swarm.clockwork().elapsed() < swarm.shape().time_max && swarm.run_one()) sites.keep_apart(swarm);
  return true;
}

// One site has two of three stages, and goes on with all of them.
TEST(Sites, ThatAreCutApartGoOnInOneOfThemHoweverTheStagesLie) {
  for (const std::uint32_t stages : {2U, 3U}) {
    std::uint64_t cut = 0;
    for_each_seed(kSeeds, [&](std::uint64_t seed) {
      Chance chance(seed, kSalt);
      SimulatedSwarm swarm(shape_of(stages, 2), seed);
      if (!train_apart(swarm, chance, Lie::kWholeStages)) return;
      ++cut;
      EXPECT_EQ(violations(swarm), "") << describe_run(swarm);
      const auto back = swarm.record().reasons_of(RunEventKind::kRolledBack);
      ASSERT_THAT(back, SizeIs(1)) << describe_run(swarm);
      EXPECT_THAT(back.front(), HasSubstr("cannot reach each other, and none can be spared"));
      std::uint64_t from = 0, committed = 1;
      const std::string steps = back.front().substr(back.front().rfind("from step "));
      ASSERT_EQ(std::sscanf(steps.c_str(), "from step %lu of %lu", &from, &committed), 2) << steps;
      EXPECT_EQ(from, committed) << "no checkpoint was due: it was asked for";
    });
    EXPECT_GT(cut, 0U);
  }
}

// The spawner loses whoever it does not reach, and nobody trains without it.
TEST(Sites, OfWhichOneHasTheSpawnerGoOnThere) {
  std::uint64_t cut = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape_of(2, 2, 2), seed);
    if (!train_apart(swarm, chance, Lie::kWholeStages, Spawner::kIsInTheOther)) return;
    ++cut;
    EXPECT_EQ(violations(swarm), "") << describe_run(swarm);
    EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kRolledBack), SizeIs(1)) << describe_run(swarm);
  });
  EXPECT_GT(cut, 0U);
}

// The control: one of two replicas can be spared at each end of every pair.
TEST(Sites, EachWithAWholePipelineLoseOnlyOneOfThem) {
  std::uint64_t cut = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape_of(2, 2), seed);
    if (!train_apart(swarm, chance, Lie::kWholePipelines)) return;
    ++cut;
    EXPECT_EQ(violations(swarm), "") << describe_run(swarm);
    EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kRolledBack), IsEmpty()) << describe_run(swarm);
  });
  EXPECT_GT(cut, 0U);
}

}  // namespace
}  // namespace shoal::sites_test
