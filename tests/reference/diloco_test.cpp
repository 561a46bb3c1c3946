// The DiLoCo family: executors driven as replicas are, against plain_diloco.h; its mistakes must be told apart.
#include <algorithm>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/config_file.h"
#include "tests/reference/diloco_config.h"
#include "tests/reference/plain_bridge.h"
#include "tests/reference/plain_diloco.h"
#include "tests/reference/worker_group.h"

namespace shoal::diloco_test {
namespace {

using plain::Mistake;
using plain::relative_distance;
using plain::Tensors;

constexpr int kPeriod = 5;  // as in diloco_config()
constexpr int kRounds = 5;

// Puts the three blocks into two fragments. All that is no block goes to the fragment with one block.
int fragment_of(const std::string& name, FragmentPattern pattern) {
  const std::string second = pattern == FragmentPattern::kSequential ? "h.1." : "h.2.";
  return name.starts_with("h.0.") || name.starts_with(second) ? 0 : 1;
}

plain::Recipe recipe_for(const Config& config, std::size_t workers, Mistake mistake) {
  plain::Recipe recipe = recipe_of(config, workers);
  recipe.mistake = mistake;
  if (config.sync.fragments == 1) return recipe;
  recipe.first_steps = {3, 5};
  recipe.fragment_of = [pattern = config.sync.pattern](const std::string& name) { return fragment_of(name, pattern); };
  return recipe;
}

// State that is compared after the first round and at the end.
struct Snapshot {
  Tensors outer;
  std::vector<Tensors> locals, own_outers;
};
using Course = std::pair<Snapshot, Snapshot>;

std::uint64_t first_version(const Config& config) { return kPeriod + config.sync.overlap; }
std::uint64_t last_version(const Config& config) { return kPeriod * kRounds + config.sync.overlap; }

Snapshot snapshot_of(const WorkerGroup& group, const Config& config, std::size_t workers) {
  Snapshot snapshot{as_doubles(group.tensors(0, "outer.")), {}, {}};
  const bool has_own =
      config.sync.outer_update == OuterUpdate::kEager && config.sync.eager_variant == EagerVariant::kPaper;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    snapshot.locals.push_back(as_doubles(group.tensors(worker, "")));
    if (has_own) snapshot.own_outers.push_back(as_doubles(group.tensors(worker, "outer.own.")));
  }
  return snapshot;
}

Course train(const Config& config, std::size_t workers) {
  WorkerGroup group(config, workers, works(config));
  Course course;
  while (group.version() < last_version(config)) {
    group.step();
    if (group.version() == first_version(config)) course.first = snapshot_of(group, config, workers);
  }
  course.second = snapshot_of(group, config, workers);
  return course;
}

Snapshot snapshot_of(const plain::Diloco& diloco) {
  Snapshot snapshot{diloco.outer, {}, {}};
  for (const plain::Worker& worker : diloco.workers) {
    snapshot.locals.push_back(worker.local);
    snapshot.own_outers.push_back(worker.own_outer);
  }
  return snapshot;
}

Course train_plainly(const Config& config, std::size_t workers, Mistake mistake = Mistake::kNone) {
  const WorkOf work_of = works(config);
  const WorkerGroup start(config, 1, work_of);
  plain::Diloco diloco(recipe_for(config, workers, mistake), as_doubles(start.tensors(0, "")),
                       [&](const Tensors& weights, int step, int microbatch) {
                         return model_gradient(config, weights,
                                               work_of(StepId{static_cast<std::uint64_t>(step)},
                                                       MicrobatchId{static_cast<std::uint32_t>(microbatch)}));
                       });
  Course course;
  for (std::uint64_t version = 1; version <= last_version(config); ++version) {
    diloco.step();
    if (version == first_version(config)) course.first = snapshot_of(diloco);
  }
  course.second = snapshot_of(diloco);
  return course;
}

double distance(const Snapshot& a, const Snapshot& b) {
  double largest = relative_distance(a.outer, b.outer);
  for (std::size_t worker = 0; worker < a.locals.size(); ++worker) {
    largest = std::max(largest, relative_distance(a.locals[worker], b.locals[worker]));
  }
  for (std::size_t worker = 0; worker < a.own_outers.size(); ++worker) {
    largest = std::max(largest, relative_distance(a.own_outers[worker], b.own_outers[worker]));
  }
  return largest;
}

// The bars: outer and local parameters at most 1e-6 apart after one round, 1e-5 after all; a mistake at least ten times
// the second bar.
void expect_the_reference(const Config& config, std::size_t workers, const std::vector<Mistake>& mistakes = {}) {
  const Course course = train(config, workers);
  const Course reference = train_plainly(config, workers);
  EXPECT_LE(distance(course.first, reference.first), 1e-6);
  EXPECT_LE(distance(course.second, reference.second), 1e-5);
  for (const Mistake mistake : mistakes) {
    const double wrong = distance(course.second, train_plainly(config, workers, mistake).second);
    EXPECT_GE(wrong, 1e-4) << "mistake " << static_cast<int>(mistake);
  }
}

const std::vector<Mistake> kMistakes = {Mistake::kFlippedDelta, Mistake::kHeavyBall, Mistake::kDivisorOffByOne,
                                        Mistake::kAdamReset};

TEST(Diloco, OfFourWorkersIsTheReferences) { expect_the_reference(diloco_config(), 4, kMistakes); }

TEST(Diloco, WithPlainRoundsFirstAndAveragesThatStartAnewIsTheReferences) {
  Config config = diloco_config();
  config.sync.outer_warmup = 2;
  config.sync.inner_state = InnerState::kReset;
  expect_the_reference(config, 2);
}

TEST(Diloco, WithAveragesThatTravelTooIsTheReferences) {
  Config config = diloco_config();
  config.sync.fragments = 2;
  config.sync.inner_state = InnerState::kAverage;
  expect_the_reference(config, 2);
  Config keeping = config;
  keeping.sync.inner_state = InnerState::kKeep;
  EXPECT_GE(distance(train(keeping, 2).second, train(config, 2).second), 1e-4) << "the control";
}

TEST(Diloco, InFragmentsThatOverlapInnerStepsIsTheReferencesInBothPatterns) {
  for (const FragmentPattern pattern : {FragmentPattern::kSequential, FragmentPattern::kStrided}) {
    Config config = diloco_config();
    config.sync.fragments = 2;
    config.sync.pattern = pattern;
    config.sync.overlap = 2;
    expect_the_reference(config, 4, {Mistake::kSharedMomentum});
    config.sync.mix = 0.5;
    expect_the_reference(config, 2, {Mistake::kBaseFromMergedLocal});
  }
}

TEST(Diloco, ThatIsEagerIsTheReferencesInBothVariants) {
  for (const EagerVariant variant : {EagerVariant::kAgreed, EagerVariant::kPaper}) {
    for (const std::size_t workers : {2U, 4U}) {
      Config config = diloco_config();
      config.sync.outer_update = OuterUpdate::kEager;
      config.sync.eager_variant = variant;
      expect_the_reference(config, workers, {Mistake::kFlippedDelta});
    }
  }
}

TEST(Diloco, ThatIsDelayedIsTheReferences) {
  Config config = diloco_config();
  config.sync.outer_update = OuterUpdate::kDelayed;
  expect_the_reference(config, 2, {Mistake::kHeavyBall});
}

TEST(Diloco, OfOneStepWithPlainDescentIsDataParallel) {
  Config config = diloco_config();
  config.optim.kind = OptimizerKind::kSgd;
  config.optim.clip_norm = 0;
  config.sync.H = 1;
  config.sync.outer_lr = 1;
  config.sync.outer_momentum = 0;
  Config data_parallel = config;
  data_parallel.sync.mode = SyncMode::kEveryStep;
  WorkerGroup group(config, 4, works(config));
  WorkerGroup whole(data_parallel, 1, works(config));
  WorkerGroup wrong(data_parallel, 2, works(config));  // the control: half of the microbatches only
  for (int step = 0; step < 10; ++step) {
    for (WorkerGroup* each : {&group, &whole, &wrong}) each->step();
  }
  const Tensors expected = as_doubles(whole.tensors(0, ""));
  EXPECT_LE(relative_distance(as_doubles(group.tensors(0, "outer.")), expected), 1e-6);
  EXPECT_LE(relative_distance(as_doubles(group.tensors(3, "")), expected), 1e-6);
  EXPECT_GE(relative_distance(as_doubles(wrong.tensors(0, "")), expected), 1e-4);
}

TEST(Diloco, InOneFragmentWithoutOverlapIsDilocoBitForBit) {
  const Config config = diloco_config();
  const Course plain_diloco = train(config, 2);
  for (const FragmentPattern pattern : {FragmentPattern::kSequential, FragmentPattern::kStrided}) {
    Config streaming = config;
    streaming.sync.pattern = pattern;
    const Course course = train(streaming, 2);
    EXPECT_EQ(course.second.locals, plain_diloco.second.locals);
    EXPECT_EQ(course.second.outer, plain_diloco.second.outer);
    streaming.sync.fragments = 2;
    EXPECT_NE(train(streaming, 2).second.locals, plain_diloco.second.locals) << "the control";
  }
}

TEST(Diloco, ThatIsEagerIsDilocoBitForBitWithOneWorker) {
  for (const EagerVariant variant : {EagerVariant::kAgreed, EagerVariant::kPaper}) {
    Config config = diloco_config();
    const Course waiting = train(config, 1);
    config.sync.outer_update = OuterUpdate::kEager;
    config.sync.eager_variant = variant;
    EXPECT_EQ(train(config, 1).second.locals, waiting.second.locals);
    EXPECT_NE(train(config, 2).second.locals[0], waiting.second.locals[0]) << "the control";
    config.sync.outer_update = OuterUpdate::kDelayed;
    EXPECT_NE(train(config, 1).second.locals, waiting.second.locals) << "the control";
  }
}

TEST(Diloco, ThatKeepsAllOfTheLocalParametersIsNoCommunication) {
  Config config = diloco_config();
  config.sync.mix = 1;
  Config alone = diloco_config();
  alone.sync.H = 1000;  // no round is ever due
  EXPECT_EQ(train(config, 2).second.locals, train(alone, 2).second.locals);
  config.sync.mix = 0.9;
  EXPECT_NE(train(config, 2).second.locals, train(alone, 2).second.locals) << "the control";
}

TEST(Diloco, GoesOnFromImagesBitForBitWhateverTheSettings) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](int end) { return std::uniform_int_distribution<int>(0, end - 1)(random); };
  for (int trial = 0; trial < 4; ++trial) {
    Config config = diloco_config();
    config.sync.H = static_cast<std::uint64_t>(2 + below(4));
    config.sync.fragments = 1 + below(3);
    config.sync.outer_update = static_cast<OuterUpdate>(below(3));
    config.sync.eager_variant = static_cast<EagerVariant>(below(2));
    config.sync.pattern = static_cast<FragmentPattern>(below(2));
    config.sync.inner_state = below(2) == 0 ? InnerState::kKeep : InnerState::kReset;
    config.sync.mix = 0.5 * below(2);
    config.sync.outer_warmup = static_cast<std::uint64_t>(below(2));
    if (config.sync.outer_update == OuterUpdate::kWait) config.sync.overlap = static_cast<std::uint64_t>(below(2));
    SCOPED_TRACE(write_config(config));
    WorkerGroup undisturbed(config, 2, works(config));
    WorkerGroup replaced(config, 2, works(config));
    while (undisturbed.version() < 11) {  // no multiple of any H: the last fragment is between rounds
      undisturbed.step();
      replaced.step();
      if (below(3) == 0) replaced.replace_executors();
    }
    for (const std::size_t worker : {0U, 1U}) {
      ASSERT_EQ(undisturbed.executor(worker).state_image(), replaced.executor(worker).state_image());
    }
    // The control: a state that was not kept shows, unless all of it has just become the agreed one.
    const bool has_just_merged =
        config.sync.fragments == 1 && (undisturbed.version() - config.sync.overlap) % config.sync.H == 0;
    if (has_just_merged) continue;
    (void)replaced.executor(0).restart_from_outer();
    ASSERT_NE(undisturbed.executor(0).state_image(), replaced.executor(0).state_image());
  }
}

}  // namespace
}  // namespace shoal::diloco_test
