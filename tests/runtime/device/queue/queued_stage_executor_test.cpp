// The executor of devices with queues, run on the processor by a queue whose marks the test reaches: it trains what the
// processor's executor trains, gives tensors away before they are ready, and holds what its device still reads.
#include "runtime/device/queue/queued_stage_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/device/cpu_stage_executor.h"
#include "runtime/device/host_tensor.h"
#include "runtime/device/queue/queued_tensor.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/runtime/device/queue/fake_queue.h"
#include "tests/runtime/device/queue/trained.h"

namespace shoal::queued_stage_executor_test {
namespace {

StagePlan plan_of(const Config& config, std::size_t stage, int stages) {
  return (*partition(config.model, stages))[stage];
}

struct OnQueue {
  std::shared_ptr<FakeQueue> queue = std::make_shared<FakeQueue>();
  std::unique_ptr<QueuedStageExecutor> executor;
  OnQueue(const Config& config, std::size_t stage, int stages, Answering answers,
          BeginsWith begins = BeginsWith::kInitialWeights) {
    executor = std::make_unique<QueuedStageExecutor>(config, plan_of(config, stage, stages), queue,
                                                     QueuedStageExecutor::Settings{answers, torch_math(), begins});
  }
};

class QueuedStage : public testing::TestWithParam<Reduction> {};

TEST_P(QueuedStage, TrainsWhatTheProcessorTrains) {
  for (const OptimizerKind kind : {OptimizerKind::kAdamw, OptimizerKind::kSgd}) {
    Config config = small_config(GetParam());
    config.optim.kind = kind;
    config.optim.eps = 1e-3;  // else a gradient of almost nothing takes as large a step as any, either way
    if (kind == OptimizerKind::kSgd) config.optim.lr = 1;
    CpuStageExecutor cpu(config, plan_of(config, 0, 1));
    OnQueue device(config, 0, 1, Answering::kAtOnce);
    EXPECT_EQ(cpu.state_digest(), device.executor->state_digest());  // initial weights
    for (std::uint64_t step = 0; step < 4; ++step) {
      const Trained ours = train_step(cpu, config, step);
      const Trained theirs = train_step(*device.executor, config, step);
      EXPECT_NEAR(theirs.norm, ours.norm, 1e-4 * ours.norm);
      EXPECT_NEAR(theirs.loss, ours.loss, 1e-4 * ours.loss);
    }
    const TensorBlob image = cpu.state_image();
    EXPECT_LT(difference(image, device.executor->state_image()), 2e-5);
    Config other = config;  // the control
    other.optim.lr = 1.1 * config.optim.lr;
    OnQueue wrong(other, 0, 1, Answering::kAtOnce);
    EXPECT_GT(difference(image, train_steps(*wrong.executor, other, {4}).image), 2e-4);
  }
}

// Before the first update the weights are equal, so what is accumulated has equal bits.
TEST_P(QueuedStage, AccumulatesTheProcessorsBits) {
  for (const bool recomputes : {false, true}) {
    Config config = small_config(GetParam());
    config.pipeline.recompute = recomputes;
    config.model.dropout = 0.1;
    CpuStageExecutor first(config, plan_of(config, 0, 2));
    OnQueue first_there(config, 0, 2, Answering::kLater);
    const TensorBlob gradient = first.forward(random_work(config, 0, 0));
    static_cast<void>(first.backward(MicrobatchId{0}, gradient, WeightGradients::kLater));
    static_cast<void>(first.accumulate(MicrobatchId{0}));
    const TensorBlob given = first_there.executor->forward(random_work(config, 0, 0));
    ASSERT_TRUE(given.resident);
    static_cast<void>(first_there.executor->backward(MicrobatchId{0}, given, WeightGradients::kLater));
    static_cast<void>(first_there.executor->accumulate(MicrobatchId{0}));
    EXPECT_EQ(first.contribution(), on_host(first_there.executor->contribution()));
    EXPECT_EQ(on_host(given), gradient);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, QueuedStage, testing::Values(Reduction::kExact, Reduction::kFast));

TEST(QueuedStage, GivesTensorsAwayBeforeTheyAreReadyAndWaitsForNobody) {
  const Config config = small_config(Reduction::kExact);
  OnQueue first(config, 0, 2, Answering::kLater);
  OnQueue last(config, 1, 2, Answering::kLater);
  const auto work = random_work(config, 0, 0);
  const TensorBlob activation = first.executor->forward(work);
  ASSERT_TRUE(activation.resident);
  EXPECT_FALSE(activation.resident->is_ready());
  const auto back =
      last.executor->forward_backward({work.step, work.microbatch, activation, work.targets}, WeightGradients::kAtOnce);
  EXPECT_EQ(last.queue->followed, 1);
  EXPECT_TRUE(back.input_gradient.resident);
  static_cast<void>(last.executor->accumulate(work.microbatch));
  const LateEnding ending = last.executor->ending();
  EXPECT_FALSE(ending.mark->is_reached());
  EXPECT_EQ(*first.queue->waits, 0);
  EXPECT_EQ(*last.queue->waits, 0);
  last.queue->reach_all();
  EXPECT_TRUE(ending.mark->is_reached());
  EXPECT_GT(ending.figures().loss_sum, 0);
  EXPECT_EQ(ending.figures().bad_tensor, std::nullopt);
}

TEST(QueuedStage, HoldsWhatItsDeviceReadsUntilItIsPastIt) {
  const Config config = small_config(Reduction::kExact);
  OnQueue first(config, 0, 2, Answering::kLater);
  OnQueue last(config, 1, 2, Answering::kLater);
  const auto work = random_work(config, 0, 0);
  TensorBlob activation = first.executor->forward(work);
  const std::weak_ptr<const ResidentTensor> watched = activation.resident;
  static_cast<void>(last.executor->evaluate({work.step, work.microbatch, activation, work.targets}));
  static_cast<void>(last.executor->ending());
  activation = {};
  EXPECT_FALSE(watched.expired());
  last.queue->reach_all();
  static_cast<void>(last.executor->ending());
  EXPECT_TRUE(watched.expired());
}

// Gradients of weights that are left for later are made of the tensors that came from both neighbours.
TEST(QueuedStage, HoldsWhatIsLeftForLater) {
  const Config config = small_config(Reduction::kExact);
  OnQueue first(config, 0, 3, Answering::kLater);
  OnQueue middle(config, 1, 3, Answering::kLater);
  const auto work = random_work(config, 0, 0);
  TensorBlob activation = first.executor->forward(work);
  TensorBlob gradient = first.executor->forward(random_work(config, 0, 1));  // of the right shape
  const std::weak_ptr<const ResidentTensor> came = activation.resident;
  const std::weak_ptr<const ResidentTensor> came_back = gradient.resident;
  static_cast<void>(middle.executor->forward({work.step, work.microbatch, activation, work.targets}));
  static_cast<void>(middle.executor->ending());
  activation = {};
  static_cast<void>(middle.executor->backward(work.microbatch, gradient, WeightGradients::kLater));
  static_cast<void>(middle.executor->ending());
  gradient = {};
  middle.queue->reach_all();
  static_cast<void>(middle.executor->ending());
  EXPECT_FALSE(came.expired());
  EXPECT_FALSE(came_back.expired());
  static_cast<void>(middle.executor->accumulate(work.microbatch));
  static_cast<void>(middle.executor->ending());
  EXPECT_FALSE(came_back.expired());
  middle.queue->reach_all();
  static_cast<void>(middle.executor->ending());
  EXPECT_TRUE(came.expired());
  EXPECT_TRUE(came_back.expired());
}

const QueuedTensor& queued(const TensorBlob& blob) { return dynamic_cast<const QueuedTensor&>(*blob.resident); }

// Accumulates one microbatch, and takes its sum for that of the stage.
TensorBlob sum_of_step(const OnQueue& alone, const Config& config, std::uint64_t step) {
  const auto work = random_work(config, step, 0);
  static_cast<void>(alone.executor->forward_backward(work, WeightGradients::kAtOnce));
  static_cast<void>(alone.executor->accumulate(work.microbatch));
  TensorBlob sum = alone.executor->contribution();
  static_cast<void>(alone.executor->adopt_sum(sum, 100));
  return sum;
}

// A member that is alone feeds a joiner: the next step is computed in the memory that the plan counts.
TEST(QueuedStage, ASumThatOthersReadLeavesTheDeviceBeforeTheNextStep) {
  const Config config = small_config(Reduction::kExact);
  OnQueue alone(config, 0, 1, Answering::kLater);
  TensorBlob fed = sum_of_step(alone, config, 0);
  const void* const memory = queued(fed).values().const_data_ptr();
  const TensorBlob expected = to_blob(queued(fed).values());
  alone.executor->apply({0.1, 1, 1});
  EXPECT_FALSE(queued(fed).values().defined());
  EXPECT_EQ(on_host(fed), expected);
  EXPECT_EQ(on_host(fed).bytes, fed.resident->to_host().bytes) << "there is one copy";
  TensorBlob next = sum_of_step(alone, config, 1);
  EXPECT_EQ(queued(next).values().const_data_ptr(), memory) << "no second accumulators";
  EXPECT_EQ(on_host(fed), expected) << "and what was fed stays";
  next = {};
  const int waits = *alone.queue->waits;
  alone.executor->apply({0.1, 1, 2});
  EXPECT_EQ(*alone.queue->waits, waits) << "the control: what nobody reads is not copied";
}

TEST(QueuedStage, NamesTheTensorThatIsOutOfRangeWithTheJobsFigures) {
  const Config config = small_config(Reduction::kExact);
  OnQueue first(config, 0, 2, Answering::kLater);
  const auto work = random_work(config, 0, 0);
  const TensorBlob activation = first.executor->forward(work);
  TensorBlob gradient{DType::kFloat32, activation.shape, nullptr};
  auto bytes = std::make_shared<AlignedBuffer>(activation.byte_count());
  std::fill_n(reinterpret_cast<float*>(bytes->data()), bytes->size() / sizeof(float),
              std::numeric_limits<float>::quiet_NaN());
  gradient.bytes = bytes;
  static_cast<void>(first.executor->backward(work.microbatch, gradient, WeightGradients::kAtOnce));
  EXPECT_EQ(first.executor->accumulate(work.microbatch).bad_tensor, std::nullopt);  // not known yet
  const auto bad = first.executor->ending().figures().bad_tensor;
  ASSERT_TRUE(bad);
  EXPECT_EQ(*bad, first.executor->tensor_names().front());
  const TensorBlob sums = on_host(first.executor->contribution());
  EXPECT_TRUE(std::all_of(sums.as<std::int64_t>(), sums.as<std::int64_t>() + sums.element_count(),
                          [](std::int64_t value) { return value == 0; }));
}

TEST(QueuedStage, AnImageGoesFromProcessorToDeviceAndBack) {
  const Config config = small_config(Reduction::kExact);
  CpuStageExecutor cpu(config, plan_of(config, 0, 1));
  static_cast<void>(train_steps(cpu, config, {2}));
  OnQueue device(config, 0, 1, Answering::kAtOnce);
  ASSERT_TRUE(device.executor->load_state(cpu.state_image()).ok());
  EXPECT_EQ(device.executor->state_digest(), cpu.state_digest());
  static_cast<void>(train_step(*device.executor, config, 2));
  ASSERT_TRUE(cpu.load_state(device.executor->state_image()).ok());
  EXPECT_EQ(device.executor->state_digest(), cpu.state_digest());
  const auto work = random_work(config, 9, 0);
  EXPECT_EQ(device.executor->evaluate(work).loss_sum, cpu.evaluate(work).loss_sum);
}

// The whole image; `piece` bytes at a time.
TensorBlob read_in_pieces(ImageSource& source, std::size_t piece) {
  auto whole = std::make_shared<AlignedBuffer>(source.byte_count());
  for (std::uint64_t at = 0; at < source.byte_count(); at += piece) {
    const TensorBlob bytes = source.read(at, piece).value();
    std::memcpy(whole->data() + at, bytes.bytes->data(), bytes.byte_count());
  }
  return {DType::kUint8, {static_cast<std::int64_t>(whole->size())}, std::move(whole)};
}

TEST(QueuedStage, PiecesAreOfOneVersionThoughTheDeviceGoesOn) {
  const Config config = small_config(Reduction::kExact);
  OnQueue device(config, 0, 1, Answering::kAtOnce);
  static_cast<void>(train_step(*device.executor, config, 0));
  const TensorBlob image = device.executor->state_image();
  const auto source = device.executor->image_source(), read_late = device.executor->image_source();
  static_cast<void>(train_step(*device.executor, config, 1));
  EXPECT_EQ(read_in_pieces(*source, 4096), image) << "steps change the device's copy";
  const TensorBlob then = device.executor->state_image();
  EXPECT_NE(then, image);
  EXPECT_EQ(read_in_pieces(*read_late, 4096), image) << "the host's copy is another one now";

  OnQueue other(config, 0, 1, Answering::kAtOnce, BeginsWith::kImage);
  const auto work = random_work(config, 9, 0);
  EXPECT_THROW(static_cast<void>(other.executor->state_digest()), Bug);
  EXPECT_THROW(static_cast<void>(other.executor->evaluate(work)), Bug);
  WholeImage pieces(then);
  for (std::uint64_t at = 0; at < then.byte_count(); at += 5000) {
    const auto is_whole = other.executor->load_piece({pieces.read(at, 5000).value(), at, then.byte_count()});
    ASSERT_TRUE(is_whole.ok());
    EXPECT_EQ(is_whole.value(), at + 5000 >= then.byte_count());
  }
  EXPECT_EQ(other.executor->state_digest(), device.executor->state_digest());
  EXPECT_EQ(other.executor->evaluate(work).loss_sum, device.executor->evaluate(work).loss_sum);
}

TEST(QueuedStage, RoundsHaveTheProcessorsBits) {
  for (const InnerState inner : {InnerState::kKeep, InnerState::kReset, InnerState::kAverage}) {
    Config config = small_config(Reduction::kFast);
    config.sync.mode = SyncMode::kDiloco;
    config.sync.inner_state = inner;
    OnQueue device(config, 0, 1, Answering::kAtOnce);
    static_cast<void>(train_step(*device.executor, config, 0));
    CpuStageExecutor cpu(config, plan_of(config, 0, 1));
    ASSERT_TRUE(cpu.load_state(device.executor->state_image()).ok());
    const TensorBlob delta = cpu.contribute_round(0);
    EXPECT_EQ(device.executor->contribute_round(0), delta);
    RoundUpdate update;
    update.round = 1;
    update.mean = delta;
    update.own_weight = update.total_weight = 1;
    EXPECT_EQ(device.executor->apply_round(update), cpu.apply_round(update));
    EXPECT_EQ(device.executor->state_digest(), cpu.state_digest());
    const auto work = random_work(config, 9, 0);
    EXPECT_EQ(device.executor->evaluate(work).loss_sum, cpu.evaluate(work).loss_sum);  // of the agreed weights
  }
}

}  // namespace
}  // namespace shoal::queued_stage_executor_test
