// Prints what each kernel reaches of the memory bandwidth of a GPU: bytes that it must read and write, over the time,
// beside a copy of the device's own. `tests_gpu_bandwidth [MIB]`: MiB of the largest array (default 256). Exit status 2
// without a device.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/cuda/kernels/accumulate.h"
#include "runtime/device/cuda/kernels/block_digest.h"
#include "runtime/device/cuda/kernels/cross_entropy.h"
#include "runtime/device/cuda/kernels/embedding.h"
#include "runtime/device/cuda/kernels/gelu.h"
#include "runtime/device/cuda/kernels/outer.h"
#include "runtime/device/cuda/kernels/residual_norm.h"
#include "runtime/device/cuda/kernels/update.h"
#include "runtime/device/cuda/kernels/wire_codecs.h"

namespace shoal::gpu {
namespace {

void check(int error, const std::string& what) {
  if (error == cudaSuccess) return;
  std::cerr << what << ": " << cudaGetErrorString(static_cast<cudaError_t>(error)) << "\n";
  std::exit(1);
}

// Zeroed memory of the device.
template <class T>
class Array {
 public:
  explicit Array(std::size_t count) {
    check(cudaMalloc(&memory_, count * sizeof(T)), "memory");
    check(cudaMemset(memory_, 0, count * sizeof(T)), "memory");
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    check(cudaMemcpy(memory_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "memory");
  }
  ~Array() { cudaFree(memory_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  [[nodiscard]] T* at() { return static_cast<T*>(memory_); }

 private:
  void* memory_ = nullptr;
};

// The best of several runs, in seconds.
double seconds_of(const std::function<int()>& run, const std::string& what) {
  cudaEvent_t begin{}, end{};
  check(cudaEventCreate(&begin), what);
  check(cudaEventCreate(&end), what);
  float best = 1e9F;
  for (int i = 0; i < 12; ++i) {
    check(cudaEventRecord(begin), what);
    check(run(), what);
    check(cudaEventRecord(end), what);
    check(cudaEventSynchronize(end), what);
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), what);
    if (i >= 2) best = std::min(best, ms);
  }
  check(cudaEventDestroy(begin), what);
  check(cudaEventDestroy(end), what);
  return best / 1e3;
}

class Table {
 public:
  explicit Table(std::size_t count) : count_(count) {
    Array<float> from(count), to(count);
    const auto copy = [&] { return cudaMemcpyAsync(to.at(), from.at(), count * 4, cudaMemcpyDeviceToDevice, nullptr); };
    copy_ = static_cast<double>(count) * 8 / seconds_of(copy, "copy");
    std::cout << "copy of the device: " << std::fixed << std::setprecision(0) << copy_ / 1e9 << " GB/s\n"
              << "kernel                     ms    GB/s  of copy\n";
  }
  // bytes: read and written.
  void add(const std::string& name, double bytes, const std::function<int()>& run) const {
    const double seconds = seconds_of(run, name);
    std::cout << std::left << std::setw(22) << name << std::right << std::setprecision(3) << std::setw(8)
              << seconds * 1e3 << std::setprecision(0) << std::setw(8) << bytes / seconds / 1e9 << std::setprecision(2)
              << std::setw(8) << bytes / seconds / copy_ << "\n";
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double elements() const { return static_cast<double>(count_); }

 private:
  std::size_t count_;
  double copy_ = 0;
};

void measure_step(const Table& table) {
  const std::size_t n = table.count();
  Array<float> weights(n), m(n), v(n), gradient(n);
  Array<std::int64_t> sums(n);
  Array<Bf16> copy(n);
  Array<unsigned> is_bad(1);
  table.add("find_beyond", table.elements() * 4,
            [&] { return find_beyond(gradient.at(), n, 64, is_bad.at(), nullptr); });
  table.add("accumulate_exact", table.elements() * 20, [&] {
    return accumulate_exact(gradient.at(), n, {sums.at(), 43, is_bad.at()}, nullptr);
  });
  table.add("mean_of_exact", table.elements() * 12, [&] {
    return mean_of_exact({sums.at(), 43, 65536}, n, gradient.at(), nullptr);
  });
  table.add("adamw, bf16 copy", table.elements() * 30, [&] {
    return apply_adamw({1, 1, 0.1F, 0.95F, 0.05F, 1e-3F, 1, 1e-8F},
                       {weights.at(), m.at(), v.at(), gradient.at(), copy.at()}, n, nullptr);
  });
  table.add("nesterov", table.elements() * 20, [&] {
    return apply_nesterov({0.7F, 0.9F}, {weights.at(), m.at(), gradient.at()}, n, nullptr);
  });
  Array<double> blocks(norm_blocks(n)), norm(1);
  table.add("squared_norm", table.elements() * 4,
            [&] { return squared_norm(gradient.at(), n, blocks.at(), norm.at(), nullptr); });
  Array<std::uint64_t> digests(digest_blocks(n * 4));
  table.add("block_values", table.elements() * 4,
            [&] { return block_values(weights.at(), n * 4, digests.at(), nullptr); });
}

void measure_codecs(const Table& table) {
  const std::size_t n = table.count();
  Array<float> values(n), scales(n / 256 + 1);
  Array<std::uint16_t> halves(n / 256 + 1);
  Array<std::uint8_t> codes(n);
  Array<std::uint32_t> largest(1);
  table.add("encode_int8", table.elements() * 5, [&] {
    return encode_int8(values.at(), n, {scales.at(), codes.at()}, largest.at(), nullptr);
  });
  table.add("decode_int8", table.elements() * 5, [&] {
    return decode_int8({scales.at(), codes.at()}, n, values.at(), nullptr);
  });
  table.add("encode_e3m0", table.elements() * 4.5, [&] {
    return encode_e3m0(values.at(), n, {halves.at(), codes.at()}, largest.at(), nullptr);
  });
  table.add("decode_e3m0", table.elements() * 4.5, [&] {
    return decode_e3m0({halves.at(), codes.at()}, n, values.at(), nullptr);
  });
}

void measure_layers(const Table& table) {
  constexpr std::size_t kWidth = 768, kVocabulary = 50257, kStride = 50304;
  const std::size_t rows = table.count() / kWidth;
  const double elements = static_cast<double>(rows * kWidth);
  Array<float> x(rows * kWidth), branch(rows * kWidth), weight(kWidth), bias(kWidth), mean(rows), rstd(rows);
  Array<Bf16> y(rows * kWidth);
  const NormShape norm{NormRule::kLayer, rows, kWidth, 1e-5F};
  table.add("residual_norm", elements * 14, [&] {
    return residual_norm(
        norm, NormForward<Bf16>{x.at(), branch.at(), weight.at(), bias.at(), x.at(), y.at(), mean.at(), rstd.at()},
        nullptr);
  });
  Array<float> parts(norm_parts(norm)), dweight(kWidth), dbias(kWidth);
  table.add("residual_norm_backward", elements * 20, [&] {
    return residual_norm_backward(norm,
                                  NormBackward<Bf16>{x.at(), mean.at(), rstd.at(), weight.at(), y.at(), branch.at(),
                                                     branch.at(), dweight.at(), dbias.at(), parts.at()},
                                  nullptr);
  });
  const GeluShape gelu{rows, kWidth};
  Array<Bf16> after(rows * kWidth);
  table.add("gelu_forward", elements * 4, [&] {
    return gelu_forward(gelu, GeluForward<Bf16>{y.at(), bias.at(), after.at()}, nullptr);
  });
  table.add("gelu_backward", elements * 6, [&] {
    return gelu_backward(gelu, GeluBackward<Bf16>{y.at(), bias.at(), after.at(), after.at(), dbias.at(), parts.at()},
                         nullptr);
  });
  const std::size_t losses = std::max<std::size_t>(1, table.count() * 2 / kStride);
  Array<Bf16> logits(losses * kStride);
  Array<std::int32_t> targets(losses);
  Array<float> loss(losses);
  table.add("loss_and_gradient", static_cast<double>(losses * kStride) * 6, [&] {
    return loss_and_gradient({losses, kVocabulary, kStride}, LossArrays<Bf16>{logits.at(), targets.at(), loss.at()},
                             nullptr);
  });
}

void measure_embedding(const Table& table) {
  constexpr std::size_t kWidth = 768;
  const std::size_t rows = table.count() / kWidth;
  std::vector<std::int32_t> tokens(rows);
  for (std::size_t i = 0; i < rows; ++i) tokens[i] = static_cast<std::int32_t>(i * i % 50257);
  const EmbeddingPlan plan = embedding_plan(tokens);
  Array<std::int32_t> touched(plan.rows), starts(plan.starts), positions(plan.positions);
  Array<float> gradient(rows * kWidth), sums(plan.rows.size() * kWidth);
  const EmbeddingRows arrays{touched.at(), starts.at(), positions.at(), plan.rows.size(), kWidth};
  table.add("sum_rows", static_cast<double>((rows + plan.rows.size()) * kWidth) * 4,
            [&] { return sum_rows(arrays, gradient.at(), sums.at(), nullptr); });
}

}  // namespace
}  // namespace shoal::gpu

int main(int argc, char** argv) {
  using namespace shoal::gpu;
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::cerr << "no device to measure: " << cudaGetErrorString(error) << "\n";
    return 2;
  }
  const int mebibytes = argc > 1 ? std::atoi(argv[1]) : 256;
  if (mebibytes < 1) {
    std::cerr << "usage: tests_gpu_bandwidth [MIB]\n";
    return 2;
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "the device");
  std::cout << properties.name << "\n";
  const Table table(static_cast<std::size_t>(mebibytes) << 18U);
  measure_step(table);
  measure_codecs(table);
  measure_layers(table);
  measure_embedding(table);
}
