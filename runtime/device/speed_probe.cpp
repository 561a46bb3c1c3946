// A product per look at the clock, for as long as the probe lasts.
#include "runtime/device/speed_probe.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <ctime>

#include "runtime/device/gemm_choice.h"

namespace shoal {
namespace {

constexpr std::int64_t kSize = 320;  // rows and columns: three matrices fit into a cache of the second level
constexpr double kProbeSeconds = 0.08;
constexpr int kProductsMin = 3;  // the first one wakes the library and is the slowest

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

std::uint64_t measure_multiply_adds_s() {
  prepare_process_for_compute();
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor a = at::ones({kSize, kSize});
  at::Tensor product = at::empty({kSize, kSize});
  const double began = processor_seconds();
  double shortest = 1e9;
  for (int products = 0; products < kProductsMin || processor_seconds() - began < kProbeSeconds; ++products) {
    const double before = processor_seconds();
    at::matmul_out(product, a, a);
    shortest = std::min(shortest, processor_seconds() - before);
  }
  at::set_num_threads(threads);
  constexpr auto kMultiplyAdds = static_cast<double>(kSize * kSize * kSize);
  return static_cast<std::uint64_t>(kMultiplyAdds / std::max(shortest, 1e-9));
}

}  // namespace shoal
