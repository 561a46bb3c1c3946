// All tensors of a flat array in one launch: the bits of one tensor after the other, chunk bounds included.
#include "runtime/device/cuda/kernels/tensor_chunks.h"

#include <deque>
#include <limits>

#include "runtime/device/cuda/kernels/accumulate.h"
#include "runtime/device/cuda/kernels/block_digest.h"
#include "runtime/device/cuda/kernels/update.h"
#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu {
namespace {

// Less than a chunk, a chunk, one more, several and a rest, a single element; gaps between them.
// The copy in bf16 begins tensors elsewhere.
std::vector<TensorSpan> spans() {
  return {{0, 100, 0, 0}, {112, 4096, 0, 128}, {4208, 4097, 0, 4224}, {8320, 13000, 0, 8448}, {21328, 1, 0, 21504}};
}
constexpr std::size_t kFlat = 21344;
constexpr std::size_t kCopy = 21632;

class Tables {
 public:
  explicit Tables(std::vector<TensorSpan> spans) : spans_(std::move(spans)), chunks_(chunks_of(spans_)) {}
  [[nodiscard]] TensorChunks all() { return {there_.at(), spans_.size(), chunks_there_.at(), chunks_.size()}; }
  [[nodiscard]] const TensorSpan& operator[](std::size_t tensor) const { return spans_[tensor]; }
  [[nodiscard]] std::size_t chunks() const { return chunks_.size(); }

 private:
  std::vector<TensorSpan> spans_;
  std::vector<Chunk> chunks_;
  DeviceArray<TensorSpan> there_{spans_};
  DeviceArray<Chunk> chunks_there_{chunks_};
};

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

template <class Sum>
std::vector<Sum> added_one_by_one(const std::vector<std::vector<float>>& gradients, std::size_t first) {
  DeviceArray<Sum> sums((std::vector<Sum>(kFlat)));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const TensorSpan span = spans()[first + i];
    DeviceArray<float> from(gradients[i]);
    DeviceArray<unsigned> is_bad(std::vector<unsigned>(1));
    EXPECT_EQ(find_beyond(from.at(), span.count, 50, is_bad.at(), nullptr), kLaunched);
    if constexpr (sizeof(Sum) == sizeof(float)) {
      EXPECT_EQ(accumulate_fast(from.at(), span.count, sums.at() + span.offset, is_bad.at(), nullptr), kLaunched);
    } else {
      const ExactSums into{sums.at() + span.offset, 20, is_bad.at()};
      EXPECT_EQ(accumulate_exact(from.at(), span.count, into, nullptr), kLaunched);
    }
  }
  return sums.values();
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
    DeviceArray<float> from(std::vector<float>(flat.begin() + static_cast<std::ptrdiff_t>(span.offset),
                                               flat.begin() + static_cast<std::ptrdiff_t>(span.offset + span.count)));
    DeviceArray<double> sums(norm_blocks(span.count)), norm(1);
    EXPECT_EQ(squared_norm(from.at(), span.count, sums.at(), norm.at(), nullptr), kLaunched);
    norms.push_back(norm.values().front());
    DeviceArray<std::uint64_t> of_tensor(digest_blocks(span.count * 4));
    EXPECT_EQ(block_values(from.at(), span.count * 4, of_tensor.at(), nullptr), kLaunched);
    for (const std::uint64_t value : of_tensor.values()) values.push_back(value);
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
  DeviceArray<float> from(drawn(kCount, 9));
  DeviceArray<double> sums(norm_blocks(kCount)), norm(1), norm_there(1);
  EXPECT_EQ(squared_norm(from.at(), kCount, sums.at(), norm.at(), nullptr), kLaunched);
  Tables tables({{0, kCount}});
  EXPECT_EQ(squared_norms(tables.all(), from.at(), sums.at(), norm_there.at(), nullptr), kLaunched);
  EXPECT_EQ(norm_there.values(), norm.values());
}

TEST(TensorChunks, UpdateTensorsByTheirOwnCoefficients) {
  const AdamwCoefficients some{0.5F, 0.9F, 0.1F, 0.95F, 0.05F, 1e-2F, 0.3F, 1e-8F};
  const std::vector<float> weights = drawn(kFlat, 1), average = drawn(kFlat, 2), gradient = drawn(kFlat, 4);
  std::vector<float> squares = drawn(kFlat, 3);
  for (float& square : squares) square *= square;
  std::vector<AdamwCoefficients> coefficients(spans().size(), some);
  coefficients[1].decay = 1;
  DeviceArray<float> w(weights), m(average), v(squares), g(gradient);
  DeviceArray<Bf16> copy((std::vector<Bf16>(kCopy)));
  for (std::size_t i = 0; i < spans().size(); ++i) {
    const std::size_t at = spans()[i].offset;
    const AdamwArrays arrays{w.at() + at, m.at() + at, v.at() + at, g.at() + at, copy.at() + spans()[i].copy};
    EXPECT_EQ(apply_adamw(coefficients[i], arrays, spans()[i].count, nullptr), kLaunched);
  }
  expect_holds_and_faults_are_found([&] {
    Tables tables(spans());
    DeviceArray<float> w_there(weights), m_there(average), v_there(squares);
    DeviceArray<Bf16> copy_there((std::vector<Bf16>(kCopy)));
    DeviceArray<AdamwCoefficients> table(coefficients);
    const AdamwArrays arrays{w_there.at(), m_there.at(), v_there.at(), g.at(), copy_there.at()};
    EXPECT_EQ(apply_adamw(tables.all(), table.at(), arrays, nullptr), kLaunched);
    return w_there.values() == w.values() && m_there.values() == m.values() && v_there.values() == v.values() &&
           floats_of(copy_there.values()) == floats_of(copy.values());
  });
}

}  // namespace
}  // namespace shoal::gpu
