// Passes the operands on by CBLAS's conventions.
#include "model/parts/bf16/float_product.h"

#include <algorithm>
#include <limits>

#include "runtime/base/ensure.h"

// MKL's, out of torch's library: C = alpha A B + beta C; the first three are CBLAS's codes. A torch for another kind of
// processor is built without it.
extern "C" __attribute__((weak)) void cblas_gemm_bf16bf16f32(int layout, int of_a, int of_b, int rows, int columns,
                                                             int inner, float alpha, const std::uint16_t* a,
                                                             int a_stride, const std::uint16_t* b, int b_stride,
                                                             float beta, float* c, int c_stride);

namespace shoal {
namespace {

constexpr int kRowMajor = 101;

int code(const Bf16Operand& operand) { return operand.is_transposed ? 112 : 111; }

int size(std::int64_t extent) {
  ENSURE(extent >= 0 && extent <= std::numeric_limits<int>::max(), "a size that BLAS can take");
  return static_cast<int>(extent);
}

}  // namespace

void multiply_bf16(const Bf16Operand& a, const Bf16Operand& b, float beta, const FloatProduct& to) {
  ENSURE(cblas_gemm_bf16bf16f32 != nullptr, "this torch's BLAS multiplies no bf16; take model.precision = \"fp32\"");
  cblas_gemm_bf16bf16f32(kRowMajor, code(a), code(b), size(to.rows), size(to.columns), size(to.inner), 1, a.values,
                         size(a.stride), b.values, size(b.stride), beta, to.values, size(to.columns));
}

}  // namespace shoal
