// Two stages in one process, each a runner whose jobs end later, passing tensors by reference: what they accumulate has
// the bits of the processor's two stages, whatever order their marks are reached in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>

#include "runtime/device/cpu_stage_executor.h"
#include "runtime/device/queue/device_fault.h"
#include "runtime/device/queue/queued_stage_executor.h"
#include "runtime/pipeline/late/late_runner.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/runtime/device/queue/fake_queue.h"

namespace shoal::late_pipeline_test {
namespace {

constexpr std::uint32_t kMicrobatches = 4;

// A stage whose ends are waited for one by one.
class LateStage {
 public:
  LateStage(const Config& config, std::size_t stage) {
    auto executor = std::make_unique<QueuedStageExecutor>(config, (*partition(config.model, 2))[stage], queue_,
                                                          QueuedStageExecutor::Settings{Answering::kLater});
    executor_ = executor.get();
    LateSettings settings;
    settings.device_fault = device_fault_of;
    settings.end_process = [](const std::string& reason) { ADD_FAILURE() << reason; };
    runner_ = run_later(
        std::move(executor), executor_, [this](JobEnd end) { hear(std::move(end)); }, settings);
  }

  void begin(const Job& job) { EXPECT_FALSE(runner_->begin(job)); }
  // The marks so far are reached; the oldest end.
  template <class Result>
  Result end() {
    queue_->reach_all();
    std::unique_lock lock(mutex_);
    told_.wait(lock, [this] { return !ends_.empty(); });
    JobEnd end = std::move(ends_.front());
    ends_.pop_front();
    if (const auto* problem = std::get_if<std::exception_ptr>(&end.outcome)) std::rethrow_exception(*problem);
    return std::get<Result>(std::get<JobResult>(end.outcome));
  }
  TensorBlob contribution() {
    const auto end = runner_->begin(ContributeJob{});
    return std::get<Contributed>(std::get<JobResult>(end.value().outcome)).values;
  }

 private:
  void hear(JobEnd end) {
    const std::lock_guard lock(mutex_);
    ends_.push_back(std::move(end));
    told_.notify_all();
  }

  std::shared_ptr<FakeQueue> queue_ = std::make_shared<FakeQueue>();
  std::mutex mutex_;
  std::condition_variable told_;
  std::deque<JobEnd> ends_;
  QueuedStageExecutor* executor_ = nullptr;
  std::unique_ptr<JobRunner> runner_;  // last: its thread tells the others
};

TEST(LatePipeline, AccumulatesTheBitsOfTheProcessorsStages) {
  const Config config = small_config(Reduction::kExact);
  CpuStageExecutor first(config, (*partition(config.model, 2))[0]);
  CpuStageExecutor last(config, (*partition(config.model, 2))[1]);
  LateStage late_first(config, 0);
  LateStage late_last(config, 1);
  double loss = 0;
  for (std::uint32_t index = 0; index < kMicrobatches; ++index) {
    const auto work = random_work(config, 0, index);
    const TensorBlob activation = first.forward(work);
    const auto back = last.forward_backward({work.step, work.microbatch, activation, work.targets}, {});
    loss += back.loss_sum;
    static_cast<void>(last.accumulate(work.microbatch));
    static_cast<void>(first.backward(work.microbatch, back.input_gradient, {}));
    static_cast<void>(first.accumulate(work.microbatch));
  }
  // All forwards are under way before the first has ended.
  for (std::uint32_t index = 0; index < kMicrobatches; ++index) {
    late_first.begin(ForwardJob{random_work(config, 0, index)});
  }
  double loss_late = 0;
  for (std::uint32_t index = 0; index < kMicrobatches; ++index) {
    const auto work = random_work(config, 0, index);
    const auto forwarded = late_first.end<Forwarded>();
    EXPECT_TRUE(forwarded.activation.resident);
    late_last.begin(
        LossJob{{work.step, work.microbatch, forwarded.activation, work.targets}, WeightGradients::kAtOnce});
  }
  for (std::uint32_t index = 0; index < kMicrobatches; ++index) {
    const auto passed = late_last.end<Differentiated>();
    loss_late += passed.result.loss_sum;
    EXPECT_EQ(passed.accumulated->bad_tensor, std::nullopt);
    late_first.begin(BackwardJob{passed.microbatch, passed.result.input_gradient, WeightGradients::kLater});
    late_first.begin(AccumulateJob{passed.microbatch});
    static_cast<void>(late_first.end<Differentiated>());
    EXPECT_EQ(late_first.end<Accumulated>().result.bad_tensor, std::nullopt);
  }
  EXPECT_EQ(loss_late, loss);
  EXPECT_EQ(late_first.contribution(), first.contribution());
  EXPECT_EQ(late_last.contribution(), last.contribution());
}

}  // namespace
}  // namespace shoal::late_pipeline_test
