// Kernels of the embedding's backward: each piece of a row's positions is summed in order, then the pieces, without
// atomics.
//
// The host knows the tokens: it sorts the positions by token (embedding_plan()), and the device sums what belongs to a
// row. Only touched rows are made: [rows, C], not [V, C]. Positions of a frequent token are cut into pieces, so that no
// thread adds thousands one after the other. A row of one piece has the bits of the CPU's operator, which adds
// positions in order too.
#pragma once

#include <span>
#include <vector>

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

inline constexpr std::size_t kPiecePositions = 256;  // of a piece at most

struct EmbeddingPlan {
  std::vector<std::int32_t> rows;       // touched rows of the table, ascending
  std::vector<std::int32_t> pieces;     // where each one's pieces begin; one more at the end
  std::vector<std::int32_t> starts;     // where each piece's positions begin; one more at the end
  std::vector<std::int32_t> positions;  // of all rows, ascending within each
  [[nodiscard]] std::size_t piece_count() const { return starts.size() - 1; }
};
// tokens: [N], each >= 0.
[[nodiscard]] EmbeddingPlan embedding_plan(std::span<const std::int32_t> tokens);

// The same arrays on the device.
struct EmbeddingRows {
  const std::int32_t* rows = nullptr;
  const std::int32_t* pieces = nullptr;
  const std::int32_t* starts = nullptr;
  const std::int32_t* positions = nullptr;
  std::size_t row_count = 0;
  std::size_t piece_count = 0;  // P
  std::size_t width = 0;        // C
};
// sums_PC[p] = the sum of gradient_NC over the piece's positions, in order.
[[nodiscard]] LaunchError sum_pieces(const EmbeddingRows& plan, const float* gradient_NC, float* sums_PC,
                                     Stream stream);
// table_VC[rows[r], c] = the sum of the row's pieces in order; other rows stay as they are.
[[nodiscard]] LaunchError scatter_rows(const EmbeddingRows& plan, const float* sums_PC, float* table_VC, Stream stream);

struct SequenceShape {
  std::size_t sequences = 0;  // B
  std::size_t elements = 0;   // T C
};
// The gradient of learned positions: sums[i] = gradient[0, i] + gradient[1, i] + ..., in order.
[[nodiscard]] LaunchError sum_over_sequences(const SequenceShape& shape, const float* gradient, float* sums,
                                             Stream stream);

}  // namespace shoal::gpu
