// Products of bf16 matrices with a result in float32, by torch's BLAS: torch has no operator for it on the CPU.
// Sums are made in float32, so that nothing of a long one is rounded away to bf16.
#pragma once

#include <cstdint>

namespace shoal {

// Rows in memory, `stride` values apart; or, transposed, the columns of the operand.
struct Bf16Operand {
  const std::uint16_t* values = nullptr;
  std::int64_t stride = 0;
  bool is_transposed = false;
};

// Rows in memory.
struct FloatProduct {
  float* values = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;  // columns of the left operand
};

// to = a b + beta to. Ensures that torch's BLAS can do it, and that sizes are an int's. beta 0: `to` is not read.
void multiply_bf16(const Bf16Operand& a, const Bf16Operand& b, float beta, const FloatProduct& to);

}  // namespace shoal
