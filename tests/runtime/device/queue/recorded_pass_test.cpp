// Recorded passes over a fake queue that records: the order of recordings and replays, the addresses of inputs and
// results, and a stage whose steps have the bits of one that records nothing.
#include "runtime/device/queue/recorded_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include "runtime/device/queue/queued_stage_executor.h"
#include "runtime/device/queue/stage_passes.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/runtime/device/queue/recording_queue.h"
#include "tests/runtime/device/queue/trained.h"

namespace shoal::recorded_pass_test {
namespace {

using ::testing::ElementsAre;

at::Tensor of(float value, std::int64_t count = 3) {
  std::vector<float> values(static_cast<std::size_t>(count), value);
  return at::from_blob(values.data(), {count}, at::kFloat).clone();
}
float first(const at::Tensor& tensor) { return tensor.const_data_ptr<float>()[0]; }

TEST(RecordedPass, ComputesThenRecordsThenReplaysAtFixedAddresses) {
  RecordingQueue queue;
  std::vector<const void*> read;
  RecordedPass pass(queue, [&](const RecordedPass::Tensors& inputs) -> RecordedPass::Tensors {
    read.push_back(inputs[0].const_data_ptr());
    return {inputs[0].add(1)};
  });
  EXPECT_EQ(first(pass.run({of(1)}).front()), 2);
  EXPECT_TRUE(queue.recordings->events.empty());
  const at::Tensor second = pass.run({of(2)}).front();
  EXPECT_EQ(first(second), 3);
  EXPECT_THAT(queue.recordings->events, ElementsAre("record 0", "replay 0"));
  const at::Tensor third = pass.run({of(3)}).front();
  EXPECT_EQ(first(third), 4);
  EXPECT_EQ(first(second), 4) << "a result is written over by the next run";
  EXPECT_EQ(second.const_data_ptr(), third.const_data_ptr());
  EXPECT_THAT(queue.recordings->events, ElementsAre("record 0", "replay 0", "replay 0"));
  EXPECT_THAT(read, testing::Each(read.front())) << "inputs lie where the recording reads them";
}

TEST(RecordedPass, RefusesInputsOfAnotherShape) {
  RecordingQueue queue;
  RecordedPass pass(queue, [](const RecordedPass::Tensors& inputs) { return inputs; });
  static_cast<void>(pass.run({of(1)}));
  EXPECT_THROW(static_cast<void>(pass.run({of(1, 4)})), Bug);
  EXPECT_THROW(static_cast<void>(pass.run({of(1).to(at::kDouble)})), Bug);
}

// The control of all that follows: results come out of replays alone.
TEST(RecordedPass, AGraphThatDoesNothingLeavesNothing) {
  RecordingQueue queue;
  queue.recordings->replays_nothing = true;
  RecordedPass pass(queue,
                    [](const RecordedPass::Tensors& inputs) -> RecordedPass::Tensors { return {inputs[0].add(1)}; });
  EXPECT_EQ(first(pass.run({of(1)}).front()), 2);
  EXPECT_TRUE(std::isnan(first(pass.run({of(2)}).front())));
}

Config config_of(ModelKind kind = ModelKind::kGpt2) {
  Config config = small_config(Reduction::kExact);
  config.model.kind = kind;
  if (kind == ModelKind::kLlama) config.model.hidden = 64;
  return config;
}

struct Stage {
  std::shared_ptr<FakeQueue> queue;
  std::unique_ptr<QueuedStageExecutor> executor;
  Stage(const Config& config, std::shared_ptr<FakeQueue> its_queue, std::size_t stage, int stages, Answering answers)
      : queue(std::move(its_queue)) {
    auto plan = (*partition(config.model, stages))[stage];
    executor =
        std::make_unique<QueuedStageExecutor>(config, std::move(plan), queue, QueuedStageExecutor::Settings{answers});
  }
};

TEST(RecordedStage, TrainsTheBitsOfOneThatRecordsNothing) {
  for (const ModelKind kind : {ModelKind::kGpt2, ModelKind::kLlama}) {
    const Config config = config_of(kind);
    const auto recording = std::make_shared<RecordingQueue>();
    const Stage recorded(config, recording, 0, 1, Answering::kAtOnce);
    const Stage plain(config, std::make_shared<FakeQueue>(), 0, 1, Answering::kAtOnce);
    const Trained ours = train_steps(*plain.executor, config, {3});
    const Trained theirs = train_steps(*recorded.executor, config, {3});
    EXPECT_EQ(theirs.loss, ours.loss);
    EXPECT_EQ(theirs.image, ours.image);
    EXPECT_EQ(recording->recordings->count, 1) << "a microbatch at a time: one graph";
    EXPECT_EQ(recording->recordings->events.size(), 1U + 3 * 6 - 1);
  }
}

TEST(RecordedStage, AGraphThatDoesNothingIsSeen) {
  const Config config = config_of();
  const auto recording = std::make_shared<RecordingQueue>();
  recording->recordings->replays_nothing = true;
  const Stage recorded(config, recording, 0, 1, Answering::kAtOnce);
  for (std::uint32_t index = 0; index < 2; ++index) {
    const auto work = random_work(config, 0, index);
    const double loss = recorded.executor->forward_backward(work, WeightGradients::kAtOnce).loss_sum;
    EXPECT_EQ(std::isnan(loss), index == 1);
    EXPECT_EQ(recorded.executor->accumulate(work.microbatch).bad_tensor.has_value(), index == 1);
  }
}

// All forwards are under way before the first backward: as many slots as microbatches, each with memory of its own.
// Tensors that were given to the other stage are not written over while that one reads them.
TEST(RecordedStage, KeepsTheMemoryOfEachMicrobatchInFlight) {
  const Config config = config_of();
  constexpr std::uint32_t kInFlight = 3;
  TensorBlob sums[2];
  for (const bool records : {false, true}) {
    const auto queue = [&]() -> std::shared_ptr<FakeQueue> {
      if (records) return std::make_shared<RecordingQueue>();
      return std::make_shared<FakeQueue>();
    };
    const Stage first_stage(config, queue(), 0, 2, Answering::kLater);
    const Stage last_stage(config, queue(), 1, 2, Answering::kLater);
    for (std::uint64_t step = 0; step < 3; ++step) {
      std::vector<TensorBlob> activations, gradients;
      for (std::uint32_t index = 0; index < kInFlight; ++index) {
        activations.push_back(first_stage.executor->forward(random_work(config, step, index)));
      }
      for (std::uint32_t index = 0; index < kInFlight; ++index) {
        const auto work = random_work(config, step, index);
        gradients.push_back(last_stage.executor
                                ->forward_backward({work.step, work.microbatch, activations[index], work.targets},
                                                   WeightGradients::kLater)
                                .input_gradient);
      }
      for (std::uint32_t index = 0; index < kInFlight; ++index) {
        static_cast<void>(
            first_stage.executor->backward(MicrobatchId{index}, gradients[index], WeightGradients::kLater));
      }
      for (std::uint32_t index = 0; index < kInFlight; ++index) {
        static_cast<void>(first_stage.executor->accumulate(MicrobatchId{index}));
        static_cast<void>(last_stage.executor->accumulate(MicrobatchId{index}));
      }
    }
    sums[records ? 1 : 0] = on_host(first_stage.executor->contribution());
    const auto* recording = dynamic_cast<const RecordingQueue*>(first_stage.queue.get());
    EXPECT_TRUE(recording == nullptr || recording->recordings->count == 2 * static_cast<int>(kInFlight));
  }
  EXPECT_EQ(sums[0], sums[1]);
}

// The control of what follows: CUDA's rule, as the fake queue has it.
TEST(RecordedPass, WhatIsSetWithinARecordingCannotBeAskedFor) {
  RecordingQueue queue;
  at::Tensor memory = queue.host_memory({1}, at::kFloat);
  std::shared_ptr<const DeviceMark> mark;
  queue.while_recording = [&] { mark = queue.mark(); };
  static_cast<void>(queue.record([] { return std::vector<at::Tensor>(); }));
  EXPECT_THROW(static_cast<void>(mark->is_reached()), std::runtime_error);
  EXPECT_NO_THROW(static_cast<void>(queue.host_memory({1}, at::kFloat)));
  queue.while_recording = [&] { memory.reset(); };
  static_cast<void>(queue.record([] { return std::vector<at::Tensor>(); }));
  EXPECT_THROW(static_cast<void>(queue.host_memory({1}, at::kFloat)), std::runtime_error);
}

// The thread that waits for marks lets go of a job's figures at any time, also while the next job is recorded.
TEST(RecordedStage, FiguresThatAreLetGoMeanwhileStayOutOfTheGraph) {
  const Config config = config_of();
  const auto queue = std::make_shared<RecordingQueue>();
  const Stage stage(config, queue, 0, 1, Answering::kLater);
  LateEnding ending;
  queue->while_recording = [&] { ending = {}; };
  for (std::uint32_t index = 0; index < 4; ++index) {
    const auto work = random_work(config, 0, index);
    static_cast<void>(stage.executor->forward_backward(work, WeightGradients::kAtOnce));
    static_cast<void>(stage.executor->accumulate(work.microbatch));
    ending = stage.executor->ending();
    ending.mark->wait();
    EXPECT_GT(ending.figures().loss_sum, 0);
  }
  EXPECT_EQ(queue->recordings->count, 1);
}

TEST(RecordedStage, RecordsNothingWhereWorkIsNotTheSameEachTime) {
  for (const bool drops : {false, true}) {
    Config config = config_of();
    config.model.dropout = drops ? 0.1 : 0;
    config.pipeline.recompute = !drops;
    const auto recording = std::make_shared<RecordingQueue>();
    const Stage stage(config, recording, 0, 1, Answering::kAtOnce);
    static_cast<void>(train_steps(*stage.executor, config, {1}));
    EXPECT_TRUE(recording->recordings->events.empty());
  }
}

}  // namespace
}  // namespace shoal::recorded_pass_test
