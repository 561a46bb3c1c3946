// Slow is not lost: state and sums that take longer than any patience with a silent way, but come, are waited for, and
// are sent once.
#include <map>
#include <optional>
#include <tuple>

#include <gmock/gmock.h>

#include "runtime/sync/sync_group.h"
#include "tests/simulation/seeds.h"

namespace shoal::slow_way_test {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

constexpr std::uint64_t kSeeds = 3;
constexpr std::uint64_t kSalt = 9;

// Counts how often each replica was sent each piece of an image, and each piece of a shard was sent.
struct Sendings {
  std::map<std::pair<Incarnation, std::uint64_t>, int> images;              // by offset
  std::map<std::tuple<std::uint64_t, StageId, std::uint64_t>, int> shards;  // by step, stage, offset

  LetterFilter counting() {
    return [this](const Letter& letter) {
      if (const auto* image = std::get_if<StateImage>(&letter.body)) ++images[{image->replica, image->offset}];
      if (const auto* shard = std::get_if<SaveShard>(&letter.body))
        ++shards[{shard->step, shard->stage, shard->offset}];
      return 1;
    };
  }
};

template <class Counts>
[[nodiscard]] int most_of(const Counts& counts) {
  int most = 0;
  for (const auto& [who, count] : counts) most = std::max(most, count);
  return most;
}

// A quorum holds the run until the joiner is in, so that the copy is not overtaken by rounds.
[[nodiscard]] SwarmShape held_by_a_quorum() {
  SwarmShape shape = shape_of(2, 2);
  shape.steps = 12;
  shape.sync.mode = SyncMode::kDiloco;
  shape.sync.H = 3;
  shape.sync.quorum = 2;
  shape.time_max = 60min;
  return shape;
}

// One letter, as drawn for the seed, or several: the first pieces of the next ones come before the rest of one.
class SlowState : public testing::TestWithParam<std::optional<std::uint64_t>> {};

TEST_P(SlowState, OfAJoinerMayTakeLongerThanAnyPatienceWithSilence) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    Sendings sendings;
    SwarmShape shape = held_by_a_quorum();
    shape.filter = sendings.counting();
    shape.piece_bytes = GetParam();
    SimulatedSwarm swarm(shape, seed);
    run_to_message(swarm, 1500 + chance.below(500));
    swarm.network().crawl(JoiningReplicas::kSilenceMax + 1min);
    kill_a_node(swarm, chance);
    swarm.run();
    EXPECT_EQ(violations(swarm), "") << describe_run(swarm);
    EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kJoinGivenUp), IsEmpty());
    EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kCheckpointRepeated), IsEmpty());
    EXPECT_GE(swarm.clockwork().elapsed(), JoiningReplicas::kSilenceMax)
        << "the control: it took longer than the limit";
    EXPECT_FALSE(sendings.images.empty());
    EXPECT_LE(most_of(sendings.images), 1) << describe_run(swarm);
    EXPECT_EQ(most_of(sendings.shards), 1) << describe_run(swarm);
  });
}

TEST_P(SlowState, OfEachCheckpointIsSavedOnceHoweverLongItTakes) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Sendings sendings;
    SwarmShape shape = shape_of(2, 2, 4);
    shape.filter = sendings.counting();
    shape.piece_bytes = GetParam();
    shape.time_max = 60min;
    SimulatedSwarm swarm(shape, seed);
    swarm.network().crawl(CheckpointPatience{}.in_vain + 1min);
    swarm.run();
    EXPECT_EQ(violations(swarm), "") << describe_run(swarm);
    EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kCheckpointRepeated), IsEmpty());
    EXPECT_GE(swarm.clockwork().elapsed(), CheckpointPatience{}.in_vain);
    EXPECT_EQ(most_of(sendings.shards), 1) << describe_run(swarm);
  });
}

INSTANTIATE_TEST_SUITE_P(Pieces, SlowState, testing::Values(std::nullopt, 20),
                         [](const auto& tested) { return tested.param ? "Several" : "AsDrawn"; });

// A part takes longer than a group waits for a sum that stands still, and goes twice round its two members.
TEST(SlowWay, ASumThatComesIsSentOnceHoweverLongItTakes) {
  static const Duration kPartTakes = SyncGroupConfig{}.reduce_timeout + 10s;
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    std::map<std::tuple<StepId, Incarnation, std::uint32_t, std::uint32_t>, int> parts;
    SwarmShape shape = shape_of(2, 2);
    shape.steps = 4;
    shape.time_max = 60min;
    shape.filter = [&parts](const Letter& letter) {
      const auto* part = std::get_if<Part>(&letter.body);
      if (part != nullptr) ++parts[{part->order.step, part->member, part->bucket, part->hop}];
      return 1;
    };
    SimulatedSwarm swarm(shape, seed);
    swarm.network().crawl_in_sums(kPartTakes);
    swarm.run();
    EXPECT_EQ(violations(swarm), "") << describe_run(swarm);
    EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kReduceTimedOut), IsEmpty()) << describe_run(swarm);
    EXPECT_GE(swarm.clockwork().elapsed(), 2 * kPartTakes) << "the control: it took longer than the limit";
    EXPECT_EQ(most_of(parts), 1) << describe_run(swarm);
  });
}

// Counts each letter that goes between the stages of a swarm on slow lanes.
struct Passes {
  std::map<std::tuple<StepId, MicrobatchId, std::uint32_t>, int> forwards, backwards;

  LetterFilter counting() {
    return [this](const Letter& letter) {
      if (const auto* forward = std::get_if<Forward>(&letter.body)) ++forwards[place_of(forward->cause)];
      if (const auto* backward = std::get_if<Backward>(&letter.body)) ++backwards[place_of(backward->cause)];
      return 1;
    };
  }
  [[nodiscard]] static std::tuple<StepId, MicrobatchId, std::uint32_t> place_of(const Cause& cause) {
    return {cause.step, cause.microbatch, cause.hop};
  }
};

void expect_each_pass_once(Schedule schedule, Duration takes, std::uint64_t seed) {
  Passes passes;
  SwarmShape shape = shape_of(2, 2);
  shape.steps = 2;
  shape.schedule = schedule;
  shape.time_max = 120min;
  shape.filter = passes.counting();
  SimulatedSwarm swarm(shape, seed);
  swarm.network().crawl_in_passes(takes);
  swarm.run();
  EXPECT_EQ(violations(swarm), "") << describe_run(swarm);
  EXPECT_GE(swarm.clockwork().elapsed(), 2 * shape.steps * takes) << "the control: they were slow";
  EXPECT_EQ(most_of(passes.forwards), 1) << describe_run(swarm);
  EXPECT_EQ(most_of(passes.backwards), 1) << describe_run(swarm);
}

// All of a step may be under way at once: then the last one waits for all others.
TEST(SlowWay, AMicrobatchThatComesIsSentOnceEachWayHoweverLongItTakes) {
  for (const Duration takes : {RequestLimits{}.floor, 3 * RequestLimits{}.floor}) {
    for (const Schedule schedule : {Schedule::k1f1b, Schedule::kAfab}) {
      for_each_seed(kSeeds, [&](std::uint64_t seed) { expect_each_pass_once(schedule, takes, seed); });
    }
  }
}

// The last checkpoint is on its way when its link breaks: it is asked for again at once, and only what was lost.
TEST(SlowWay, AShardThatIsLostWithItsLinkIsAskedForAgainAtOnce) {
  for_each_seed(10 * kSeeds, [](std::uint64_t seed) {
    Sendings sendings;
    SwarmShape shape = shape_of(2, 2);
    shape.filter = sendings.counting();
    shape.draws_bounds = false;  // each piece would take so long
    SimulatedSwarm swarm(shape, seed);
    swarm.network().crawl(20s);
    while (sendings.shards.size() < shape.stages && swarm.run_one()) {
    }
    const Duration cut_at = swarm.clockwork().elapsed() + 5s;
    while (swarm.clockwork().elapsed() < cut_at && swarm.run_one()) {
    }
    for (const std::string& node : nodes_of(swarm)) swarm.cut(node, "storage");
    swarm.run();
    EXPECT_EQ(violations(swarm), "") << describe_run(swarm);
    EXPECT_EQ(swarm.record().reasons_of(RunEventKind::kCheckpointRepeated).size(), 1U) << describe_run(swarm);
    EXPECT_LT(swarm.clockwork().elapsed() - cut_at, CheckpointOrder::kSilence) << describe_run(swarm);
    EXPECT_EQ(most_of(sendings.shards), 2) << describe_run(swarm);
  });
}

}  // namespace
}  // namespace shoal::slow_way_test
