// Head by head, a block of queries at a time against all keys up to its last one.
#include "model/parts/bf16/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <torch/csrc/autograd/custom_function.h>

#include "model/attention_kernels.h"
#include "model/parts/bf16/float_product.h"

namespace shoal {
namespace {

constexpr std::int64_t kBlock = 64;  // queries; measured: 32 to 128 are alike

// One head of a tensor [B,H,T,D]: rows of D values, `stride` apart.
struct Rows {
  std::uint16_t* values;
  std::int64_t stride;
  std::int64_t width;

  [[nodiscard]] Bf16Operand from(std::int64_t row) const { return {values + row * stride, stride, false}; }
  [[nodiscard]] Bf16Operand transposed() const { return {values, stride, true}; }
  [[nodiscard]] std::span<std::uint16_t> row(std::int64_t index) const {
    return {values + index * stride, static_cast<std::size_t>(width)};
  }
};

Rows head(const at::Tensor& x_BHTD, std::int64_t index) {
  const std::int64_t H = x_BHTD.size(1);
  auto* values = static_cast<std::uint16_t*>(x_BHTD.data_ptr());
  values += index / H * x_BHTD.stride(0) + index % H * x_BHTD.stride(1);
  return {values, std::max(x_BHTD.stride(2), x_BHTD.size(3)), x_BHTD.size(3)};
}

at::Tensor dense_in_heads(const at::Tensor& x_BHTD) { return x_BHTD.stride(3) == 1 ? x_BHTD : x_BHTD.contiguous(); }

at::Tensor empty_as_BTHD(const at::Tensor& x_BHTD) {
  const std::int64_t H = x_BHTD.size(1);
  const std::int64_t T = x_BHTD.size(2);
  const std::int64_t D = x_BHTD.size(3);
  return at::empty_strided(x_BHTD.sizes(), {T * H * D, D, H * D, 1}, at::kBFloat16);
}

// Rows of `width` values for the queries of one block; torch aligns them as it does all tensors.
template <class Value>
class Scratch {
 public:
  Scratch(std::int64_t rows, std::int64_t width)
      : memory_(at::empty({rows * width}, sizeof(Value) == sizeof(float) ? at::kFloat : at::kBFloat16)) {}
  [[nodiscard]] Value* data() const { return static_cast<Value*>(memory_.data_ptr()); }
  // Row of a block that is `width` wide; its first `count` values.
  [[nodiscard]] std::span<Value> row(std::int64_t index, std::int64_t width, std::int64_t count) const {
    return {data() + index * width, static_cast<std::size_t>(count)};
  }

 private:
  at::Tensor memory_;
};

// Clears the weights above the diagonal.
void clear_rest(std::span<std::uint16_t> row, std::int64_t width) {
  std::fill_n(row.data() + row.size(), static_cast<std::size_t>(width) - row.size(), std::uint16_t{0});
}

struct ForwardHead {
  Rows q, k, v, y;
  float* logsumexp;
};

class ForwardBlocks {
 public:
  ForwardBlocks(std::int64_t tokens, std::int64_t width)
      : tokens_(tokens),
        width_(width),
        scores_(std::min(kBlock, tokens), tokens),
        weights_(std::min(kBlock, tokens), tokens),
        y_(std::min(kBlock, tokens), width),
        scale_(1.0F / std::sqrt(static_cast<float>(width))) {}

  void compute(const ForwardHead& of) const {
    for (std::int64_t first = 0; first < tokens_; first += kBlock) {
      compute(of, first, std::min(kBlock, tokens_ - first));
    }
  }

 private:
  void compute(const ForwardHead& of, std::int64_t first, std::int64_t queries) const {
    const std::int64_t keys = first + queries;
    multiply_bf16(of.q.from(first), of.k.transposed(), 0, {scores_.data(), queries, keys, width_});
    float factors[kBlock];
    for (std::int64_t i = 0; i < queries; ++i) {
      const std::int64_t seen = first + i + 1;
      const auto weights = weights_.row(i, keys, seen);
      const SoftmaxRow row = softmax_row(scores_.row(i, keys, seen), scale_, weights);
      clear_rest(weights, keys);
      factors[i] = 1.0F / row.sum;
      of.logsumexp[first + i] = row.peak + std::log(row.sum);
    }
    multiply_bf16({weights_.data(), keys, false}, of.v.from(0), 0, {y_.data(), queries, width_, keys});
    for (std::int64_t i = 0; i < queries; ++i) {
      scale_to_bf16(y_.row(i, width_, width_), factors[i], of.y.row(first + i));
    }
  }

  std::int64_t tokens_, width_;
  Scratch<float> scores_;
  Scratch<std::uint16_t> weights_;
  Scratch<float> y_;
  float scale_;
};

struct BackwardHead {
  Rows q, k, v, y, dy, dq, dk, dv;
  const float* logsumexp;
};

class BackwardBlocks {
 public:
  BackwardBlocks(std::int64_t tokens, std::int64_t width)
      : tokens_(tokens),
        width_(width),
        scores_(std::min(kBlock, tokens), tokens),
        dweights_(std::min(kBlock, tokens), tokens),
        weights_(std::min(kBlock, tokens), tokens),
        dscores_(std::min(kBlock, tokens), tokens),
        dq_(std::min(kBlock, tokens), width),
        dk_(tokens, width),
        dv_(tokens, width),
        scale_(1.0F / std::sqrt(static_cast<float>(width))) {}

  void compute(const BackwardHead& of) const {
    for (const auto* sums : {&dk_, &dv_}) std::fill_n(sums->data(), tokens_ * width_, 0.0F);
    for (std::int64_t first = 0; first < tokens_; first += kBlock) {
      compute(of, first, std::min(kBlock, tokens_ - first));
    }
    for (std::int64_t i = 0; i < tokens_; ++i) {
      scale_to_bf16(dk_.row(i, width_, width_), 1, of.dk.row(i));
      scale_to_bf16(dv_.row(i, width_, width_), 1, of.dv.row(i));
    }
  }

 private:
  void compute(const BackwardHead& of, std::int64_t first, std::int64_t queries) const {
    const std::int64_t keys = first + queries;
    multiply_bf16(of.q.from(first), of.k.transposed(), 0, {scores_.data(), queries, keys, width_});
    multiply_bf16(of.dy.from(first), of.v.transposed(), 0, {dweights_.data(), queries, keys, width_});
    for (std::int64_t i = 0; i < queries; ++i) {
      const std::int64_t seen = first + i + 1;
      const KnownRow row{scale_, of.logsumexp[first + i], dot(of.dy.row(first + i), of.y.row(first + i))};
      const RowGradients to{weights_.row(i, keys, seen), dscores_.row(i, keys, seen)};
      softmax_row_backward(scores_.row(i, keys, seen), dweights_.row(i, keys, seen), row, to);
      clear_rest(to.weights, keys);
      clear_rest(to.dscores, keys);
    }
    multiply_bf16({weights_.data(), keys, true}, of.dy.from(first), 1, {dv_.data(), keys, width_, queries});
    multiply_bf16({dscores_.data(), keys, true}, of.q.from(first), 1, {dk_.data(), keys, width_, queries});
    multiply_bf16({dscores_.data(), keys, false}, of.k.from(0), 0, {dq_.data(), queries, width_, keys});
    for (std::int64_t i = 0; i < queries; ++i) scale_to_bf16(dq_.row(i, width_, width_), 1, of.dq.row(first + i));
  }

  std::int64_t tokens_, width_;
  Scratch<float> scores_, dweights_;
  Scratch<std::uint16_t> weights_, dscores_;
  Scratch<float> dq_, dk_, dv_;
  float scale_;
};

AttentionResult compute(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD, const at::Tensor& v_BHTD) {
  const std::int64_t T = q_BHTD.size(2);
  AttentionResult result{empty_as_BTHD(q_BHTD), at::empty({q_BHTD.size(0), q_BHTD.size(1), T}, at::kFloat)};
  auto* logsumexp = result.logsumexp_BHT.mutable_data_ptr<float>();
  const at::Tensor q = dense_in_heads(q_BHTD);
  const at::Tensor k = dense_in_heads(k_BHTD);
  const at::Tensor v = dense_in_heads(v_BHTD);
  at::parallel_for(0, q.size(0) * q.size(1), 1, [&](std::int64_t begin, std::int64_t end) {
    const ForwardBlocks blocks(T, q.size(3));
    for (std::int64_t i = begin; i < end; ++i) {
      blocks.compute({head(q, i), head(k, i), head(v, i), head(result.y_BHTD, i), logsumexp + i * T});
    }
  });
  return result;
}

struct CausalAttention : torch::autograd::Function<CausalAttention> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const at::Tensor& q,
                                                const at::Tensor& k, const at::Tensor& v) {
    const AttentionResult result = compute(q, k, v);
    context->save_for_backward({q, k, v, result.y_BHTD, result.logsumexp_BHT});
    context->mark_non_differentiable({result.logsumexp_BHT});
    return {result.y_BHTD, result.logsumexp_BHT};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto dx = bf16_attention_backward(gradients[0], {saved[0], saved[1], saved[2]}, {saved[3], saved[4]});
    return {dx.q_BHTD, dx.k_BHTD, dx.v_BHTD};
  }
};

}  // namespace

AttentionResult bf16_attention(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD, const at::Tensor& v_BHTD) {
  const auto made = CausalAttention::apply(q_BHTD, k_BHTD, v_BHTD);
  return {made[0], made[1]};
}

AttentionInputs bf16_attention_backward(const at::Tensor& dy_BHTD, const AttentionInputs& x,
                                        const AttentionResult& result) {
  const std::int64_t T = x.q_BHTD.size(2);
  const AttentionInputs dx{empty_as_BTHD(x.q_BHTD), empty_as_BTHD(x.k_BHTD), empty_as_BTHD(x.v_BHTD)};
  const at::Tensor q = dense_in_heads(x.q_BHTD);
  const at::Tensor k = dense_in_heads(x.k_BHTD);
  const at::Tensor v = dense_in_heads(x.v_BHTD);
  const at::Tensor dy = dense_in_heads(dy_BHTD);
  const auto* logsumexp = result.logsumexp_BHT.const_data_ptr<float>();
  at::parallel_for(0, q.size(0) * q.size(1), 1, [&](std::int64_t begin, std::int64_t end) {
    const BackwardBlocks blocks(T, q.size(3));
    for (std::int64_t i = begin; i < end; ++i) {
      blocks.compute({head(q, i), head(k, i), head(v, i), head(result.y_BHTD, i), head(dy, i), head(dx.q_BHTD, i),
                      head(dx.k_BHTD, i), head(dx.v_BHTD, i), logsumexp + i * T});
    }
  });
  return dx;
}

}  // namespace shoal
