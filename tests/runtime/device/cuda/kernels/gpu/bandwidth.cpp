// What each kernel reaches of the memory bandwidth of a GPU: bytes that it must read and write, over the time, beside a
// copy of the device's own in the same run. Values are drawn: divisions of zeros take another path. A row each; a test
// fails below kBar of the copy. What a step launches over all tensors at once has the tensors of GPT-2 124M, a few
// times. Skipped without a device.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <iomanip>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/arithmetic/bf16.h"
#include "runtime/device/cuda/kernels/bias.h"
#include "runtime/device/cuda/kernels/block_digest.h"
#include "runtime/device/cuda/kernels/cross_entropy.h"
#include "runtime/device/cuda/kernels/dropout.h"
#include "runtime/device/cuda/kernels/embedding.h"
#include "runtime/device/cuda/kernels/gelu.h"
#include "runtime/device/cuda/kernels/mean.h"
#include "runtime/device/cuda/kernels/outer.h"
#include "runtime/device/cuda/kernels/residual_norm.h"
#include "runtime/device/cuda/kernels/swiglu.h"
#include "runtime/device/cuda/kernels/tensor_chunks.h"
#include "runtime/device/cuda/kernels/update.h"
#include "runtime/device/cuda/kernels/wire_codecs.h"

namespace shoal::gpu {
namespace {

constexpr std::size_t kCount = std::size_t{64} << 20U;  // elements: 256 MiB of float32, more than caches hold
constexpr double kBar = 0.8;                            // of a copy's bandwidth
constexpr double kBarOfReadTwice = 0.7;                 // where what must be read once is read twice

void check(int error, const std::string& what) {
  ASSERT_EQ(error, cudaSuccess) << what << ": " << cudaGetErrorString(static_cast<cudaError_t>(error));
}

// Drawn values, so that no kernel meets zeros alone: of [-1, 1), or all bits where they are integers.
void set_drawn(float& value, std::uint32_t word) { value = static_cast<float>(word >> 8U) * 0x1p-23F - 1.0F; }
void set_drawn(Bf16& value, std::uint32_t word) {
  float drawn = 0;
  set_drawn(drawn, word);
  value.bits = to_bf16(drawn);
}
void set_drawn(double& value, std::uint32_t word) { value = word; }
template <std::integral T>
void set_drawn(T& value, std::uint32_t word) {
  value = static_cast<T>(word);
}

template <class T>
std::vector<T> drawn(std::size_t count) {
  std::vector<T> values(count);
  std::mt19937 random(1);
  for (T& value : values) set_drawn(value, static_cast<std::uint32_t>(random()));
  return values;
}

// Memory of the device with drawn values, which repeat after kPeriod, or with the given ones.
template <class T>
class Array {
 public:
  explicit Array(std::size_t count) : Array(count, drawn<T>(std::min(count, kPeriod))) {}
  explicit Array(const std::vector<T>& values) : Array(values.size(), values) {}
  ~Array() { cudaFree(memory_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  [[nodiscard]] T* at() { return static_cast<T*>(memory_); }

 private:
  static constexpr std::size_t kPeriod = 1000003;

  Array(std::size_t count, const std::vector<T>& values) {
    check(cudaMalloc(&memory_, count * sizeof(T)), "memory");
    for (std::size_t i = 0; i < count; i += values.size()) {
      const std::size_t there = std::min(values.size(), count - i);
      check(cudaMemcpy(at() + i, values.data(), there * sizeof(T), cudaMemcpyHostToDevice), "memory");
    }
  }

  void* memory_ = nullptr;
};

std::vector<float> magnitudes(std::size_t count) {
  std::vector<float> values = drawn<float>(count);
  for (float& value : values) value = std::fabs(value);
  return values;
}

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

// Bytes per second of a copy of the device's own, read and written.
double copy_bandwidth() {
  static const double kMeasured = [] {
    Array<float> from(kCount), to(kCount);
    const auto copy = [&] {
      return cudaMemcpyAsync(to.at(), from.at(), kCount * 4, cudaMemcpyDeviceToDevice, nullptr);
    };
    const double bandwidth = static_cast<double>(kCount) * 8 / seconds_of(copy, "copy");
    std::cout << "copy of the device: " << std::fixed << std::setprecision(0) << bandwidth / 1e9 << " GB/s\n"
              << "kernel                     ms    GB/s  of copy\n";
    return bandwidth;
  }();
  return kMeasured;
}

// bytes: read and written, of `elements` of them.
void measure(const std::string& name, double bytes_per_element, std::size_t elements, const std::function<int()>& run,
             double bar = kBar) {
  const double copy = copy_bandwidth();
  const double seconds = seconds_of(run, name);
  const double bandwidth = bytes_per_element * static_cast<double>(elements) / seconds;
  std::cout << std::left << std::setw(22) << name << std::right << std::setprecision(3) << std::setw(8) << seconds * 1e3
            << std::setprecision(0) << std::setw(8) << bandwidth / 1e9 << std::setprecision(2) << std::setw(8)
            << bandwidth / copy << "\n";
  EXPECT_GE(bandwidth / copy, bar) << name;
}

class Bandwidth : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0) GTEST_SKIP() << "no device: " << cudaGetErrorString(error);
  }
};

// Tensors of GPT-2 124M in flat arrays of at most kCount elements, each at a multiple of 16 elements; of copies in
// bf16, at a multiple of 128.
std::vector<TensorSpan> tensors_of_gpt2() {
  std::vector<std::size_t> counts = {50257 * 768, 1024 * 768};
  for (int layer = 0; layer < 12; ++layer) {
    for (const std::size_t count :
         {768, 768, 768 * 2304, 2304, 768 * 768, 768, 768, 768, 768 * 3072, 3072, 3072 * 768, 768}) {
      counts.push_back(count);
    }
  }
  std::vector<TensorSpan> spans;
  std::size_t at = 0, copy = 0;
  for (const std::size_t count : counts) {
    if (copy + count > kCount) continue;
    spans.push_back({.offset = at, .count = count, .copy = copy});
    at += (count + 15) / 16 * 16;
    copy += (count + 127) / 128 * 128;
  }
  return spans;
}

TEST_F(Bandwidth, OfTheStep) {
  constexpr std::size_t n = kCount;
  std::vector<TensorSpan> spans = tensors_of_gpt2();
  const std::vector<Chunk> chunks_there = chunks_of(spans);
  std::size_t all = 0;
  for (const TensorSpan& span : spans) all += span.count;
  Array<float> weights(n), m(n), v(magnitudes(n)), gradient(n);
  Array<std::int64_t> sums(n);
  Array<Bf16> copy(n);
  Array<TensorSpan> span_table(spans);
  Array<Chunk> chunk_table(chunks_there);
  const TensorChunks chunks{span_table.at(), spans.size(), chunk_table.at(), chunks_there.size()};
  std::vector<const float*> addresses;
  for (const TensorSpan& span : spans) addresses.push_back(gradient.at() + span.offset);
  Array<const float*> address_table(addresses);
  const Gradients gradients{address_table.at(), 0};
  Array<unsigned> is_bad(std::vector<unsigned>(spans.size()));
  measure("find_beyond", 4, all, [&] { return find_beyond(chunks, gradients, 64, is_bad.at(), nullptr); });
  measure("accumulate, exact", 20, all, [&] {
    return accumulate(chunks, gradients, {sums.at(), 43, is_bad.at()}, nullptr);
  });
  measure("accumulate, fast", 12, all, [&] {
    return accumulate(chunks, gradients, {m.at(), -1, is_bad.at()}, nullptr);
  });
  measure("mean_of_exact", 12, n, [&] { return mean_of_exact({sums.at(), 43, 65536}, n, gradient.at(), nullptr); });
  Array<AdamwCoefficients> coefficients(
      std::vector<AdamwCoefficients>(spans.size(), {1, 1, 0.1F, 0.95F, 0.05F, 1e-3F, 1, 1e-8F}));
  const AdamwArrays arrays{weights.at(), m.at(), v.at(), gradient.at(), copy.at()};
  measure("adamw, bf16 copy", 30, all, [&] { return apply_adamw(chunks, coefficients.at(), arrays, nullptr); });
  measure("nesterov", 20, n, [&] {
    return apply_nesterov({0.7F, 0.9F}, {weights.at(), m.at(), gradient.at()}, n, nullptr);
  });
  Array<double> block_sums(chunks.count), norms(spans.size());
  measure("squared_norms", 4, all,
          [&] { return squared_norms(chunks, gradient.at(), block_sums.at(), norms.at(), nullptr); });
  Array<std::uint64_t> digests(chunks.count);
  measure("block_values", 4, all, [&] { return block_values(chunks, weights.at(), digests.at(), nullptr); });
}

TEST_F(Bandwidth, OfTheWireCodecs) {
  constexpr std::size_t n = kCount;
  Array<float> values(n), scales(n / 256 + 1);
  Array<std::uint16_t> halves(n / 256 + 1);
  Array<std::uint8_t> codes(n);
  Array<std::uint32_t> largest(std::vector<std::uint32_t>{0});
  measure("encode_int8", 5, n, [&] {
    return encode_int8(values.at(), n, {scales.at(), codes.at()}, largest.at(), nullptr);
  });
  measure("decode_int8", 5, n, [&] { return decode_int8({scales.at(), codes.at()}, n, values.at(), nullptr); });
  Array<std::uint16_t> bf16(n);
  measure("encode_bf16", 6, n, [&] { return encode_bf16(values.at(), n, bf16.at(), largest.at(), nullptr); });
  measure("decode_bf16", 6, n, [&] { return decode_bf16(bf16.at(), n, values.at(), nullptr); });
  measure("encode_e3m0", 4.5, n, [&] {
    return encode_e3m0(values.at(), n, {halves.at(), codes.at()}, largest.at(), nullptr);
  });
  measure("decode_e3m0", 4.5, n, [&] { return decode_e3m0({halves.at(), codes.at()}, n, values.at(), nullptr); });
}

TEST_F(Bandwidth, OfTheLayers) {
  constexpr std::size_t kWidth = 768;
  const std::size_t rows = kCount / kWidth;
  Array<float> x(rows * kWidth), branch(rows * kWidth), weight(kWidth), bias(kWidth), mean(rows),
      rstd(magnitudes(rows));
  Array<Bf16> added(rows * kWidth), y(rows * kWidth);
  const NormShape norm{NormRule::kLayer, rows, kWidth, 1e-5F};
  measure("residual_norm", 12, rows * kWidth, [&] {
    return residual_norm(
        norm, NormForward<Bf16>{x.at(), added.at(), weight.at(), bias.at(), x.at(), y.at(), mean.at(), rstd.at()},
        nullptr);
  });
  Array<float> parts(norm_parts(norm)), dweight(kWidth), dbias(kWidth);
  measure("residual_norm_backward", 14, rows * kWidth, [&] {
    return residual_norm_backward(norm,
                                  NormBackward<Bf16>{x.at(), mean.at(), rstd.at(), weight.at(), y.at(), branch.at(),
                                                     branch.at(), dweight.at(), dbias.at(), parts.at()},
                                  nullptr);
  });
  measure("bias_gradient", 2, rows * kWidth, [&] {
    return bias_gradient({rows, kWidth}, BiasArrays<Bf16>{y.at(), dbias.at(), parts.at()}, nullptr);
  });
  const GeluShape gelu{rows, kWidth};
  Array<Bf16> after(rows * kWidth);
  measure("gelu_forward", 4, rows * kWidth, [&] {
    return gelu_forward(gelu, GeluForward<Bf16>{y.at(), bias.at(), after.at()}, nullptr);
  });
  measure("gelu_backward", 6, rows * kWidth, [&] {
    return gelu_backward(gelu, GeluBackward<Bf16>{y.at(), bias.at(), after.at(), after.at(), dbias.at(), parts.at()},
                         nullptr);
  });
  measure("swiglu_forward", 6, rows * kWidth, [&] {
    return swiglu_forward(rows * kWidth, SwigluForward<Bf16>{y.at(), after.at(), after.at()}, nullptr);
  });
  Array<Bf16> below(rows * kWidth);
  measure("swiglu_backward", 10, rows * kWidth, [&] {
    return swiglu_backward(rows * kWidth, SwigluBackward<Bf16>{y.at(), after.at(), below.at(), after.at(), below.at()},
                           nullptr);
  });
  Array<std::uint64_t> streams(1);
  measure("drop", 8, rows * kWidth, [&] {
    return drop({1, rows * kWidth}, {1, 1, 1U << 29U, 1.1F}, DropoutArrays<float>{x.at(), streams.at(), x.at()},
                nullptr);
  });
  constexpr std::size_t kWide = 8192;
  const NormShape wide{NormRule::kRms, kCount / kWide, kWide, 1e-5F};
  Array<float> wide_weight(kWide);
  measure("residual_norm, wide", 12, wide.rows * kWide, [&] {
    return residual_norm(
        wide, NormForward<Bf16>{x.at(), added.at(), wide_weight.at(), nullptr, x.at(), y.at(), nullptr, rstd.at()},
        nullptr);
  });
}

// Logits are read twice, of which once would do, and written once: a row that a block keeps whole is read once, as
// GPT-2's is on an H100 (57344 logits); of Llama 3's and Qwen3's vocabularies the rest is read again. As many rows as a
// microbatch has: with few of them the last blocks leave most of the GPU idle.
TEST_F(Bandwidth, OfTheLoss) {
  struct Row {
    const char* name;
    std::size_t vocabulary, stride;
    double bar;
  };
  constexpr std::size_t kRows = 8192;
  for (const Row& row : {Row{"loss, 50257", 50257, 50304, kBar}, Row{"loss, 128256", 128256, 128256, kBarOfReadTwice},
                         Row{"loss, 151936", 151936, 151936, kBarOfReadTwice}}) {
    Array<Bf16> logits(kRows * row.stride);
    Array<std::int32_t> targets(std::vector<std::int32_t>(kRows, 17));
    Array<float> loss(kRows);
    const auto run = [&] {
      return loss_and_gradient({kRows, row.vocabulary, row.stride},
                               LossArrays<Bf16>{logits.at(), targets.at(), loss.at()}, nullptr);
    };
    measure(row.name, 4, kRows * row.stride, run, row.bar);
  }
}

TEST_F(Bandwidth, OfTheEmbedding) {
  constexpr std::size_t kWidth = 768;
  const std::size_t rows = kCount / kWidth;
  std::vector<std::int32_t> tokens(rows);
  for (std::size_t i = 0; i < rows; ++i) tokens[i] = static_cast<std::int32_t>(i * i % 50257);
  const EmbeddingPlan plan = embedding_plan(tokens);
  Array<std::int32_t> touched(plan.rows), pieces(plan.pieces), starts(plan.starts), positions(plan.positions);
  Array<float> gradient(rows * kWidth), sums(plan.piece_count() * kWidth);
  const EmbeddingRows arrays{touched.at(),     pieces.at(),        starts.at(), positions.at(),
                             plan.rows.size(), plan.piece_count(), kWidth};
  measure("sum_pieces", 4, (rows + plan.piece_count()) * kWidth,
          [&] { return sum_pieces(arrays, gradient.at(), sums.at(), nullptr); });
}

}  // namespace
}  // namespace shoal::gpu
