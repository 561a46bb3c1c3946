// A stage by our kernels, run on the processor under the shim over the fake queue: the processor's bits where the
// arithmetic is shared, torch's within rounding elsewhere, and the same bits each time.
#include "runtime/device/cuda/math/kernel_math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <ATen/ops/from_blob.h>

#include "model/parts/loss.h"
#include "runtime/base/machine/bf16_units.h"
#include "runtime/device/cpu_stage_executor.h"
#include "runtime/device/queue/queued_stage_executor.h"
#include "tests/model/random_values.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/runtime/device/queue/fake_queue.h"
#include "tests/runtime/device/queue/trained.h"
#include "tests/support/cuda_shim/shim.h"

namespace shoal::kernel_math_test {
namespace {

// Few: a thread of a kernel is a fiber here.
constexpr Steps kSteps{2, 2};

enum class By { kTorch, kKernels };

struct OnQueue {
  std::shared_ptr<FakeQueue> queue = std::make_shared<FakeQueue>();
  std::unique_ptr<QueuedStageExecutor> executor;
  OnQueue(const Config& config, By by, std::size_t stage = 0, int stages = 1) {
    std::shared_ptr<const DeviceMath> math = torch_math();
    if (by == By::kKernels) math = make_kernel_math(queue);
    executor =
        std::make_unique<QueuedStageExecutor>(config, (*partition(config.model, stages))[stage], queue,
                                              QueuedStageExecutor::Settings{Answering::kAtOnce, std::move(math)});
  }
  QueuedStageExecutor* operator->() const { return executor.get(); }
};

Config config_of(Reduction reduction, ModelKind kind = ModelKind::kGpt2) {
  Config config = small_config(reduction);
  config.model.kind = kind;
  if (kind == ModelKind::kLlama) config.model.hidden = 64;
  config.optim.eps = 1e-3;  // else a gradient of almost nothing takes as large a step as any, either way
  return config;
}

// One step's sum of the processor, which all adopt.
TensorBlob sum_of_step(const Config& config, std::uint64_t step) {
  CpuStageExecutor cpu(config, (*partition(config.model, 1))[0]);
  for (std::uint32_t index = 0; index < 3; ++index) {
    const auto work = random_work(config, step, index);
    static_cast<void>(cpu.forward_backward(work, WeightGradients::kAtOnce));
    static_cast<void>(cpu.accumulate(work.microbatch));
  }
  return cpu.contribution();
}

double largest_difference(const TensorBlob& a, const TensorBlob& b) {
  double most = 0;
  for (std::int64_t i = 0; i < a.element_count(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a.as<float>()[i]) - static_cast<double>(b.as<float>()[i])));
  }
  return most;
}

class KernelStage : public testing::TestWithParam<Reduction> {};

TEST_P(KernelStage, HasTheProcessorsBitsOfMeansNormsUpdatesAndDigests) {
  for (const OptimizerKind kind : {OptimizerKind::kAdamw, OptimizerKind::kSgd}) {
    Config config = config_of(GetParam());
    config.optim.kind = kind;
    CpuStageExecutor cpu(config, (*partition(config.model, 1))[0]);
    const OnQueue kernels(config, By::kKernels);
    const OnQueue torch(config, By::kTorch);  // the control
    for (std::uint64_t step = 0; step < 3; ++step) {
      const TensorBlob sum = sum_of_step(config, step);
      const ReducedSum ours = cpu.adopt_sum(sum, 96);
      const ReducedSum theirs = kernels->adopt_sum(sum, 96);
      EXPECT_EQ(theirs.digest, ours.digest);
      EXPECT_EQ(torch->adopt_sum(sum, 96).digest, ours.digest);
      ASSERT_EQ(theirs.norms.size(), ours.norms.size());
      for (std::size_t i = 0; i < ours.norms.size(); ++i) {
        EXPECT_EQ(theirs.norms[i].squared_norm, ours.norms[i].squared_norm) << ours.norms[i].name;
      }
      const UpdateOrder order{1e-2, 0.7, step + 1};
      cpu.apply(order);
      kernels->apply(order);
      torch->apply(order);
      EXPECT_EQ(kernels->state_digest(), cpu.state_digest());
      EXPECT_TRUE(kind == OptimizerKind::kSgd || torch->state_digest() != cpu.state_digest());
    }
    EXPECT_EQ(kernels->state_image(), cpu.state_image());
  }
}

TEST_P(KernelStage, TrainsWhatTheProcessorTrains) {
  for (const ModelKind kind : {ModelKind::kGpt2, ModelKind::kLlama}) {
    const Config config = config_of(GetParam(), kind);
    CpuStageExecutor cpu(config, (*partition(config.model, 1))[0]);
    const OnQueue kernels(config, By::kKernels);
    const Trained ours = train_steps(cpu, config, kSteps);
    const Trained theirs = train_steps(*kernels.executor, config, kSteps);
    EXPECT_NEAR(theirs.loss, ours.loss, 1e-4 * ours.loss);
    EXPECT_NEAR(theirs.norm, ours.norm, 1e-4 * ours.norm);
    EXPECT_LT(difference(ours.image, theirs.image), 2e-5);
    Config other = config;  // the control
    other.optim.lr = 1.1 * config.optim.lr;
    const OnQueue wrong(other, By::kKernels);
    EXPECT_GT(difference(ours.image, train_steps(*wrong.executor, other, kSteps).image), 2e-4);
  }
}

TEST_P(KernelStage, RepeatsItsBits) {
  const Config config = config_of(GetParam());
  const OnQueue first(config, By::kKernels);
  const OnQueue second(config, By::kKernels);
  const TensorBlob image = train_steps(*first.executor, config, kSteps).image;
  shim::begin({shim::Order::kShuffled, 5, {}});  // threads in another order
  EXPECT_EQ(train_steps(*second.executor, config, kSteps).image, image);
  shim::begin({});
}

// A block of threads that is lost in every kernel is seen: the stage does compute by the kernels, and by nothing else.
TEST_P(KernelStage, AFaultInTheKernelsIsSeen) {
  const Config config = config_of(GetParam());
  CpuStageExecutor cpu(config, (*partition(config.model, 1))[0]);
  const TensorBlob sum = sum_of_step(config, 0);
  const std::uint64_t digest = cpu.adopt_sum(sum, 96).digest;
  const auto work = random_work(config, 0, 0);
  const double loss = cpu.forward_backward(work, WeightGradients::kAtOnce).loss_sum;
  const OnQueue kernels(config, By::kKernels);
  const OnQueue torch(config, By::kTorch);
  shim::begin({shim::Order::kUpwards, 1, {shim::FaultKind::kLostBlock, 0}});
  EXPECT_NE(kernels->adopt_sum(sum, 96).digest, digest);
  EXPECT_EQ(torch->adopt_sum(sum, 96).digest, digest);
  EXPECT_FALSE(std::abs(kernels->forward_backward(work, WeightGradients::kAtOnce).loss_sum - loss) < 1e-2 * loss);
  EXPECT_NEAR(torch->forward_backward(work, WeightGradients::kAtOnce).loss_sum, loss, 1e-4 * loss);
  shim::begin({});
}

INSTANTIATE_TEST_SUITE_P(Modes, KernelStage, testing::Values(Reduction::kExact, Reduction::kFast));

TEST(KernelStage, AddsNothingOfATensorThatIsOutOfRange) {
  const auto kernels = make_kernel_math(std::make_shared<FakeQueue>());
  const auto flat = kernels->of_flat({{0, 300}}, at::kCPU);
  std::vector<std::int64_t> sums(300, 7);
  std::vector<float> values(300, 1.5F);
  const at::Tensor into = at::from_blob(sums.data(), {300}, at::kLong);
  const std::vector<at::Tensor> from = {at::from_blob(values.data(), {300}, at::kFloat)};
  EXPECT_TRUE(flat->add_within({into, 4, 64}, 0, from).item<bool>());
  EXPECT_THAT(sums, testing::Each(7 + 24));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 65.0F}) {
    values[255] = bad;
    EXPECT_FALSE(flat->add_within({into, 4, 64}, 0, from).item<bool>());
    EXPECT_THAT(sums, testing::Each(7 + 24));
  }
}

// Rows of 50 are padded, rows of 48 are written over.
TEST(KernelStage, LossAndItsGradientAreTorchsWithinRounding) {
  const auto kernels = make_kernel_math(std::make_shared<FakeQueue>());
  for (const std::int64_t vocabulary : {48, 50}) {
    std::mt19937 random(3);
    std::vector<float> values = normal(random, static_cast<std::size_t>(2 * 9 * vocabulary), 3);
    std::vector<std::int32_t> targets(18);
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<std::int32_t>(i * 5) % 47;
    targets[4] = -1;
    const at::Tensor logits = at::from_blob(values.data(), {2, 9, vocabulary}, at::kFloat);
    const at::Tensor wanted = at::from_blob(targets.data(), {2, 9}, at::kInt);
    const LossAndGradient torch = loss_and_gradient(logits, wanted.to(at::kLong));
    const LossAndGradient ours = kernels->loss_and_gradient(logits.clone(), wanted);
    EXPECT_NEAR(ours.loss_sum.item<float>(), torch.loss_sum.item<float>(), 1e-4);
    EXPECT_LT(ours.dlogits_BTV.sub(torch.dlogits_BTV).abs().max().item<float>(), 1e-6F);
    const at::Tensor other = kernels->loss_and_gradient(logits.clone(), wanted.add(1)).dlogits_BTV;  // the control
    EXPECT_GT(other.sub(torch.dlogits_BTV).abs().max().item<float>(), 1e-2F);
  }
}

// Stages that are cut in two hand activations on: the sums of the whole within rounding, and the same bits each time.
TEST(KernelStage, RunsAsAPartOfAPipelineWithDropoutAndRecomputation) {
  Config config = config_of(Reduction::kExact);
  config.model.dropout = 0.1;
  TensorBlob sums[2];
  for (const bool recomputes : {false, true}) {
    config.pipeline.recompute = recomputes;
    const OnQueue first(config, By::kKernels, 0, 2);
    const OnQueue last(config, By::kKernels, 1, 2);
    const auto work = random_work(config, 0, 0);
    const TensorBlob activation = first->forward(work);
    EXPECT_LT(largest_difference(activation, OnQueue(config, By::kTorch, 0, 2)->forward(work)), 1e-4);
    Config other = config;  // the control: another mask, and the same weights
    other.model.dropout = 0.11;
    EXPECT_GT(largest_difference(activation, OnQueue(other, By::kKernels, 0, 2)->forward(work)), 1e-2);
    const auto back =
        last->forward_backward({work.step, work.microbatch, activation, work.targets}, WeightGradients::kLater);
    static_cast<void>(first->backward(work.microbatch, back.input_gradient, WeightGradients::kLater));
    EXPECT_EQ(first->accumulate(work.microbatch).bad_tensor, std::nullopt);
    sums[recomputes ? 1 : 0] = on_host(first->contribution());
  }
  EXPECT_EQ(sums[0], sums[1]);
}

class Bf16Stage : public testing::TestWithParam<By> {
 protected:
  void SetUp() override {
    if (bf16_units() == "none") GTEST_SKIP() << "this processor has no units for bf16";
  }
};

// Weights stay float32; products read what the last update has written.
TEST_P(Bf16Stage, TrainsWhatTheProcessorTrainsInBf16) {
  for (const ModelKind kind : {ModelKind::kGpt2, ModelKind::kLlama}) {
    Config config = config_of(Reduction::kExact, kind);
    config.model.precision = Precision::kBf16;
    CpuStageExecutor cpu(config, (*partition(config.model, 1))[0]);
    const OnQueue device(config, GetParam());
    const Trained ours = train_steps(cpu, config, kSteps);
    const Trained theirs = train_steps(*device.executor, config, kSteps);
    EXPECT_NEAR(theirs.loss, ours.loss, 1e-3 * ours.loss);
    EXPECT_LT(difference(ours.image, theirs.image), 2e-3);
    Config whole = config;  // the controls: float32 is not bf16, and another rate is another run
    whole.model.precision = Precision::kFp32;
    const OnQueue in_float(whole, GetParam());
    EXPECT_NE(train_steps(*in_float.executor, whole, kSteps).loss, theirs.loss);
    Config other = config;
    other.optim.lr = 1.5 * config.optim.lr;
    const OnQueue wrong(other, GetParam());
    EXPECT_GT(difference(ours.image, train_steps(*wrong.executor, other, kSteps).image), 4e-3);
  }
}

// With torch's operators everything that products are given is the processor's, so sums have equal bits.
TEST(Bf16Stage, AccumulatesTheProcessorsBitsByTorch) {
  if (bf16_units() == "none") GTEST_SKIP() << "this processor has no units for bf16";
  Config config = config_of(Reduction::kExact);
  config.model.precision = Precision::kBf16;
  CpuStageExecutor cpu(config, (*partition(config.model, 1))[0]);
  const OnQueue device(config, By::kTorch);
  const auto work = random_work(config, 0, 0);
  static_cast<void>(cpu.forward_backward(work, WeightGradients::kAtOnce));
  static_cast<void>(cpu.accumulate(work.microbatch));
  static_cast<void>(device->forward_backward(work, WeightGradients::kAtOnce));
  static_cast<void>(device->accumulate(work.microbatch));
  EXPECT_EQ(on_host(device->contribution()), cpu.contribution());
}

// A state that was loaded, and an agreed state of rounds, are what products read from then on.
TEST_P(Bf16Stage, CopiesFollowALoadedStateAndARound) {
  Config config = config_of(Reduction::kFast);
  config.model.precision = Precision::kBf16;
  config.sync.mode = SyncMode::kDiloco;
  const OnQueue trained(config, GetParam());
  static_cast<void>(train_steps(*trained.executor, config, {1, 2}));
  RoundUpdate update;
  update.round = 1;
  update.mean = trained->contribute_round(0);
  update.own_weight = update.total_weight = 1;
  static_cast<void>(trained->apply_round(update));
  const OnQueue loaded(config, GetParam());
  const auto work = random_work(config, 9, 0);
  const double before = loaded->evaluate(work).loss_sum;
  ASSERT_TRUE(loaded->load_state(trained->state_image()).ok());
  EXPECT_EQ(loaded->evaluate(work).loss_sum, trained->evaluate(work).loss_sum);
  EXPECT_NE(loaded->evaluate(work).loss_sum, before);
  EXPECT_EQ(loaded->forward_backward(work, WeightGradients::kAtOnce).loss_sum,
            trained->forward_backward(work, WeightGradients::kAtOnce).loss_sum);
}

INSTANTIATE_TEST_SUITE_P(Maths, Bf16Stage, testing::Values(By::kTorch, By::kKernels));

}  // namespace
}  // namespace shoal::kernel_math_test
