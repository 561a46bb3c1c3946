// Residual and norm by kernels, against float64: both rules, both types, widths of several instances.
#include "runtime/device/cuda/kernels/residual_norm.h"

#include <limits>
#include <string>

#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::residual_norm_test {
namespace {

constexpr float kEps = 1e-5F;

struct Inputs {
  std::vector<float> x, branch, weight, bias, dy, around;

  Inputs(std::size_t rows, std::size_t width) {
    std::mt19937 random(static_cast<unsigned>(rows * 7919 + width));
    x = normal(random, rows * width, 2.0F);
    branch = floats_of(bf16_of_all(normal(random, rows * width, 0.5F)));  // the same for both types
    weight = normal(random, width, 1.0F);
    bias = normal(random, width, 1.0F);
    dy = floats_of(bf16_of_all(normal(random, rows * width, 1.0F)));  // likewise
    around = normal(random, rows * width, 1.0F);
  }
};

struct Results {
  std::vector<double> sum, y, mean, rstd, dx, dweight, dbias;
};

// One row in float64. eps is a parameter, for the control with a wrong one.
void add_row(const NormShape& shape, const Inputs& in, std::size_t row, double eps, Results& out) {
  const std::size_t width = shape.width, begin = row * width;
  double mean = 0, variance = 0, mean_g = 0, mean_gn = 0;
  for (std::size_t c = 0; c < width; ++c) {
    out.sum.push_back(static_cast<double>(in.x[begin + c] + in.branch[begin + c]));
    mean += out.sum.back() / static_cast<double>(width);
  }
  const bool is_layer = shape.rule == NormRule::kLayer;
  if (!is_layer) mean = 0;
  for (std::size_t c = 0; c < width; ++c)
    variance += std::pow(out.sum[begin + c] - mean, 2) / static_cast<double>(width);
  const double rstd = 1 / std::sqrt(variance + eps);
  out.mean.push_back(mean);
  out.rstd.push_back(rstd);
  const auto n = [&](std::size_t c) { return (out.sum[begin + c] - mean) * rstd; };
  const auto g = [&](std::size_t c) { return static_cast<double>(in.dy[begin + c]) * in.weight[c]; };
  for (std::size_t c = 0; c < width; ++c) {
    out.y.push_back(n(c) * in.weight[c] + (is_layer ? in.bias[c] : 0));
    mean_g += g(c) / static_cast<double>(width);
    mean_gn += g(c) * n(c) / static_cast<double>(width);
    out.dweight[c] += in.dy[begin + c] * n(c);
    out.dbias[c] += in.dy[begin + c];
  }
  if (!is_layer) mean_g = 0;
  for (std::size_t c = 0; c < width; ++c)
    out.dx.push_back(in.around[begin + c] + rstd * (g(c) - mean_g - n(c) * mean_gn));
}

Results in_float64(const NormShape& shape, const Inputs& in, double eps = kEps) {
  Results out;
  out.dweight.resize(shape.width);
  out.dbias.resize(shape.width);
  for (std::size_t row = 0; row < shape.rows; ++row) add_row(shape, in, row, eps, out);
  return out;
}

template <class T>
std::vector<T> of_type(const std::vector<float>& values) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return values;
  } else {
    return bf16_of_all(values);
  }
}
std::vector<float> as_floats(const std::vector<float>& values) { return values; }
std::vector<float> as_floats(const std::vector<Bf16>& values) { return floats_of(values); }

// Made by the kernels from the inputs, forward and backward.
struct Made {
  std::vector<float> sum, y, mean, rstd, dx, dweight, dbias;
  bool is_copied = false;  // dx, in bf16
};

template <class T>
Made made_by_kernels(const NormShape& shape, const Inputs& in) {
  const bool is_layer = shape.rule == NormRule::kLayer;
  DeviceArray<float> x(in.x), weight(in.weight), bias(in.bias), around(in.around), sum(in.x.size()), mean(shape.rows),
      rstd(shape.rows), dweight(shape.width), dbias(shape.width), parts(norm_parts(shape));
  DeviceArray<Bf16> copy(in.x.size());
  DeviceArray<T> branch(of_type<T>(in.branch)), y(in.x.size()), dy(of_type<T>(in.dy));
  float* biases = is_layer ? bias.at() : nullptr;
  const NormForward<T> forward{x.at(), branch.at(), weight.at(), biases, sum.at(), y.at(), mean.at(), rstd.at()};
  EXPECT_EQ(residual_norm(shape, forward, nullptr), kLaunched);
  const NormBackward<T> backward{sum.at(),    mean.at(),    rstd.at(),
                                 weight.at(), dy.at(),      around.at(),
                                 around.at(), dweight.at(), is_layer ? dbias.at() : nullptr,
                                 parts.at(),  copy.at()};
  EXPECT_EQ(residual_norm_backward(shape, backward, nullptr), kLaunched);
  Made made{sum.values(),    as_floats(y.values()), mean.values(), rstd.values(),
            around.values(), dweight.values(),      dbias.values()};
  made.is_copied = are_same(floats_of(copy.values()), floats_of(bf16_of_all(made.dx)));
  return made;
}

// The largest distance of anything but y, and that of y.
struct Distances {
  double of_float32 = 0, of_y = 0;
};

Distances distances(const NormShape& shape, const Made& made, const Results& wanted) {
  Distances got;
  const auto look = [&](const std::vector<float>& values, const std::vector<double>& right) {
    got.of_float32 = std::max(got.of_float32, distance(values, right));
  };
  look(made.sum, wanted.sum), look(made.rstd, wanted.rstd);
  look(made.dx, wanted.dx), look(made.dweight, wanted.dweight);
  if (shape.rule == NormRule::kLayer) look(made.mean, wanted.mean), look(made.dbias, wanted.dbias);
  if (!made.is_copied) got.of_float32 = std::numeric_limits<double>::infinity();
  got.of_y = distance(made.y, wanted.y);
  return got;
}

// Widths of every instance of the kernels, with full registers and with few values in the last of them.
void expect_float64(NormRule rule) {
  for (const std::size_t width : std::vector<std::size_t>{4, 100, 384, 768, 1024, 2048, 2052, 5120, 8196, 16384}) {
    SCOPED_TRACE("width " + std::to_string(width));
    const NormShape shape{rule, 11, width, kEps};
    const Inputs in(shape.rows, width);
    const Results wanted = in_float64(shape, in);
    const Made made = made_by_kernels<float>(shape, in);
    const Distances in_float = distances(shape, made, wanted);
    EXPECT_LT(in_float.of_float32, 3e-6);
    EXPECT_LT(in_float.of_y, 3e-6);
    const Distances in_bf16 = distances(shape, made_by_kernels<Bf16>(shape, in), wanted);
    EXPECT_LT(in_bf16.of_float32, 3e-6);
    EXPECT_LT(in_bf16.of_y, 0.004) << "one rounding to bf16";
    EXPECT_GT(distances(shape, made, in_float64(shape, in, 1e-2)).of_y, 1e-4) << "another eps is noticed";
  }
}

TEST(ResidualNormKernel, OfLayersIsFloat64WithinRoundingForAllWidthsAndTypes) { expect_float64(NormRule::kLayer); }

TEST(ResidualNormKernel, OfRootMeanSquaresIsFloat64WithinRoundingForAllWidthsAndTypes) {
  expect_float64(NormRule::kRms);
}

TEST(ResidualNormKernel, FaultsAreFound) {
  std::vector<NormShape> shapes;
  for (const NormRule rule : {NormRule::kLayer, NormRule::kRms}) {
    shapes.push_back({rule, 258, 132, kEps});  // two parts of rows, two blocks of columns
    shapes.push_back({rule, 3, 2052, kEps});   // a block per row
  }
  for (const NormShape shape : shapes) {  // a copy, where the shim takes a kernel's arguments from: the stack
    const Inputs in(shape.rows, shape.width);
    const Results wanted = in_float64(shape, in);
    expect_holds_and_faults_are_found([&] {
      const Distances got = distances(shape, made_by_kernels<float>(shape, in), wanted);
      return got.of_float32 < 1e-5 && got.of_y < 1e-5;
    });
  }
}

TEST(ResidualNormKernel, WithoutABranchNormalisesWhatThereIs) {
  const NormShape shape{NormRule::kLayer, 3, 64, kEps};
  Inputs in(shape.rows, shape.width);
  std::ranges::fill(in.branch, 0.0F);
  const Results wanted = in_float64(shape, in);
  DeviceArray<float> x(in.x), weight(in.weight), bias(in.bias), y(in.x.size()), mean(3), rstd(3);
  const NormForward<float> arrays{x.at(), nullptr, weight.at(), bias.at(), nullptr, y.at(), mean.at(), rstd.at()};
  ASSERT_EQ(residual_norm(shape, arrays, nullptr), kLaunched);
  EXPECT_LT(distance(y.values(), wanted.y), 3e-6);
}

TEST(ResidualNormKernel, WithNothingRoundItGivesTheNormsGradientAlone) {
  for (const std::size_t width : {64, 4096}) {
    const NormShape shape{NormRule::kRms, 3, width, kEps};
    Inputs in(shape.rows, shape.width);
    std::ranges::fill(in.around, 0.0F);
    std::ranges::fill(in.branch, 0.0F);
    const Results wanted = in_float64(shape, in);
    DeviceArray<float> x(in.x), weight(in.weight), rstd(std::vector<float>(wanted.rstd.begin(), wanted.rstd.end())),
        dy(in.dy), dx(in.x.size()), dweight(width), parts(norm_parts(shape));
    const NormBackward<float> arrays{x.at(),  nullptr, rstd.at(),    weight.at(), dy.at(),
                                     nullptr, dx.at(), dweight.at(), nullptr,     parts.at()};
    ASSERT_EQ(residual_norm_backward(shape, arrays, nullptr), kLaunched);
    EXPECT_LT(distance(dx.values(), wanted.dx), 3e-6);
  }
}

TEST(ResidualNormKernel, RefusesWidthsItsRegistersDoNotHold) {
  EXPECT_EQ(residual_norm({NormRule::kRms, 1, 16388, kEps}, NormForward<float>{}, nullptr), kRefusedShape);
  EXPECT_EQ(residual_norm_backward({NormRule::kRms, 1, 6, kEps}, NormBackward<Bf16>{}, nullptr), kRefusedShape);
  EXPECT_EQ(residual_norm({NormRule::kRms, 0, 64, kEps}, NormForward<float>{}, nullptr), kLaunched);
}

}  // namespace
}  // namespace shoal::gpu::residual_norm_test
