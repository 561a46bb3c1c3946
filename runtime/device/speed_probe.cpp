// A product per look at the clock, for as long as the probe lasts.
#include "runtime/device/speed_probe.h"

#include "runtime/base/error.h"
#include "runtime/base/machine/bf16_units.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/all.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <ctime>

#include "runtime/device/gemm_choice.h"
#include "runtime/device/torch_device.h"

namespace shoal {
namespace {

constexpr std::int64_t kSize = 320;            // rows and columns: three matrices fit into a cache of the second level
constexpr std::int64_t kSizeOnGpu = 4096;      // fills it
constexpr std::int64_t kBf16SizeOnGpu = 8192;  // takes long enough that its launch is little beside it
constexpr double kProbeSeconds = 0.08;
constexpr int kProductsMin = 3;  // the first one wakes the library and is the slowest

double seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

at::TensorOptions matrix_of(Precision precision) {
  return at::TensorOptions(precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat);
}

// Measures the best of several products of `size`, each ended by `wait`.
template <class Wait>
std::uint64_t best_rate(std::int64_t size, const at::TensorOptions& matrix, clockid_t clock, const Wait& wait) {
  const at::Tensor a = at::ones({size, size}, matrix);
  at::Tensor product = at::empty_like(a);
  const double began = seconds(clock);
  double shortest = 1e9;
  for (int products = 0; products < kProductsMin || seconds(clock) - began < kProbeSeconds; ++products) {
    const double before = seconds(clock);
    at::matmul_out(product, a, a);
    wait(product);
    shortest = std::min(shortest, seconds(clock) - before);
  }
  const auto extent = static_cast<double>(size);
  return static_cast<std::uint64_t>(extent * extent * extent / std::max(shortest, 1e-9));
}

}  // namespace

std::uint64_t measure_multiply_adds_s(Precision precision) {
  if (precision == Precision::kBf16 && bf16_units() == "none") return 0;
  prepare_process_for_compute();
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const auto rate = best_rate(kSize, matrix_of(precision), CLOCK_THREAD_CPUTIME_ID, [](const at::Tensor&) {});
  at::set_num_threads(threads);
  return rate;
}

std::uint64_t measure_multiply_adds_s(const std::string& device, Precision precision) {
  const auto wait = [](const at::Tensor& product) { static_cast<void>(product[0][0].item<float>()); };
  const std::int64_t size = precision == Precision::kBf16 ? kBf16SizeOnGpu : kSizeOnGpu;
  return best_rate(size, matrix_of(precision).device(torch_device(device)), CLOCK_MONOTONIC, wait);
}

Status check_bf16_products() {
  prepare_process_for_compute();
  constexpr std::int64_t kSmall = 8;
  try {
    const at::Tensor ones = at::ones({kSmall, kSmall}, matrix_of(Precision::kBf16));
    const bool is_right = at::matmul(ones, ones).eq(kSmall).all().item<bool>();
    return is_right ? Status(Done{}) : fail(Error::kInternal, "a product in bf16 is wrong");
  } catch (const c10::Error& refusal) {
    return fail(Error::kInternal, refusal.what_without_backtrace());
  }
}

}  // namespace shoal
