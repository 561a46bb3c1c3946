// A paced device gives the results of the real one, at the stated times.
#include "runtime/device/decorators/paced_stage_executor.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/runtime/device/local_pipeline.h"

namespace shoal::paced_stage_executor_test {
namespace {

using std::chrono::milliseconds;

struct StoppedClock final : Clock {
  Instant instant{};
  [[nodiscard]] Instant now() const override { return instant; }
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override { return {}; }
};

struct Paced {
  std::shared_ptr<StoppedClock> clock = std::make_shared<StoppedClock>();
  std::shared_ptr<PacedDevice> device = std::make_shared<PacedDevice>(clock, *parse_device("paced:20"));
  std::vector<Duration> waits;
  std::unique_ptr<StageExecutor> executor;

  Paced(const Config& config, std::uint32_t stage) {
    auto real = make_stage_executor({config, StageId{stage}, 2, "cpu"});
    executor = std::make_unique<PacedStageExecutor>(std::move(*real), device, [this](Instant end) {
      waits.push_back(end - clock->instant);
      clock->instant = end;
    });
  }
};

// Two stages on one device take as long as the sum of both; a device that rested owes nothing.
TEST(PacedDevice, DoesOneThingAfterTheOther) {
  const auto clock = std::make_shared<StoppedClock>();
  PacedDevice device(clock, *parse_device("paced:10"));
  clock->instant += milliseconds(100);
  EXPECT_EQ(device.reserve(2), clock->instant + milliseconds(20));
  EXPECT_EQ(device.reserve(3), clock->instant + milliseconds(50));
  clock->instant += milliseconds(500);
  EXPECT_EQ(device.reserve(2), clock->instant + milliseconds(20));
}

TEST(PacedDevice, ChangesItsPaceWithItsAge) {
  const auto clock = std::make_shared<StoppedClock>();
  clock->instant += milliseconds(7);
  PacedDevice device(clock, *parse_device("paced:10@1:30@2.5:20"));
  const auto takes = [&](int age_ms) {
    clock->instant = Instant{} + milliseconds(7 + age_ms);
    return device.reserve(2) - clock->instant;
  };
  EXPECT_EQ(takes(0), milliseconds(20));
  EXPECT_EQ(takes(999), milliseconds(20));
  EXPECT_EQ(device.reserve(1), clock->instant + milliseconds(50)) << "it begins after the change";
  EXPECT_EQ(takes(2499), milliseconds(60));
  EXPECT_EQ(takes(9000), milliseconds(40));
}

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
}  // namespace shoal::paced_stage_executor_test
