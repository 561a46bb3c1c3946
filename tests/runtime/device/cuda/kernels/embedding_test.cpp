// The embedding's backward by kernels: rows summed in the order of positions, against float64.
#include "runtime/device/cuda/kernels/embedding.h"

#include "model/update_kernels.h"
#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu {
namespace {

constexpr std::size_t kTokens = 60, kWidth = 70, kTable = 23;
constexpr int kBits = 40;

const std::vector<std::int32_t>& tokens() {
  static const std::vector<std::int32_t> kDrawn = [] {
    std::mt19937 random(2);
    std::vector<std::int32_t> drawn(kTokens);
    for (auto& token : drawn) token = static_cast<std::int32_t>(random() % kTable);
    drawn[0] = drawn[59] = 22;
    return drawn;
  }();
  return kDrawn;
}

const std::vector<float>& gradient() {
  static std::mt19937 random(3);
  static const std::vector<float> kDrawn = normal(random, kTokens * kWidth, 1.0F);
  return kDrawn;
}

// Of the whole table: position after position, as the CPU's operator adds them.
template <class T>
std::vector<T> added_in_order() {
  std::vector<T> table(kTable * kWidth);
  for (std::size_t i = 0; i < kTokens; ++i) {
    const auto row = static_cast<std::size_t>(tokens()[i]);
    for (std::size_t c = 0; c < kWidth; ++c) table[row * kWidth + c] += static_cast<T>(gradient()[i * kWidth + c]);
  }
  return table;
}

// A plan's arrays on the device.
struct DevicePlan {
  EmbeddingPlan plan = embedding_plan(tokens());
  DeviceArray<std::int32_t> rows{plan.rows}, starts{plan.starts}, positions{plan.positions};
  [[nodiscard]] EmbeddingRows arrays() { return {rows.at(), starts.at(), positions.at(), plan.rows.size(), kWidth}; }
};

TEST(EmbeddingPlan, GroupsPositionsByTokenAndKeepsTheirOrder) {
  const EmbeddingPlan plan = embedding_plan(std::vector<std::int32_t>{5, 2, 5, 9, 2, 5});
  EXPECT_EQ(plan.rows, (std::vector<std::int32_t>{2, 5, 9}));
  EXPECT_EQ(plan.starts, (std::vector<std::int32_t>{0, 2, 5, 6}));
  EXPECT_EQ(plan.positions, (std::vector<std::int32_t>{1, 4, 0, 2, 5, 3}));
  EXPECT_EQ(embedding_plan({}).starts, std::vector<std::int32_t>{0});
}

TEST(EmbeddingKernel, SumsRowsInTheOrderOfPositions) {
  const std::vector<float> wanted = added_in_order<float>();
  const std::vector<double> in_float64 = added_in_order<double>();
  expect_holds_and_faults_are_found([&] {
    DevicePlan plan;
    DeviceArray<float> from(gradient()), rows(plan.plan.rows.size() * kWidth),
        table(std::vector<float>(kTable * kWidth));
    EXPECT_EQ(sum_rows(plan.arrays(), from.at(), rows.at(), nullptr), kLaunched);
    EXPECT_EQ(scatter_rows(plan.arrays(), rows.at(), table.at(), nullptr), kLaunched);
    return are_same(table.values(), wanted) && distance(table.values(), in_float64) < 1e-5;
  });
}

// Rows of whole packs, which are summed 16 bytes at a time: 72 columns, of which 70 are those of the other tests.
TEST(EmbeddingKernel, SumsRowsOfPacksInTheSameOrder) {
  constexpr std::size_t kWide = 72;
  std::vector<float> values(kTokens * kWide, 1.0F);
  for (std::size_t i = 0; i < kTokens * kWidth; ++i) values[i / kWidth * kWide + i % kWidth] = gradient()[i];
  const std::vector<float> table = added_in_order<float>();
  expect_holds_and_faults_are_found([&] {
    DevicePlan plan;
    EmbeddingRows arrays = plan.arrays();
    arrays.width = kWide;
    DeviceArray<float> from(values), rows(plan.plan.rows.size() * kWide);
    EXPECT_EQ(sum_rows(arrays, from.at(), rows.at(), nullptr), kLaunched);
    const std::vector<float> got = rows.values();
    bool holds = true;
    for (std::size_t i = 0; i < plan.plan.rows.size() * kWidth; ++i) {
      const auto row = static_cast<std::size_t>(plan.plan.rows[i / kWidth]);
      holds &= bits_of(got[i / kWidth * kWide + i % kWidth]) == bits_of(table[row * kWidth + i % kWidth]);
    }
    return holds;
  });
}

TEST(EmbeddingKernel, AccumulatesTouchedRowsAsADenseGradientWouldBe) {
  std::vector<std::int64_t> wanted(kTable * kWidth, 1000);
  shoal::accumulate_exact(added_in_order<float>(), kBits, wanted);
  expect_holds_and_faults_are_found([&] {
    DevicePlan plan;
    DeviceArray<float> from(gradient()), rows(plan.plan.rows.size() * kWidth);
    DeviceArray<std::int64_t> sums(std::vector<std::int64_t>(kTable * kWidth, 1000));
    DeviceArray<unsigned> is_bad(std::vector<unsigned>{0});
    EXPECT_EQ(sum_rows(plan.arrays(), from.at(), rows.at(), nullptr), kLaunched);
    EXPECT_EQ(accumulate_rows(plan.arrays(), rows.at(), {sums.at(), kBits, is_bad.at()}, nullptr), kLaunched);
    return are_same(sums.values(), wanted);
  });
}

TEST(EmbeddingKernel, AccumulatesNothingWhereAValueIsBad) {
  DevicePlan plan;
  DeviceArray<float> rows(std::vector<float>(plan.plan.rows.size() * kWidth, 1.0F));
  DeviceArray<std::int64_t> sums(std::vector<std::int64_t>(kTable * kWidth, 1000));
  DeviceArray<unsigned> is_bad(std::vector<unsigned>{1});
  ASSERT_EQ(accumulate_rows(plan.arrays(), rows.at(), {sums.at(), kBits, is_bad.at()}, nullptr), kLaunched);
  EXPECT_EQ(sums.values(), std::vector<std::int64_t>(kTable * kWidth, 1000));
}

TEST(EmbeddingKernel, PositionsAreSummedOverTheSequencesInOrder) {
  constexpr std::size_t kSequences = 5, kElements = 12 * kWidth;
  std::mt19937 random(4);
  const std::vector<float> values = normal(random, kSequences * kElements, 1.0F);
  std::vector<float> wanted(kElements);
  std::vector<double> in_float64(kElements);
  for (std::size_t i = 0; i < values.size(); ++i) {
    wanted[i % kElements] += values[i];
    in_float64[i % kElements] += values[i];
  }
  expect_holds_and_faults_are_found([&] {
    DeviceArray<float> from(values), sums(kElements);
    EXPECT_EQ(sum_over_sequences({kSequences, kElements}, from.at(), sums.at(), nullptr), kLaunched);
    return are_same(sums.values(), wanted) && distance(sums.values(), in_float64) < 1e-5;
  });
}

}  // namespace
}  // namespace shoal::gpu
