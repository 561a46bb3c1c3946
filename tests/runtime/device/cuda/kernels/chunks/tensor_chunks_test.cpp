// All tensors of a flat array in one launch: the processor's bits of one tensor after the other, chunk bounds included.
#include "runtime/device/cuda/kernels/tensor_chunks.h"

#include <xxhash.h>

#include <deque>
#include <limits>
#include <span>

#include "model/update_kernels.h"
#include "runtime/device/cuda/kernels/block_digest.h"
#include "runtime/device/cuda/kernels/update.h"
#include "tests/runtime/device/cuda/kernels/chunks/tables.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::tensor_chunks_test {
namespace {

// Less than a chunk, a chunk, one more, several and a rest, a single element; gaps between them.
// The copy in bf16 begins tensors elsewhere.
std::vector<TensorSpan> spans() {
  return {{0, 100, 0, 0}, {112, 4096, 0, 128}, {4208, 4097, 0, 4224}, {8320, 13000, 0, 8448}, {21328, 1, 0, 21504}};
}
constexpr std::size_t kFlat = 21344;
constexpr std::size_t kCopy = 21632;

std::vector<float> drawn(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  return normal(random, count, 1);
}

TEST(TensorChunks, AreOfOneTensorEach) {
  std::vector<TensorSpan> of = spans();
  const std::vector<Chunk> chunks = chunks_of(of);
  ASSERT_EQ(chunks.size(), 1U + 1 + 2 + 4 + 1);
  EXPECT_EQ(chunks[3].tensor, 2U);
  EXPECT_EQ(chunks[3].number, 1U);
  EXPECT_EQ(of[3].first_chunk, 4U);
  EXPECT_EQ(of[4].first_chunk, 8U);
}

bool is_within(const std::vector<float>& values, float limit) {
  return std::ranges::all_of(values, [limit](float value) { return std::fabs(value) <= limit; });
}

template <class Sum>
std::vector<Sum> added_one_by_one(const std::vector<std::vector<float>>& gradients, std::size_t first) {
  std::vector<Sum> sums(kFlat);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!is_within(gradients[i], 50)) continue;
    const std::span<Sum> into = std::span(sums).subspan(spans()[first + i].offset, gradients[i].size());
    if constexpr (sizeof(Sum) == sizeof(float)) {
      shoal::accumulate_fast(gradients[i], into);
    } else {
      shoal::accumulate_exact(gradients[i], 20, into);
    }
  }
  return sums;
}

template <class Sum>
void expect_adds_the_same() {
  constexpr std::size_t kFirst = 1;  // tensor 0 is of no group, tensor 3 is bad in its last element
  std::vector<std::vector<float>> gradients;
  for (std::size_t i = kFirst; i < spans().size(); ++i) gradients.push_back(drawn(spans()[i].count, 7));
  gradients[2].back() = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Sum> wanted = added_one_by_one<Sum>(gradients, kFirst);
  expect_holds_and_faults_are_found([&] {
    Tables tables(spans());
    std::deque<DeviceArray<float>> arrays;
    std::vector<const float*> addresses;
    for (const auto& gradient : gradients) arrays.emplace_back(gradient);
    for (auto& array : arrays) addresses.push_back(array.at());
    DeviceArray<const float*> table(addresses);
    DeviceArray<unsigned> is_bad(std::vector<unsigned>(spans().size()));
    DeviceArray<Sum> sums((std::vector<Sum>(kFlat)));
    const TensorChunks chunks = some_of(tables.all(), tables[kFirst].first_chunk, tables.chunks() - 1);
    EXPECT_EQ(find_beyond(chunks, {table.at(), kFirst}, 50, is_bad.at(), nullptr), kLaunched);
    const ChunkSums into{sums.at(), sizeof(Sum) == sizeof(float) ? -1 : 20, is_bad.at()};
    EXPECT_EQ(accumulate(chunks, {table.at(), kFirst}, into, nullptr), kLaunched);
    return sums.values() == wanted && is_bad.values() == std::vector<unsigned>{0, 0, 0, 1, 0};
  });
}

TEST(TensorChunks, AddGradientsAsOneTensorAfterTheOther) {
  expect_adds_the_same<float>();
  expect_adds_the_same<std::int64_t>();
}

TEST(TensorChunks, HaveNormsAndDigestsOfOneTensorAfterTheOther) {
  const std::vector<float> flat = drawn(kFlat, 8);
  std::vector<double> norms;
  std::vector<std::uint64_t> values;
  for (const TensorSpan& span : spans()) {
    const std::span<const float> tensor = std::span(flat).subspan(span.offset, span.count);
    norms.push_back(shoal::squared_norm(tensor));
    for (std::size_t begin = 0; begin < tensor.size(); begin += kChunk) {
      const auto block = tensor.subspan(begin, std::min(kChunk, tensor.size() - begin));
      values.push_back(XXH3_64bits(block.data(), block.size_bytes()));
    }
  }
  expect_holds_and_faults_are_found([&] {
    Tables tables(spans());
    DeviceArray<float> from(flat);
    DeviceArray<double> sums(tables.chunks()), norms_there(spans().size());
    DeviceArray<std::uint64_t> values_there(tables.chunks());
    EXPECT_EQ(squared_norms(tables.all(), from.at(), sums.at(), norms_there.at(), nullptr), kLaunched);
    EXPECT_EQ(block_values(tables.all(), from.at(), values_there.at(), nullptr), kLaunched);
    return norms_there.values() == norms && values_there.values() == values;
  });
}

// A tensor of more blocks than threads add at once.
TEST(TensorChunks, AddTheNormOfALongTensorInOrder) {
  constexpr std::size_t kCount = 300 * kChunk + 5;
  const std::vector<float> values = drawn(kCount, 9);
  Tables tables(kCount);
  DeviceArray<float> from(values);
  DeviceArray<double> sums(tables.chunks()), norm(1);
  EXPECT_EQ(squared_norms(tables.all(), from.at(), sums.at(), norm.at(), nullptr), kLaunched);
  EXPECT_EQ(norm.values().front(), shoal::squared_norm(values));
}

TEST(TensorChunks, UpdateTensorsByTheirOwnCoefficients) {
  const AdamwCoefficients some{0.5F, 0.9F, 0.1F, 0.95F, 0.05F, 1e-2F, 0.3F, 1e-8F};
  const std::vector<float> weights = drawn(kFlat, 1), average = drawn(kFlat, 2), gradient = drawn(kFlat, 4);
  std::vector<float> squares = drawn(kFlat, 3);
  for (float& square : squares) square *= square;
  std::vector<AdamwCoefficients> coefficients(spans().size(), some);
  coefficients[1].decay = 1;
  std::vector<float> w = weights, m = average, v = squares;
  for (std::size_t i = 0; i < spans().size(); ++i) {
    const auto of = [&](auto& flat) { return std::span(flat).subspan(spans()[i].offset, spans()[i].count); };
    shoal::apply_adamw(coefficients[i], {of(w), of(m), of(v), of(gradient)});
  }
  std::vector<float> copied(kCopy);
  for (const TensorSpan& span : spans()) std::copy_n(&w[span.offset], span.count, &copied[span.copy]);
  expect_holds_and_faults_are_found([&] {
    Tables tables(spans());
    DeviceArray<float> w_there(weights), m_there(average), v_there(squares);
    DeviceArray<float> g(gradient);
    DeviceArray<Bf16> copy_there((std::vector<Bf16>(kCopy)));
    DeviceArray<AdamwCoefficients> table(coefficients);
    const AdamwArrays arrays{w_there.at(), m_there.at(), v_there.at(), g.at(), copy_there.at()};
    EXPECT_EQ(apply_adamw(tables.all(), table.at(), arrays, nullptr), kLaunched);
    return w_there.values() == w && m_there.values() == m && v_there.values() == v &&
           are_same(copy_there.values(), bf16_of_all(copied));
  });
}

}  // namespace
}  // namespace shoal::gpu::tensor_chunks_test
