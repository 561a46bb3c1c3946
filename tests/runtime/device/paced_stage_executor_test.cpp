// A paced device gives the results of the real one, at the stated times.
#include "runtime/device/decorators/paced_stage_executor.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/runtime/device/local_pipeline.h"

namespace shoal {
namespace {

using std::chrono::milliseconds;

struct StoppedClock final : Clock {
  Instant instant{};
  [[nodiscard]] Instant now() const override { return instant; }
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override { return {}; }
};

struct Paced {
  std::shared_ptr<StoppedClock> clock = std::make_shared<StoppedClock>();
  std::vector<Duration> waits;
  std::unique_ptr<StageExecutor> executor;

  Paced(const Config& config, std::uint32_t stage) {
    auto device = make_stage_executor({config, StageId{stage}, 2, "cpu"});
    executor = std::make_unique<PacedStageExecutor>(std::move(*device), milliseconds(20), clock,
                                                    [this](Instant end) { waits.push_back(end - clock->instant); });
  }
};

TEST(PacedExecutor, WaitsOncePerForwardAndOncePerHalfOfABackward) {
  const Config config = small_config(Reduction::kExact);
  Paced first(config, 0);
  Paced last(config, 1);
  MicrobatchWork work = random_work(config, 0, 0);
  const TensorBlob activation = first.executor->forward(work);
  const TensorBlob tokens = std::exchange(work.input, activation);
  const BackwardResult result = last.executor->forward_backward(work, WeightGradients::kLater);
  static_cast<void>(first.executor->backward(work.microbatch, result.input_gradient, WeightGradients::kAtOnce));
  static_cast<void>(first.executor->accumulate(work.microbatch));
  static_cast<void>(last.executor->accumulate(work.microbatch));
  static_cast<void>(last.executor->evaluate(work));
  EXPECT_EQ(first.waits, (std::vector<Duration>{milliseconds(20), milliseconds(40)}));
  EXPECT_EQ(last.waits, (std::vector<Duration>{milliseconds(40), milliseconds(20), milliseconds(20)}));

  LocalPipeline plain(config, 2);
  EXPECT_EQ(plain.accumulate(0, in_order(1)), result.loss_sum);
  EXPECT_TRUE(plain.stage(0).contribution() == first.executor->contribution());
}

}  // namespace
}  // namespace shoal
