// Borders in fewer bytes between stages on queues: the bits of the processor's stages, whether tensors pass by
// reference or by way of the host, with recorded passes and without; and what lies is not believed.
#include "runtime/device/queue/borders.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "runtime/device/cuda/math/kernel_math.h"
#include "runtime/device/queue/encoded_tensor.h"
#include "runtime/device/queue/queued_stage_executor.h"
#include "runtime/sync/wire/wire_codec.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/runtime/device/queue/recording_queue.h"
#include "tests/runtime/sync/random_floats.h"

namespace shoal::borders_test {
namespace {

constexpr std::uint32_t kMicrobatches = 3;
constexpr WireFormat kFewer[] = {WireFormat::kBf16, WireFormat::kInt8};

Config config_of(WireFormat activations) {
  Config config = small_config(Reduction::kExact);
  config.pipeline.activations = activations;
  return config;
}

struct Kind {
  bool by_kernels = false;
  bool records = false;
  Answering answers = Answering::kLater;
};

struct Stage {
  std::shared_ptr<FakeQueue> queue;
  std::unique_ptr<QueuedStageExecutor> executor;
  Stage(const Config& config, std::size_t stage, int stages, const Kind& kind = {})
      : queue(kind.records ? std::make_shared<RecordingQueue>() : std::make_shared<FakeQueue>()) {
    QueuedStageExecutor::Settings settings{kind.answers};
    if (kind.by_kernels) settings.math = make_kernel_math(queue);
    executor =
        std::make_unique<QueuedStageExecutor>(config, (*partition(config.model, stages))[stage], queue, settings);
  }
  QueuedStageExecutor* operator->() const { return executor.get(); }
};

using Pass = std::function<TensorBlob(const TensorBlob&)>;

TensorBlob by_reference(const TensorBlob& tensor) { return tensor; }

// Sums of three stages after all microbatches are forward, then all backward.
struct Sums {
  std::vector<TensorBlob> of_stage;
  friend bool operator==(const Sums&, const Sums&) = default;
};

Sums sums_of(const std::vector<StageExecutor*>& stages, const Config& config, const Pass& pass) {
  std::vector<TensorBlob> activations;
  for (std::uint32_t index = 0; index < kMicrobatches; ++index) {
    MicrobatchWork work = random_work(config, 0, index);
    for (std::size_t s = 0; s + 1 < stages.size(); ++s) work.input = pass(stages[s]->forward(work));
    activations.push_back(work.input);
  }
  for (std::uint32_t index = 0; index < kMicrobatches; ++index) {
    MicrobatchWork work = random_work(config, 0, index);
    work.input = activations[index];
    BackwardResult result = stages.back()->forward_backward(work, WeightGradients::kLater);
    for (std::size_t s = stages.size() - 1; s-- > 0;) {
      result = stages[s]->backward(work.microbatch, pass(result.input_gradient), WeightGradients::kLater);
    }
    for (StageExecutor* stage : stages) static_cast<void>(stage->accumulate(work.microbatch));
  }
  Sums sums;
  for (StageExecutor* stage : stages) sums.of_stage.push_back(on_host(stage->contribution()));
  return sums;
}

Sums sums_of(const Config& config, const Kind& kind, const Pass& pass = by_reference) {
  std::vector<Stage> stages;
  std::vector<StageExecutor*> executors;
  for (std::size_t s = 0; s < 3; ++s) stages.emplace_back(config, s, 3, kind);
  for (Stage& stage : stages) executors.push_back(stage.executor.get());
  return sums_of(executors, config, pass);
}

Sums sums_of_processor(const Config& config) {
  LocalPipeline stages(config, 3);
  return sums_of({&stages.stage(0), &stages.stage(1), &stages.stage(2)}, config, by_reference);
}

TEST(QueuedBorders, HaveTheProcessorsBitsByReferenceAndThroughTheHost) {
  const Sums plain = sums_of(config_of(WireFormat::kFp32), {});
  for (const WireFormat format : kFewer) {
    const Config config = config_of(format);
    const Sums wanted = sums_of_processor(config);
    EXPECT_FALSE(wanted == plain) << "control: the rounding is felt";
    EXPECT_EQ(sums_of(config, {}), wanted);
    EXPECT_EQ(sums_of(config, {}, on_host), wanted);
    EXPECT_EQ(sums_of(config, {.answers = Answering::kAtOnce}), wanted);
    bool is_odd = false;
    EXPECT_EQ(sums_of(config, {},
                      [&is_odd](const TensorBlob& tensor) {
                        is_odd = !is_odd;
                        return is_odd ? on_host(tensor) : tensor;
                      }),
              wanted)
        << "some of them near, some far";
  }
}

TEST(QueuedBorders, GiveEqualBitsByOurKernels) {
  for (const WireFormat format : kFewer) {
    const Config config = config_of(format);
    const Sums near = sums_of(config, {.by_kernels = true});
    EXPECT_EQ(sums_of(config, {.by_kernels = true}, on_host), near);
    EXPECT_FALSE(sums_of(config_of(WireFormat::kFp32), {.by_kernels = true}) == near) << "control";
  }
}

TEST(QueuedBorders, KeepTheirBitsWherePassesAreRecordedOrComputedAgain) {
  for (const WireFormat format : kFewer) {
    Config config = config_of(format);
    const Sums wanted = sums_of(config, {});
    EXPECT_EQ(sums_of(config, {.records = true}), wanted);
    config.pipeline.recompute = true;
    EXPECT_EQ(sums_of(config, {}), wanted);
  }
}

// The device is not waited for, and the tensor says how many bytes will travel.
TEST(QueuedBorders, AreGivenBeforeTheyAreReady) {
  const Config config = config_of(WireFormat::kInt8);
  const Stage first(config, 0, 2);
  const Stage last(config, 1, 2);
  const MicrobatchWork work = random_work(config, 0, 0);
  const TensorBlob sent = first->forward(work);
  ASSERT_TRUE(sent.resident);
  EXPECT_FALSE(sent.resident->is_ready());
  EXPECT_EQ(sent.dtype, DType::kUint8);
  const std::size_t count = 2 * 16 * 32;
  EXPECT_EQ(sent.byte_count(), encoded_bytes({WireFormat::kInt8, count}));
  const auto back = last->forward_backward({work.step, work.microbatch, sent, work.targets}, WeightGradients::kAtOnce);
  EXPECT_EQ(back.input_gradient.dtype, DType::kUint8);
  EXPECT_EQ(last.queue->followed, 1);
  EXPECT_EQ(*first.queue->waits + *last.queue->waits, 0);
  EXPECT_EQ(on_host(sent).byte_count(), sent.byte_count());
  const EvaluateResult evaluated = first->evaluate(work);
  EXPECT_EQ(evaluated.activation.dtype, DType::kUint8);
  EXPECT_EQ(on_host(evaluated.activation), on_host(sent)) << "equal weights";
}

TEST(QueuedBorders, HoldWhatTheDeviceDecodesUntilItIsPastIt) {
  const Config config = config_of(WireFormat::kBf16);
  const Stage first(config, 0, 2);
  const Stage last(config, 1, 2);
  const MicrobatchWork work = random_work(config, 0, 0);
  TensorBlob sent = first->forward(work);
  const std::weak_ptr<const ResidentTensor> watched = sent.resident;
  static_cast<void>(last->evaluate({work.step, work.microbatch, sent, work.targets}));
  static_cast<void>(last->ending());
  sent = {};
  EXPECT_FALSE(watched.expired());
  last.queue->reach_all();
  static_cast<void>(last->ending());
  EXPECT_TRUE(watched.expired());
}

// The loss is no number, and neither are the gradients that the stage before is given: both say so, as without
// encoding.
TEST(QueuedBorders, ReportADivergedMicrobatchAtEveryStage) {
  for (const Pass& pass : {Pass(by_reference), Pass(on_host)}) {
    const Config config = config_of(WireFormat::kInt8);
    const Stage first(config, 0, 2);
    const Stage last(config, 1, 2);
    const MicrobatchWork work = random_work(config, 0, 0);
    static_cast<void>(first->forward(work));
    std::vector<float> values(2 * 16 * 32, 0.5F);
    values[7] = std::numeric_limits<float>::quiet_NaN();
    TensorBlob diverged = blob_of(values);
    diverged.shape = {2, 16, 32};
    const auto back = last->forward_backward({{}, {}, diverged, work.targets}, WeightGradients::kAtOnce);
    static_cast<void>(last->accumulate({}));
    EXPECT_EQ(last->ending().figures().bad_tensor, "loss");
    EXPECT_EQ(on_host(back.input_gradient).dtype, DType::kFloat32) << "it goes as it is";
    static_cast<void>(first->backward(work.microbatch, pass(back.input_gradient), WeightGradients::kAtOnce));
    static_cast<void>(first->accumulate(work.microbatch));
    EXPECT_TRUE(first->ending().figures().bad_tensor.has_value());
  }
}

TEST(QueuedBorders, BytesThatAreNoVectorOfTheFormatEndTheActorAndAddNothing) {
  const Config config = config_of(WireFormat::kInt8);
  const MicrobatchWork work = random_work(config, 0, 0);
  const TensorBlob good = on_host(Stage(config, 0, 2)->forward(work));
  const auto refused = [&](const TensorBlob& lie) {
    const Stage first(config, 0, 2);
    const Stage last(config, 1, 2);
    static_cast<void>(first->forward(work));
    const MicrobatchWork wrong{{}, {}, lie, work.targets};
    EXPECT_ANY_THROW(static_cast<void>(last->forward_backward(wrong, WeightGradients::kAtOnce)));
    EXPECT_ANY_THROW(static_cast<void>(last->evaluate(wrong)));
    EXPECT_ANY_THROW(static_cast<void>(first->backward(work.microbatch, lie, WeightGradients::kAtOnce)));
    EXPECT_EQ(on_host(last->contribution()), on_host(Stage(config, 1, 2)->contribution()));
  };
  EXPECT_NO_THROW(static_cast<void>(Stage(config, 1, 2)->evaluate({{}, {}, good, work.targets}))) << "control";
  for (const std::size_t byte : {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{15}, std::size_t{67}}) {
    auto bytes = std::make_shared<AlignedBuffer>(good.byte_count());
    std::memcpy(bytes->data(), good.bytes->data(), bytes->size());
    bytes->data()[byte] = std::byte{0x7F};  // of the last: the first scale is infinite
    refused({good.dtype, good.shape, bytes});
  }
  refused(*encode_values(WireFormat::kInt8, std::vector<float>(512)));
  refused(*encode_values(WireFormat::kBf16, std::vector<float>(1024)));
  refused({});
}

}  // namespace
}  // namespace shoal::borders_test
