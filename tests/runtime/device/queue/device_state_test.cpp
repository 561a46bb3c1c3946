// Copies of the weights in bf16: where they lie, and that they are the weights after every kind of change.
#include "runtime/device/queue/device_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include <ATen/ops/from_blob.h>

#include "model/partition.h"
#include "runtime/device/cuda/math/kernel_math.h"
#include "tests/runtime/device/local_pipeline.h"
#include "tests/runtime/device/queue/fake_queue.h"

namespace shoal::device_state_test {
namespace {

Config config_of(OptimizerKind optimizer = OptimizerKind::kAdamw) {
  Config config = small_config(Reduction::kFast);
  config.model.vocabulary = 51;  // tensors that no power of two divides
  config.model.precision = Precision::kBf16;
  config.optim.kind = optimizer;
  return config;
}

// Bytes from the first of the tensors to each.
std::vector<std::intptr_t> offsets_of(const WeightMap& tensors) {
  std::vector<std::intptr_t> at;
  for (const auto& [name, tensor] : tensors) at.push_back(reinterpret_cast<std::intptr_t>(tensor.const_data_ptr()));
  const std::intptr_t first = *std::ranges::min_element(at);
  for (std::intptr_t& address : at) address -= first;
  return at;
}

TEST(DeviceState, CopiesAreAtMultiplesOf256BytesWhateverTheCut) {
  const Config config = config_of();
  const auto is_aligned = [](std::intptr_t offset) { return offset % 256 == 0; };
  for (const int stages : {1, 2, 3}) {
    const auto plans = partition(config.model, stages);
    ASSERT_TRUE(plans.ok());
    for (const StagePlan& plan : *plans) {
      const FlatLayout layout(plan.tensors);
      const auto math = torch_math();
      const DeviceState state(layout, config, at::kCPU, *math);
      EXPECT_TRUE(std::ranges::all_of(offsets_of(state.copies()), is_aligned));
      EXPECT_TRUE(stages > 1 || !std::ranges::all_of(offsets_of(state.weights()), is_aligned)) << "the control";
    }
  }
}

void expect_copies_are_the_weights(const DeviceState& state) {
  const WeightMap weights = state.weights();
  for (const auto& [name, copy] : state.copies()) {
    EXPECT_TRUE(copy.equal(weights.at(name).to(at::kBFloat16))) << name;
  }
}

TEST(DeviceState, CopiesAreTheWeightsBeforeAndAfterAnUpdate) {
  for (const OptimizerKind optimizer : {OptimizerKind::kAdamw, OptimizerKind::kSgd}) {
    const Config config = config_of(optimizer);
    const FlatLayout layout((*partition(config.model, 1))[0].tensors);
    const std::shared_ptr<const DeviceMath> maths[] = {torch_math(), make_kernel_math(std::make_shared<FakeQueue>())};
    for (const auto& math : maths) {
      DeviceState state(layout, config, at::kCPU, *math);
      expect_copies_are_the_weights(state);
      const at::Tensor before = state.copies().begin()->second.clone();
      DeviceSums sums(layout, Reduction::kFast, 64, {at::kCPU, *math});
      std::vector<float> ones(layout.size, 1.0F);
      const at::Tensor sum = at::from_blob(ones.data(), {static_cast<std::int64_t>(ones.size())}, at::kFloat);
      static_cast<void>(sums.adopt(sum, 4));
      state.update(sums, {1e-1, 1, 1});
      expect_copies_are_the_weights(state);
      EXPECT_FALSE(state.copies().begin()->second.equal(before)) << "the control";
    }
  }
}

}  // namespace
}  // namespace shoal::device_state_test
