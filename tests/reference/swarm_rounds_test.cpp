// Rounds of a pipeline of two stages over the real message path, from the data loader to storage, against
// plain_diloco.h: real actors and executors, simulated links (swarm.h).
#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reference/diloco_config.h"
#include "tests/reference/plain_bridge.h"
#include "tests/reference/plain_diloco.h"
#include "tests/support/simulation/swarm.h"

namespace shoal::swarm_rounds_test {
namespace {

using plain::relative_distance;
using plain::Tensors;

constexpr std::uint32_t kStages = 2;
constexpr std::uint32_t kReplicas = 2;
constexpr std::uint64_t kSavedEvery = 7;  // no multiple of H: most states are between rounds

std::unique_ptr<StageExecutor> make_executor(const Config& config, StageId stage) {
  auto executor = make_stage_executor({config, stage, kStages, "cpu"});
  ENSURE(executor.ok(), executor.ok() ? "" : executor.failure().message);
  return std::move(*executor);
}

class RandomSamples final : public SampleSource {
 public:
  explicit RandomSamples(Config config) : config_(std::move(config)) {}
  [[nodiscard]] Result<Sample> training(StepId step, MicrobatchId microbatch) const override {
    MicrobatchWork work = random_work(config_, step.value, microbatch.value);
    return Sample{std::move(work.input), std::move(work.targets)};
  }
  [[nodiscard]] std::uint32_t evaluation_count(EvaluationExtent) const override { return 1; }
  [[nodiscard]] std::uint64_t evaluation_windows(EvaluationExtent) const override { return 1; }
  [[nodiscard]] Result<Sample> evaluation(MicrobatchId microbatch) const override {
    return training(StepId{}, microbatch);
  }

 private:
  Config config_;
};

SwarmShape shape_of(const Config& config, std::uint64_t steps) {
  SwarmShape shape;
  shape.stages = kStages;
  shape.replicas = kReplicas;
  shape.steps = steps;
  shape.microbatches = static_cast<std::uint32_t>(microbatches_per_step(config));
  shape.checkpoint_every = kSavedEvery;
  shape.routing = Routing::kStatic;
  shape.sync = config.sync;
  shape.draws_bounds = false;
  shape.work = SwarmWork{config, [config](StageId stage) { return make_executor(config, stage); },
                         std::make_shared<RandomSamples>(config)};
  return shape;
}

// A saved part of the model: what its stage agreed on, and the weights of the replica that saved it.
struct SavedStage {
  Tensors outer, local;
  std::size_t worker = 0;
};
using Saved = std::map<std::pair<std::uint64_t, StageId>, SavedStage>;

// Static routing: worker i is the i-th replica of every stage.
std::size_t worker_of(const SimulatedSwarm& swarm, StageId stage, Incarnation replica) {
  View view;
  for (const JournalEntry& entry : swarm.journal()) view.apply(entry);
  const auto& members = view.replicas_of(stage);
  const auto is_it = [replica](const ReplicaMember& member) { return member.incarnation == replica; };
  const auto at = std::find_if(members.begin(), members.end(), is_it);
  ENSURE(at != members.end() && members.size() == kReplicas, "a member saves, and none was lost");
  return static_cast<std::size_t>(at - members.begin());
}

Saved train(const Config& config, std::uint64_t steps) {
  SimulatedSwarm swarm(shape_of(config, steps), 1);
  swarm.run();
  EXPECT_TRUE(swarm.record().end) << "the run hangs";
  Saved saved;
  for (const auto& [key, shard] : swarm.record().shards) {
    if (key.first == steps) continue;  // a run ends with all rounds closed (P-35), which the reference does not
    const auto executor = make_executor(config, key.second);
    ENSURE(executor->load_state(shard.image).ok(), "a shard is a state");
    saved[key] = {as_doubles(tensors_of(*executor, "outer.")), as_doubles(tensors_of(*executor, "")),
                  worker_of(swarm, key.second, shard.replica)};
  }
  return saved;
}

plain::Recipe recipe_in_stages(const Config& config) {
  std::map<std::string, int> stages;
  for (std::uint32_t stage = 0; stage < kStages; ++stage) {
    const auto names = make_executor(config, StageId{stage})->tensor_names();
    for (const std::string& name : names) stages[name] = static_cast<int>(stage);
  }
  plain::Recipe recipe = recipe_of(config, kReplicas);
  recipe.stage_of = [stages](const std::string& name) { return stages.at(name); };
  return recipe;
}

Tensors part_of(const Tensors& all, const Tensors& part) {
  Tensors found;
  for (const auto& [name, values] : part) found[name] = all.at(name);
  return found;
}

// The largest distance of what was saved to the same run in plain loops.
double distance(const Saved& saved, const Config& config, const plain::Recipe& recipe) {
  const WorkOf work_of = works(config);
  const WorkerGroup start(config, 1, work_of);
  plain::Diloco diloco(recipe, as_doubles(start.tensors(0, "")), [&](const Tensors& weights, int step, int microbatch) {
    return model_gradient(
        config, weights,
        work_of(StepId{static_cast<std::uint64_t>(step)}, MicrobatchId{static_cast<std::uint32_t>(microbatch)}));
  });
  double largest = 0;
  std::uint64_t version = 0;
  for (const auto& [key, stage] : saved) {  // in the order of versions
    for (; version < key.first; ++version) diloco.step();
    const Tensors& local = diloco.workers[stage.worker].local;
    largest = std::max({largest, relative_distance(stage.outer, part_of(diloco.outer, stage.outer)),
                        relative_distance(stage.local, part_of(local, stage.local))});
  }
  return largest;
}

void expect_the_reference(const Config& config) {
  const std::uint64_t steps = 5 * config.sync.H + config.sync.overlap;
  const Saved saved = train(config, steps);
  ASSERT_EQ(saved.size(), kStages * ((steps - 1) / kSavedEvery));
  EXPECT_LE(distance(saved, config, recipe_in_stages(config)), 1e-5);
  plain::Recipe unlike = recipe_in_stages(config);
  unlike.mistake = plain::Mistake::kFlippedDelta;
  EXPECT_GE(distance(saved, config, unlike), 1e-4) << "the control";
  unlike = recipe_in_stages(config);
  unlike.stage_of = [](const std::string&) { return 0; };
  EXPECT_GE(distance(saved, config, unlike), 1e-4) << "each stage clips its own part (P-31)";
}

TEST(SwarmRounds, OfTwoStagesAreTheReferences) { expect_the_reference(diloco_config()); }

TEST(SwarmRounds, ThatOverlapInnerStepsAreTheReferences) {
  Config config = diloco_config();
  config.sync.overlap = 2;
  config.sync.mix = 0.5;
  expect_the_reference(config);
}

TEST(SwarmRounds, ThatAreEagerAreTheReferences) {
  Config config = diloco_config();
  config.sync.outer_update = OuterUpdate::kEager;
  expect_the_reference(config);
}

TEST(SwarmRounds, OverOwnersAreTheReferences) {
  Config config = diloco_config();
  config.sync.backend = SyncBackend::kOwner;
  expect_the_reference(config);
}

}  // namespace
}  // namespace shoal::swarm_rounds_test
