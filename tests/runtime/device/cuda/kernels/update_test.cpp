// The optimiser's step by kernels: the bits of the CPU's loops, and a copy in bf16.
#include "runtime/device/cuda/kernels/update.h"

#include "model/update_kernels.h"
#include "tests/runtime/device/cuda/kernels/chunks/tables.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::update_test {
namespace {

constexpr std::size_t kCount = 1003;

const AdamwRule kRule{.learning_rate = 1e-3,
                      .clip_scale = 0.37,
                      .beta1 = 0.9,
                      .beta2 = 0.95,
                      .eps = 1e-8,
                      .weight_decay = 0.1,
                      .optimizer_step = 7};

struct Adamw {
  std::vector<float> weights, exp_avg, exp_avg_sq, gradient;

  static Adamw drawn() {
    std::mt19937 random(11);
    Adamw state{normal(random, kCount, 0.1F), normal(random, kCount, 0.01F), normal(random, kCount, 0.01F),
                normal(random, kCount, 0.02F)};
    for (float& value : state.exp_avg_sq) value = value * value;
    state.exp_avg_sq[0] = 0;
    state.gradient[0] = 0;
    state.exp_avg[1] = 0x1p-140F;  // subnormal: a GPU must not flush it
    return state;
  }
};

// PyTorch's formula, in double.
std::vector<double> reference_weights(const Adamw& before) {
  const auto t = static_cast<double>(kRule.optimizer_step);
  const double correction1 = 1 - std::pow(kRule.beta1, t);
  const double correction2 = 1 - std::pow(kRule.beta2, t);
  std::vector<double> weights;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double g = before.gradient[i] * kRule.clip_scale;
    const double m = before.exp_avg[i] + (1 - kRule.beta1) * (g - before.exp_avg[i]);
    const double v = kRule.beta2 * before.exp_avg_sq[i] + (1 - kRule.beta2) * g * g;
    weights.push_back(before.weights[i] * (1 - kRule.learning_rate * kRule.weight_decay) -
                      kRule.learning_rate * (m / correction1) / (std::sqrt(v) / std::sqrt(correction2) + kRule.eps));
  }
  return weights;
}

LaunchError apply(const AdamwCoefficients& coefficients, const AdamwArrays& arrays) {
  Tables tables(kCount);
  DeviceArray<AdamwCoefficients> table(std::vector<AdamwCoefficients>{coefficients});
  return apply_adamw(tables.all(), table.at(), arrays, nullptr);
}

TEST(AdamwKernel, GivesTheBitsOfTheCpuAndTheFormulaInFloat64) {
  const AdamwCoefficients coefficients = adamw_coefficients(kRule);
  Adamw wanted = Adamw::drawn();
  shoal::apply_adamw(coefficients, {wanted.weights, wanted.exp_avg, wanted.exp_avg_sq, wanted.gradient});
  const std::vector<double> in_float64 = reference_weights(Adamw::drawn());

  expect_holds_and_faults_are_found([&] {
    const Adamw before = Adamw::drawn();
    DeviceArray<float> weights(before.weights), m(before.exp_avg), v(before.exp_avg_sq), gradient(before.gradient);
    DeviceArray<Bf16> copy(kCount);
    const AdamwArrays arrays{weights.at(), m.at(), v.at(), gradient.at(), copy.at()};
    EXPECT_EQ(apply(coefficients, arrays), kLaunched);
    return are_same(weights.values(), wanted.weights) && are_same(m.values(), wanted.exp_avg) &&
           are_same(v.values(), wanted.exp_avg_sq) && distance(weights.values(), in_float64) < 1e-7 &&
           are_same(copy.values(), bf16_of_all(wanted.weights));
  });
}

TEST(AdamwKernel, OtherCoefficientsGiveOtherBits) {
  AdamwRule other = kRule;
  other.optimizer_step = 8;
  Adamw right = Adamw::drawn(), wrong = Adamw::drawn();
  shoal::apply_adamw(adamw_coefficients(kRule), {right.weights, right.exp_avg, right.exp_avg_sq, right.gradient});
  DeviceArray<float> weights(wrong.weights), m(wrong.exp_avg), v(wrong.exp_avg_sq), gradient(wrong.gradient);
  const AdamwArrays arrays{weights.at(), m.at(), v.at(), gradient.at(), nullptr};
  ASSERT_EQ(apply(adamw_coefficients(other), arrays), kLaunched);
  EXPECT_FALSE(are_same(weights.values(), right.weights));
  EXPECT_TRUE(are_same(m.values(), right.exp_avg)) << "the averages know no correction";
}

TEST(AdamwKernel, TheCopyOfWhatIsNoNumberIsTorchs) {
  DeviceArray<float> weights({NAN, 1.0F, INFINITY}), gradient({0, 0, 0});
  DeviceArray<Bf16> copy(3);
  ASSERT_EQ(apply_sgd({1, 1, 0.5F}, {weights.at(), gradient.at(), copy.at()}, 3, nullptr), kLaunched);
  EXPECT_EQ(copy.values()[0].bits, 0x7FC0);
  EXPECT_EQ(copy.values()[1].bits, 0x3F80);
  EXPECT_EQ(copy.values()[2].bits, 0x7F80);
}

TEST(SgdKernel, GivesTheBitsOfTheCpu) {
  const SgdCoefficients coefficients{0.37F, 0.9999F, 0.05F};
  Adamw wanted = Adamw::drawn();
  shoal::apply_sgd(coefficients, wanted.weights, wanted.gradient);
  expect_holds_and_faults_are_found([&] {
    const Adamw before = Adamw::drawn();
    DeviceArray<float> weights(before.weights), gradient(before.gradient);
    EXPECT_EQ(apply_sgd(coefficients, {weights.at(), gradient.at(), nullptr}, kCount, nullptr), kLaunched);
    return are_same(weights.values(), wanted.weights);
  });
}

}  // namespace
}  // namespace shoal::gpu::update_test
