// Time that the end of one actor of the spawner costs: the simulation computes in no time, so whatever passes until the
// next commit was waited for. Nobody may wait for the repeat of a letter that no link has lost.
#include <gmock/gmock.h>

#include <functional>
#include <iostream>

#include "tests/simulation/seeds.h"

namespace shoal::wait_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 60;
constexpr std::uint64_t kSalt = 6;

[[nodiscard]] std::uint64_t commits_of(const SimulatedSwarm& swarm) {
  View view;
  for (const JournalEntry& entry : swarm.journal()) view.apply(entry);
  return view.committed_steps();
}

// Returns the time to the commit of the step in progress.
[[nodiscard]] Duration time_to_commit(SimulatedSwarm& swarm) {
  const std::uint64_t before = commits_of(swarm);
  const Duration since = swarm.clockwork().elapsed();
  while (commits_of(swarm) == before && swarm.run_one()) {
  }
  return swarm.clockwork().elapsed() - since;
}

using Disturb = std::function<bool(SimulatedSwarm&, const std::string& child)>;

bool end_it(SimulatedSwarm& swarm, const std::string& child) { return swarm.kill_child(child); }

bool silence_it(SimulatedSwarm& swarm, const std::string& child) { return swarm.freeze_child(child, 1h); }

// Whenever it is disturbed, on links that delay each letter by up to so long.
void expect_no_wait(const std::string& child, Duration delay, Duration bound, const Disturb& disturb = end_it) {
  SwarmShape shape = shape_of(2, 3);
  shape.draws_bounds = false;  // times are those of the usual ones
  const std::uint64_t messages = messages_of_undisturbed(shape);
  Duration longest{};
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    swarm.network().set_delay(delay);
    const std::uint64_t at = messages / 5 + chance.below(messages / 2);
    if (!run_to_message(swarm, at) || !disturb(swarm, child)) return;
    const Duration took = time_to_commit(swarm);
    longest = std::max(longest, took);
    EXPECT_LE(milliseconds(took), milliseconds(bound)) << "seed " << seed << ", message " << at;
  });
  std::cout << child << ": at most " << milliseconds(longest) << " ms\n";
}

TEST(Wait, NobodyWaitsForANewSyncGroup) {
  for (const char* group : {"sync_group/0", "sync_group/1"}) expect_no_wait(group, 3ms, 150ms);
}

TEST(Wait, NorForANewDataLoader) { expect_no_wait("data_loader", 3ms, 300ms); }

// The supervisor's patience and its next look, then what a new one takes.
TEST(Wait, ForASilentOneAllWaitUntilItIsReplaced) {
  for (const char* group : {"sync_group/0", "sync_group/1"}) expect_no_wait(group, 3ms, 1350ms, silence_it);
  expect_no_wait("data_loader", 3ms, 1500ms, silence_it);
}

TEST(Wait, OnSlowLinksNobodyWaitsLongerThanForTheLettersThemselves) {
  for (const char* child : {"sync_group/0", "sync_group/1", "data_loader"}) expect_no_wait(child, 60ms, 1500ms);
}

}  // namespace
}  // namespace shoal::wait_test
