// Rounds on a device: the processor's bits in everything that a round leaves, by torch's operators and by our kernels
// under the shim, for every variant of the outer update.
#include "runtime/device/queue/device_outer_math.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "model/partition.h"
#include "runtime/device/cpu_stage_executor.h"
#include "runtime/device/cuda/math/kernel_math.h"
#include "runtime/device/queue/math/torch_outer_arithmetic.h"
#include "runtime/device/queue/queued_stage_executor.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/runtime/device/queue/fake_queue.h"
#include "tests/runtime/device/queue/trained.h"

namespace shoal::device_outer_math_test {
namespace {

constexpr std::uint32_t kFragments = 2;

enum class By { kTorch, kKernels };

struct Rounds {
  OuterUpdate update = OuterUpdate::kWait;
  EagerVariant variant = EagerVariant::kAgreed;
  InnerState inner = InnerState::kKeep;
  By by = By::kTorch;
};

Config config_of(const Rounds& rounds) {
  Config config = small_config(Reduction::kFast);
  config.sync.mode = SyncMode::kDiloco;
  config.sync.fragments = kFragments;
  config.sync.outer_update = rounds.update;
  config.sync.eager_variant = rounds.variant;
  config.sync.inner_state = rounds.inner;
  config.sync.outer_warmup = 1;
  config.sync.mix = 0.25;
  return config;
}

StagePlan plan_of(const Config& config) { return (*partition(config.model, 1))[0]; }

class OnDevice {
 public:
  OnDevice(const Config& config, By by, Answering answers = Answering::kAtOnce) {
    std::shared_ptr<const DeviceMath> math = torch_math();
    if (by == By::kKernels) math = make_kernel_math(queue_);
    executor_ = std::make_unique<QueuedStageExecutor>(config, plan_of(config), queue_,
                                                      QueuedStageExecutor::Settings{answers, std::move(math)});
  }
  QueuedStageExecutor& operator*() const { return *executor_; }
  QueuedStageExecutor* operator->() const { return executor_.get(); }

 private:
  std::shared_ptr<FakeQueue> queue_ = std::make_shared<FakeQueue>();
  std::unique_ptr<QueuedStageExecutor> executor_;
};

// Halves the values: the mean of this worker and one that has not moved.
TensorBlob halved(const TensorBlob& values) {
  auto bytes = std::make_shared<AlignedBuffer>(values.byte_count());
  auto* to = reinterpret_cast<float*>(bytes->data());
  for (std::int64_t i = 0; i < values.element_count(); ++i) to[i] = 0.5F * values.as<float>()[i];
  return {values.dtype, values.shape, std::move(bytes)};
}

class DeviceRounds : public testing::TestWithParam<Rounds> {
 protected:
  // Returns the update that is due where this was contributed: by its own mean with `wait`, else by that of the round
  // before.
  RoundUpdate update_of(std::uint32_t fragment, std::uint64_t boundary, const TensorBlob& contributed) {
    const bool is_late = GetParam().update != OuterUpdate::kWait;
    TensorBlob mean = std::exchange(means_.at(fragment), halved(contributed));
    if (!is_late) mean = means_.at(fragment);
    RoundUpdate update{.fragment = fragment, .round = is_late ? boundary - 1 : boundary, .mean = std::move(mean)};
    update.own_weight = update.mean.has_value() ? 100 : 0;
    update.total_weight = 2 * update.own_weight;
    update.newest_weight = 100;
    const bool has_other_own = GetParam().update == OuterUpdate::kEager && update.mean.has_value() && boundary == 3;
    if (has_other_own) update.own = update.mean;
    return update;
  }

 private:
  std::array<TensorBlob, kFragments> means_;
};

TEST_P(DeviceRounds, LeaveWhatTheyLeaveOnAProcessor) {
  const Config config = config_of(GetParam());
  CpuStageExecutor cpu(config, plan_of(config));
  const OnDevice device(config, GetParam().by);
  for (std::uint64_t boundary = 1; boundary <= 4; ++boundary) {
    SCOPED_TRACE(boundary);
    static_cast<void>(train_step(*device, config, boundary, 1));
    ASSERT_TRUE(cpu.load_state(device->state_image()).ok());
    for (std::uint32_t fragment = 0; fragment < kFragments; ++fragment) {
      const TensorBlob contributed = cpu.contribute_round(fragment);
      EXPECT_EQ(device->contribute_round(fragment), contributed);
      RoundUpdate update = update_of(fragment, boundary, contributed);
      update.is_closing = boundary == 4;
      const std::uint64_t before = device->state_digest();
      EXPECT_EQ(device->apply_round(update), cpu.apply_round(update));
      EXPECT_EQ(device->state_digest(), cpu.state_digest());
      EXPECT_EQ(device->state_digest() != before, update.mean.has_value()) << "the control: a mean changes it";
    }
    EXPECT_EQ(device->state_image(), cpu.state_image());
  }
  static_cast<void>(train_step(*device, config, 5, 1));
  ASSERT_TRUE(cpu.load_state(device->state_image()).ok());
  const TensorBlob before = device->state_image();
  EXPECT_EQ(device->restart_from_outer(), cpu.restart_from_outer());
  EXPECT_EQ(device->state_image(), cpu.state_image());
  EXPECT_NE(device->state_image(), before) << "the control";
}

// Evaluations read what rounds change, and steps do not.
TEST_P(DeviceRounds, MoveWhatIsEvaluated) {
  const Config config = config_of(GetParam());
  const OnDevice device(config, GetParam().by);
  const auto work = random_work(config, 9, 0);
  const double at_first = device->evaluate(work).loss_sum;
  for (std::uint64_t boundary = 1; boundary <= 2; ++boundary) {
    static_cast<void>(train_step(*device, config, boundary, 1));
    EXPECT_TRUE(boundary > 1 || device->evaluate(work).loss_sum == at_first) << "steps move nothing of it";
    for (std::uint32_t fragment = 0; fragment < kFragments; ++fragment) {
      static_cast<void>(
          device->apply_round(update_of(fragment, boundary, on_host(device->contribute_round(fragment)))));
    }
  }
  const double moved = device->evaluate(work).loss_sum;
  EXPECT_NE(moved, at_first);
  const OnDevice other(config, GetParam().by);
  ASSERT_TRUE(other->load_state(device->state_image()).ok());
  EXPECT_EQ(other->evaluate(work).loss_sum, moved);
}

std::vector<Rounds> all_rounds() {
  std::vector<Rounds> all;
  for (const By by : {By::kTorch, By::kKernels}) {
    for (const InnerState inner : {InnerState::kKeep, InnerState::kAverage, InnerState::kReset}) {
      all.push_back({.inner = inner, .by = by});
    }
    all.push_back({.update = OuterUpdate::kDelayed, .by = by});
    all.push_back({.update = OuterUpdate::kEager, .by = by});
    all.push_back({.update = OuterUpdate::kEager, .variant = EagerVariant::kPaper, .by = by});
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Rounds>& info) {
  const Rounds& rounds = info.param;
  std::string name = rounds.by == By::kTorch ? "ByTorch" : "ByKernels";
  if (rounds.update == OuterUpdate::kDelayed) name += "Delayed";
  if (rounds.update == OuterUpdate::kEager) name += rounds.variant == EagerVariant::kPaper ? "Paper" : "Eager";
  if (rounds.inner == InnerState::kAverage) name += "Average";
  if (rounds.inner == InnerState::kReset) name += "Reset";
  return name;
}

INSTANTIATE_TEST_SUITE_P(Variants, DeviceRounds, testing::ValuesIn(all_rounds()), name_of);

// A contribution is on its way to the host while its stage goes on.
TEST(DeviceRound, AContributionStaysOnTheDeviceUntilItsBytesAreAskedFor) {
  const Config config = config_of({});
  const OnDevice device(config, By::kTorch, Answering::kLater);
  CpuStageExecutor cpu(config, plan_of(config));
  static_cast<void>(train_step(cpu, config, 0, 1));
  ASSERT_TRUE(device->load_state(cpu.state_image()).ok());
  const TensorBlob contributed = device->contribute_round(1);
  EXPECT_NE(contributed.resident, nullptr);
  EXPECT_EQ(contributed.bytes, nullptr);
  static_cast<void>(device->restart_from_outer());
  EXPECT_EQ(on_host(contributed), cpu.contribute_round(1));
  EXPECT_NE(on_host(device->contribute_round(1)), cpu.contribute_round(1)) << "the control";
}

TEST(DeviceRound, ValuesThatAreNotTheFragmentsAreABug) {
  const Config config = config_of({});
  const OnDevice device(config, By::kTorch);
  const TensorBlob delta = device->contribute_round(0);
  const std::uint64_t before = device->state_digest();
  EXPECT_THROW((void)device->apply_round({.fragment = 1, .round = 1, .mean = delta}), Bug);
  EXPECT_THROW((void)device->apply_round({.fragment = 0, .round = 0, .mean = delta}), Bug);
  EXPECT_THROW((void)device->apply_round({.fragment = 0, .round = 1, .mean = {}}), Bug);
  EXPECT_THROW((void)device->apply_round({.fragment = 0, .round = 1, .mean = delta, .own = delta}), Bug);
  EXPECT_EQ(device->state_digest(), before);
  Config every_step = config;
  every_step.sync.mode = SyncMode::kEveryStep;
  const OnDevice without(every_step, By::kTorch);
  EXPECT_THROW((void)without->contribute_round(0), Bug);
  EXPECT_THROW((void)without->restart_from_outer(), Bug);
}

}  // namespace
}  // namespace shoal::device_outer_math_test
