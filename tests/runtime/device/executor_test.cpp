// Tests what the device contract promises beyond equal bits: state in and out, skipped steps, evaluation, refusals.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "model/pass_memory.h"
#include "tests/model/tensor_memory.h"
#include "tests/runtime/device/local_pipeline.h"

namespace shoal::executor_test {
namespace {

constexpr std::uint32_t kMicrobatches = 6;

TensorBlob filled(const std::vector<std::int64_t>& shape, float value) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  auto bytes = std::make_shared<AlignedBuffer>(count * sizeof(float));
  std::fill_n(reinterpret_cast<float*>(bytes->data()), count, value);
  return {DType::kFloat32, shape, bytes};
}

// The image without one tensor, or with one renamed.
TensorBlob without(const TensorBlob& image, const std::string& name) {
  auto stored = parse_safetensors({image.bytes->data(), image.bytes->size()}, "an image");
  ENSURE(stored.ok(), "an image that can be read");
  std::erase_if(*stored, [&](const StoredTensor& tensor) { return tensor.name == name; });
  return build_safetensors(std::move(*stored));
}

TEST(Executor, StartsAtTheInitialWeightsWhateverTheCut) {
  const Config config = small_config(Reduction::kFast);
  EXPECT_EQ(LocalPipeline(config, 1).state(), LocalPipeline(config, 3).state());
  Config other = config;
  other.run.seed = 2;
  EXPECT_NE(LocalPipeline(config, 1).state(), LocalPipeline(other, 1).state());
}

// Returns the most that one microbatch holds in tensors, in values per token.
double held_by_microbatch(const Config& config) {
  const auto executor = make_stage_executor({config, StageId{0}, 1, "cpu"});
  EXPECT_TRUE(executor.ok());
  const auto work = random_work(config, 0, 0);
  TensorMemory memory;
  EXPECT_GT((*executor)->forward_backward(work, WeightGradients::kAtOnce).loss_sum, 0);
  return static_cast<double>(memory.most()) / 4 / static_cast<double>(work.input.element_count());
}

TEST(Executor, TheLossTakesThreeArraysOfTheVocabulary) {
  Config config = small_config(Reduction::kFast);
  config.model = {.layers = 1, .heads = 1, .width = 4, .context = 64, .vocabulary = 20000};  // all else is little
  EXPECT_NEAR(held_by_microbatch(config), 3 * 20000, 2000);
}

// A small vocabulary, so that blocks pass more than the loss does.
TEST(Executor, BlocksGoBackWithoutTheGradientOfTheLogits) {
  Config config = small_config(Reduction::kFast);
  config.model = {.layers = 1, .heads = 4, .width = 64, .context = 256, .vocabulary = 100};
  config.batch = {16, 16};  // many tokens beside few weights
  const StagePlan plan = whole_model(config.model);
  const auto planned = static_cast<double>(plan.kept_values + 64 + passing_values(plan, config.model));
  EXPECT_NEAR(held_by_microbatch(config), planned, 40) << "the logits' gradient is 100";
}

TEST(Executor, AnImageOfItsStateContinuesTheRunBitForBit) {
  const Config config = small_config(Reduction::kExact);
  LocalPipeline whole(config, 1);
  for (std::uint64_t step = 0; step < 3; ++step) whole.train(step, in_order(kMicrobatches));
  LocalPipeline resumed(config, 3);
  for (std::size_t stage = 0; stage < 3; ++stage) {
    ASSERT_TRUE(resumed.stage(stage).load_state(whole.stage(0).state_image()).ok());
  }
  EXPECT_EQ(whole.state(), resumed.state());
  whole.train(3, in_order(kMicrobatches));
  resumed.train(3, in_order(kMicrobatches));
  EXPECT_EQ(whole.state(), resumed.state());
}

TEST(Executor, RefusesAnImageThatLacksATensorAndChangesNothing) {
  const Config config = small_config(Reduction::kExact);
  LocalPipeline donor(config, 1);
  donor.train(0, in_order(kMicrobatches));
  LocalPipeline receiver(config, 1);
  const std::uint64_t before = receiver.stage(0).state_digest();
  for (const std::string name : {"wte.weight", "optimizer.exp_avg.wte.weight"}) {
    const Status loaded = receiver.stage(0).load_state(without(donor.stage(0).state_image(), name));
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.failure().error, Error::kInvalidData);
    EXPECT_NE(loaded.failure().message.find(name), std::string::npos);
  }
  EXPECT_FALSE(receiver.stage(0).load_state(filled({8}, 0)).ok());
  EXPECT_EQ(receiver.stage(0).state_digest(), before);
}

TEST(Executor, RefusesTheStateOfAnotherModel) {
  Config other = small_config(Reduction::kExact);
  other.model.width = 64;
  const TensorBlob image = LocalPipeline(other, 1).stage(0).state_image();
  EXPECT_FALSE(LocalPipeline(small_config(Reduction::kExact), 1).stage(0).load_state(image).ok());
}

TEST(Executor, TheDigestSeesEveryUpdate) {
  LocalPipeline a(small_config(Reduction::kExact), 1);
  LocalPipeline b(small_config(Reduction::kExact), 1);
  EXPECT_EQ(a.stage(0).state_digest(), b.stage(0).state_digest());
  a.train(0, in_order(kMicrobatches));
  EXPECT_NE(a.stage(0).state_digest(), b.stage(0).state_digest());
}

TEST(Executor, NamesTheTensorWhoseGradientIsNotFiniteAndAddsNothingOfIt) {
  for (const Reduction reduction : {Reduction::kExact, Reduction::kFast}) {
    const Config config = small_config(reduction);
    LocalPipeline pipeline(config, 2);
    const MicrobatchWork work = random_work(config, 0, 0);
    const TensorBlob activation = pipeline.stage(0).forward(work);
    const float infinity = std::numeric_limits<float>::infinity();
    static_cast<void>(
        pipeline.stage(0).backward(work.microbatch, filled(activation.shape, infinity), WeightGradients::kLater));
    ASSERT_TRUE(pipeline.stage(0).accumulate(work.microbatch).bad_tensor.has_value());
    pipeline.stage(0).skip();
    EXPECT_TRUE(pipeline.stage(0).contribution() == LocalPipeline(config, 2).stage(0).contribution());
  }
}

TEST(Executor, OnlyExactModeRefusesValuesBeyondItsRange) {
  for (const Reduction reduction : {Reduction::kExact, Reduction::kFast}) {
    const Config config = small_config(reduction);
    LocalPipeline pipeline(config, 2);
    const MicrobatchWork work = random_work(config, 0, 0);
    const TensorBlob activation = pipeline.stage(0).forward(work);
    static_cast<void>(
        pipeline.stage(0).backward(work.microbatch, filled(activation.shape, 1e6F), WeightGradients::kLater));
    const AccumulateResult result = pipeline.stage(0).accumulate(work.microbatch);
    EXPECT_EQ(result.bad_tensor.has_value(), reduction == Reduction::kExact);
  }
}

TEST(Executor, ASkippedStepChangesNeitherWeightsNorTheNextStep) {
  const Config config = small_config(Reduction::kExact);
  LocalPipeline skipping(config, 1);
  LocalPipeline plain(config, 1);
  skipping.accumulate(7, in_order(kMicrobatches));
  skipping.stage(0).skip();
  EXPECT_EQ(skipping.state(), plain.state());
  skipping.train(0, in_order(kMicrobatches));
  plain.train(0, in_order(kMicrobatches));
  EXPECT_EQ(skipping.state(), plain.state());
}

// The accumulators hold the same whether a microbatch is accumulated at once or after others; before, they hold nothing
// of it and are not given.
TEST(Executor, WeightsGradientsMayComeLaterThanTheAnswer) {
  const Config config = small_config(Reduction::kExact);
  LocalPipeline at_once(config, 1);
  LocalPipeline later(config, 1);
  at_once.accumulate(0, in_order(3));
  for (std::uint32_t index = 0; index < 3; ++index) {
    const auto when = index == 1 ? WeightGradients::kAtOnce : WeightGradients::kLater;
    static_cast<void>(later.stage(0).forward_backward(random_work(config, 0, index), when));
  }
  EXPECT_THROW(static_cast<void>(later.stage(0).contribution()), Bug);
  for (const std::uint32_t index : {2U, 0U}) {
    EXPECT_EQ(later.stage(0).accumulate(MicrobatchId{index}).token_count, 32U);
  }
  EXPECT_THROW(static_cast<void>(later.stage(0).contribution()), Bug);
  static_cast<void>(later.stage(0).accumulate(MicrobatchId{1}));
  EXPECT_TRUE(later.stage(0).contribution() == at_once.stage(0).contribution());
  EXPECT_THROW(static_cast<void>(later.stage(0).accumulate(MicrobatchId{1})), Bug) << "each once";
  at_once.stage(0).zero();
  EXPECT_FALSE(later.stage(0).contribution() == at_once.stage(0).contribution()) << "control";
}

TEST(Executor, AZeroForgetsWhatWasNotAccumulated) {
  const Config config = small_config(Reduction::kExact);
  LocalPipeline pipeline(config, 1);
  static_cast<void>(pipeline.stage(0).forward_backward(random_work(config, 0, 0), WeightGradients::kLater));
  pipeline.stage(0).zero();
  EXPECT_TRUE(pipeline.stage(0).contribution() == LocalPipeline(config, 1).stage(0).contribution());
}

TEST(Executor, AnUpdateWithoutASumIsABug) {
  LocalPipeline pipeline(small_config(Reduction::kExact), 1);
  EXPECT_THROW(pipeline.stage(0).apply({1e-3, 1, 1}), Bug);
}

TEST(Executor, EvaluationKeepsNothingAndDrawsNoMasks) {
  Config config = small_config(Reduction::kExact);
  config.model.dropout = 0.5;
  LocalPipeline pipeline(config, 2);
  const TensorBlob empty = pipeline.stage(0).contribution();
  const MicrobatchWork work = random_work(config, 0, 1);
  const auto evaluate = [&] {
    const EvaluateResult first = pipeline.stage(0).evaluate(work);
    return pipeline.stage(1).evaluate({work.step, work.microbatch, first.activation, work.targets});
  };
  const EvaluateResult result = evaluate();
  EXPECT_EQ(result.loss_sum, evaluate().loss_sum);
  EXPECT_EQ(result.token_count, 32U);
  EXPECT_NEAR(result.loss_sum / 32, std::log(50), 0.5);
  EXPECT_TRUE(pipeline.stage(0).contribution() == empty);
  EXPECT_THROW(
      static_cast<void>(pipeline.stage(0).backward(work.microbatch, filled({2, 16, 32}, 0), WeightGradients::kLater)),
      Bug);
  config.model.dropout = 0;
  LocalPipeline without_dropout(config, 1);
  EXPECT_EQ(without_dropout.stage(0).evaluate(work).loss_sum, result.loss_sum);
}

TEST(Executor, DropoutChangesTheTrainingLoss) {
  Config config = small_config(Reduction::kExact);
  const double plain = LocalPipeline(config, 1).accumulate(0, in_order(1));
  config.model.dropout = 0.3;
  const double dropped = LocalPipeline(config, 1).accumulate(0, in_order(1));
  EXPECT_NE(plain, dropped);
  EXPECT_NEAR(plain, dropped, 0.2 * plain);
}

TEST(Executor, TargetsThatAreNotCountedHaveNoPartInTheLoss) {
  const Config config = small_config(Reduction::kExact);
  MicrobatchWork work = random_work(config, 0, 0);
  auto bytes = std::make_shared<AlignedBuffer>(work.targets.byte_count());
  auto* targets = reinterpret_cast<std::int32_t*>(bytes->data());
  std::copy_n(work.targets.as<std::int32_t>(), 32, targets);
  std::fill_n(targets + 16, 16, -1);
  LocalPipeline pipeline(config, 1);
  const double all = pipeline.stage(0).evaluate(work).loss_sum;
  work.targets.bytes = bytes;
  const EvaluateResult half = pipeline.stage(0).evaluate(work);
  EXPECT_EQ(half.token_count, 16U);
  EXPECT_GT(half.loss_sum, 0.3 * all);
  EXPECT_LT(half.loss_sum, 0.7 * all);
}

TEST(Executor, SgdHasNoStateBesideItsWeights) {
  Config config = small_config(Reduction::kExact);
  config.optim.kind = OptimizerKind::kSgd;
  LocalPipeline pipeline(config, 1);
  pipeline.train(0, in_order(kMicrobatches));
  const auto state = pipeline.state();
  EXPECT_FALSE(state.contains("optimizer.exp_avg.wte.weight"));
  EXPECT_NE(state, LocalPipeline(config, 1).state());
}

TEST(ExecutorFactory, RefusesDevicesAndStagesThatDoNotExist) {
  const Config config = small_config(Reduction::kFast);
  for (const std::string device : {"tpu", "cuda:0", "cuda", "cuda:x", "paced:", "paced:-1", "paced:1x", ""}) {
    const auto executor = make_stage_executor({config, StageId{0}, 1, device});
    ASSERT_FALSE(executor.ok()) << device;
    EXPECT_EQ(executor.failure().error, Error::kUsage);
  }
  EXPECT_FALSE(make_stage_executor({config, StageId{0}, 4, "cpu"}).ok());
  EXPECT_FALSE(make_stage_executor({config, StageId{2}, 2, "cpu"}).ok());
  EXPECT_TRUE(make_stage_executor({config, StageId{1}, 2, "paced:0.5"}).ok());
  EXPECT_EQ(pace_ms_of("paced:0.5"), 0.5);
  EXPECT_EQ(pace_ms_of("paced:-1"), std::nullopt);
  EXPECT_EQ(pace_ms_of("cpu"), std::nullopt);
}

}  // namespace
}  // namespace shoal::executor_test
