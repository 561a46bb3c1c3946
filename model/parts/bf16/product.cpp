// Results in bf16 are torch's products (oneDNN); results in float32 are those of torch's BLAS, which has no operator.
#include "model/parts/bf16/product.h"

#include "runtime/base/ensure.h"

#include <ATen/Parallel.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "model/activation_kernels.h"
#include "model/parts/bf16/float_product.h"

namespace shoal {
namespace {

constexpr std::int64_t kColumnsOfATask = 256;

// A matrix as BLAS takes it: rows in memory, or the transpose of such a one.
class Operand {
 public:
  explicit Operand(const at::Tensor& matrix) : is_transposed_(!matrix.is_contiguous()) {
    ENSURE(matrix.dim() == 2 && matrix.scalar_type() == at::kBFloat16, "a matrix in bf16");
    rows_ = is_transposed_ ? matrix.t().contiguous() : matrix;  // copies nothing where it is the transpose of rows
  }
  [[nodiscard]] Bf16Operand view() const {
    return {static_cast<const std::uint16_t*>(rows_.const_data_ptr()), rows_.size(1), is_transposed_};
  }

 private:
  at::Tensor rows_;
  bool is_transposed_;
};

// sum = a b + beta sum; float32, rows in memory.
void float_product_into(const at::Tensor& a, const at::Tensor& b, float beta, const at::Tensor& sum) {
  const Operand left(a);
  const Operand right(b);
  multiply_bf16(left.view(), right.view(), beta, {sum.mutable_data_ptr<float>(), sum.size(0), sum.size(1), a.size(1)});
}

at::Tensor float_product(const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_cpu()) return at::mm(a, b, at::kFloat);  // cuBLAS has it; the CPU's torch has not
  const at::Tensor product = at::empty({a.size(0), b.size(1)}, at::kFloat);
  float_product_into(a, b, 0, product);
  return product;
}

at::Tensor in_out(const at::Tensor& weight, Orientation orientation) {
  return orientation == Orientation::kInOut ? weight : weight.t();
}

// Everything that a product is asked for, beside x.
struct ProductOrder {
  Bf16Factor weight;
  std::optional<Bf16Factor> bias;
  Orientation orientation;
  at::ScalarType result;
};

at::Tensor compute(const at::Tensor& x_NI, const ProductOrder& order) {
  const auto& bias = order.bias;
  const at::Tensor weight_IO = in_out(order.weight.copy, order.orientation);
  if (order.result == at::kBFloat16) return bias ? at::addmm(bias->copy, x_NI, weight_IO) : at::mm(x_NI, weight_IO);
  if (!bias) return float_product(x_NI, weight_IO);
  if (!x_NI.is_cpu()) return float_product(x_NI, weight_IO).add_(bias->value.detach());
  const at::Tensor y_NO = at::empty({x_NI.size(0), weight_IO.size(1)}, at::kFloat);
  y_NO.copy_(bias->value.detach());  // to every row
  float_product_into(x_NI, weight_IO, 1, y_NO);
  return y_NO;
}

struct Product : torch::autograd::Function<Product> {
  // weight_value and bias_value are what autograd gives the gradients to.
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x_NI,
                            const at::Tensor& /*weight_value*/, const std::optional<at::Tensor>& bias_value,
                            const ProductOrder& order) {
    context->save_for_backward({x_NI, order.weight.copy});
    context->saved_data["is_in_out"] = order.orientation == Orientation::kInOut;
    context->saved_data["has_bias"] = bias_value.has_value();
    return compute(x_NI, order);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const bool is_in_out = context->saved_data["is_in_out"].toBool();
    const Orientation orientation = is_in_out ? Orientation::kInOut : Orientation::kOutIn;
    const at::Tensor dy_NO = gradients[0].to(at::kBFloat16);
    const at::Tensor db = context->saved_data["has_bias"].toBool() ? bf16_bias_gradient(dy_NO) : at::Tensor();
    return {
        bf16_input_gradient(dy_NO, saved[1], orientation), bf16_weight_gradient(saved[0], dy_NO, orientation), db, {}};
  }
};

}  // namespace

at::Tensor bf16_product(const at::Tensor& x_NI, const Bf16Factor& weight, const std::optional<Bf16Factor>& bias,
                        Orientation orientation, at::ScalarType result) {
  const auto bias_value = bias ? std::optional<at::Tensor>(bias->value) : std::nullopt;
  return Product::apply(x_NI, weight.value, bias_value, ProductOrder{weight, bias, orientation, result});
}

at::Tensor bf16_input_gradient(const at::Tensor& dy_NO, const at::Tensor& weight, Orientation orientation) {
  return at::mm(dy_NO, in_out(weight, orientation).t());
}

at::Tensor bf16_weight_gradient(const at::Tensor& x_NI, const at::Tensor& dy_NO, Orientation orientation) {
  return orientation == Orientation::kInOut ? float_product(x_NI.t(), dy_NO) : float_product(dy_NO.t(), x_NI);
}

at::Tensor bf16_bias_gradient(const at::Tensor& dy_NO) {
  if (!dy_NO.is_cpu()) return dy_NO.sum({0}, false, at::kFloat);
  const at::Tensor rows = dy_NO.contiguous();
  const at::Tensor sums = at::empty({rows.size(1)}, at::kFloat);
  const Bf16Matrix matrix{static_cast<const std::uint16_t*>(rows.const_data_ptr()),
                          static_cast<std::size_t>(rows.size(0)), static_cast<std::size_t>(rows.size(1))};
  auto* to = sums.mutable_data_ptr<float>();
  at::parallel_for(0, rows.size(1), kColumnsOfATask, [&](std::int64_t begin, std::int64_t end) {
    sum_columns(matrix, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), to);
  });
  return sums;
}

}  // namespace shoal
