// The embedding's backward by kernels: rows summed in the order of positions, against float64.
#include "runtime/device/cuda/kernels/embedding.h"

#include <utility>

#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::embedding_test {
namespace {

constexpr std::size_t kTokens = 600, kWidth = 70, kTable = 23;

const std::vector<std::int32_t>& tokens() {
  static const std::vector<std::int32_t> kDrawn = [] {
    std::mt19937 random(2);
    std::vector<std::int32_t> drawn(kTokens);
    for (auto& token : drawn) token = static_cast<std::int32_t>(random() % kTable);
    for (std::size_t i = 0; i < 290; ++i) drawn[2 * i] = 5;  // more than a piece
    drawn[0] = drawn[kTokens - 1] = 22;
    return drawn;
  }();
  return kDrawn;
}

const std::vector<float>& gradient() {
  static std::mt19937 random(3);
  static const std::vector<float> kDrawn = normal(random, kTokens * kWidth, 1.0F);
  return kDrawn;
}

// Of the whole table: position after position, as the CPU's operator adds them, but for pieces of their own sums.
template <class T>
std::vector<T> added_in_order() {
  std::vector<T> table(kTable * kWidth), piece(kTable * kWidth);
  std::vector<std::size_t> of_piece(kTable);
  const auto end_piece = [&](std::size_t row) {
    for (std::size_t i = row * kWidth; i < (row + 1) * kWidth; ++i) table[i] += std::exchange(piece[i], T{});
    of_piece[row] = 0;
  };
  for (std::size_t i = 0; i < kTokens; ++i) {
    const auto row = static_cast<std::size_t>(tokens()[i]);
    for (std::size_t c = 0; c < kWidth; ++c) piece[row * kWidth + c] += static_cast<T>(gradient()[i * kWidth + c]);
    if (++of_piece[row] == kPiecePositions) end_piece(row);
  }
  for (std::size_t row = 0; row < kTable; ++row) end_piece(row);
  return table;
}

// A plan's arrays on the device.
struct DevicePlan {
  EmbeddingPlan plan = embedding_plan(tokens());
  DeviceArray<std::int32_t> rows{plan.rows}, pieces{plan.pieces}, starts{plan.starts}, positions{plan.positions};
  [[nodiscard]] EmbeddingRows arrays() {
    return {rows.at(), pieces.at(), starts.at(), positions.at(), plan.rows.size(), plan.piece_count(), kWidth};
  }
};

TEST(EmbeddingPlan, GroupsPositionsByTokenAndKeepsTheirOrder) {
  const EmbeddingPlan plan = embedding_plan(std::vector<std::int32_t>{5, 2, 5, 9, 2, 5});
  EXPECT_EQ(plan.rows, (std::vector<std::int32_t>{2, 5, 9}));
  EXPECT_EQ(plan.pieces, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(plan.starts, (std::vector<std::int32_t>{0, 2, 5, 6}));
  EXPECT_EQ(plan.positions, (std::vector<std::int32_t>{1, 4, 0, 2, 5, 3}));
  EXPECT_EQ(embedding_plan({}).starts, std::vector<std::int32_t>{0});
}

TEST(EmbeddingPlan, CutsPositionsOfAFrequentTokenIntoPieces) {
  constexpr auto kMost = static_cast<std::int32_t>(kPiecePositions);
  std::vector<std::int32_t> all(2 * kPiecePositions, 7);
  EXPECT_EQ(embedding_plan(all).starts, (std::vector<std::int32_t>{0, kMost, 2 * kMost}));
  all.push_back(7);
  all.push_back(8);
  const EmbeddingPlan plan = embedding_plan(all);
  EXPECT_EQ(plan.rows, (std::vector<std::int32_t>{7, 8}));
  EXPECT_EQ(plan.pieces, (std::vector<std::int32_t>{0, 3, 4}));
  EXPECT_EQ(plan.starts, (std::vector<std::int32_t>{0, kMost, 2 * kMost, 2 * kMost + 1, 2 * kMost + 2}));
}

TEST(EmbeddingKernel, SumsRowsInTheOrderOfPositions) {
  const std::vector<float> wanted = added_in_order<float>();
  const std::vector<double> in_float64 = added_in_order<double>();
  expect_holds_and_faults_are_found([&] {
    DevicePlan plan;
    DeviceArray<float> from(gradient()), rows(plan.plan.piece_count() * kWidth),
        table(std::vector<float>(kTable * kWidth));
    EXPECT_EQ(sum_pieces(plan.arrays(), from.at(), rows.at(), nullptr), kLaunched);
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
    DeviceArray<float> from(values), rows(plan.plan.piece_count() * kWide),
        wide_table(std::vector<float>(kTable * kWide));
    EXPECT_EQ(sum_pieces(arrays, from.at(), rows.at(), nullptr), kLaunched);
    EXPECT_EQ(scatter_rows(arrays, rows.at(), wide_table.at(), nullptr), kLaunched);
    const std::vector<float> got = wide_table.values();
    bool holds = true;
    for (std::size_t i = 0; i < kTable * kWidth; ++i) {
      holds &= bits_of(got[i / kWidth * kWide + i % kWidth]) == bits_of(table[i]);
    }
    return holds;
  });
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
}  // namespace shoal::gpu::embedding_test
