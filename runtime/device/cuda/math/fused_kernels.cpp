// Shapes and memory of each launch.
#include "runtime/device/cuda/math/fused_kernels.h"

#include <algorithm>
#include <span>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "runtime/device/cuda/kernels/bias.h"
#include "runtime/device/cuda/kernels/dropout.h"
#include "runtime/device/cuda/kernels/embedding.h"
#include "runtime/device/cuda/kernels/gelu.h"
#include "runtime/device/cuda/kernels/residual_norm.h"
#include "runtime/device/cuda/kernels/swiglu.h"
#include "runtime/device/cuda/math/launched.h"

namespace shoal {
namespace {

using gpu::Bf16;

at::Tensor floats(std::int64_t count, const at::Tensor& beside) {
  return at::empty({count}, beside.options().dtype(at::kFloat));
}

gpu::GeluShape gelu_shape(const at::Tensor& x) {
  const auto width = static_cast<std::size_t>(x.size(-1));
  return {count_of(x) / width, width};
}

template <class T>
gpu::LaunchError gelu(const at::Tensor& x, const at::Tensor& bias, const at::Tensor& y, gpu::Stream stream) {
  const gpu::GeluForward<T> arrays{read_from<T>(x), read_from<float>(bias), written_to<T>(y)};
  return gpu::gelu_forward(gelu_shape(x), arrays, stream);
}

struct GeluGradient {
  at::Tensor x, bias, dy, dx, dbias, parts;
};

template <class T>
gpu::LaunchError gelu_backward(const GeluGradient& of, gpu::Stream stream) {
  const gpu::GeluBackward<T> arrays{read_from<T>(of.x),   read_from<float>(of.bias),   read_from<T>(of.dy),
                                    written_to<T>(of.dx), written_to<float>(of.dbias), written_to<float>(of.parts)};
  return gpu::gelu_backward(gelu_shape(of.x), arrays, stream);
}

template <class T>
gpu::LaunchError swiglu(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& y, gpu::Stream stream) {
  const gpu::SwigluForward<T> arrays{read_from<T>(gate), read_from<T>(up), written_to<T>(y)};
  return gpu::swiglu_forward(count_of(y), arrays, stream);
}

struct SwigluGradient {
  at::Tensor gate, up, dy, dgate, dup;
};

template <class T>
gpu::LaunchError swiglu_backward(const SwigluGradient& of, gpu::Stream stream) {
  const gpu::SwigluBackward<T> arrays{read_from<T>(of.gate), read_from<T>(of.up), read_from<T>(of.dy),
                                      written_to<T>(of.dgate), written_to<T>(of.dup)};
  return gpu::swiglu_backward(count_of(of.dy), arrays, stream);
}

gpu::NormShape norm_shape(const FusedMath::NormWeights& norm, const at::Tensor& x) {
  const auto width = static_cast<std::size_t>(x.size(-1));
  const auto rule = norm.kind == NormKind::kLayer ? gpu::NormRule::kLayer : gpu::NormRule::kRms;
  return {rule, count_of(x) / width, width, static_cast<float>(norm.eps)};
}

at::Tensor dense(const at::Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : tensor; }

}  // namespace

bool FusedKernels::takes_norm_of(std::int64_t width) const {
  return gpu::takes_norm_of(static_cast<std::size_t>(width));
}

bool FusedKernels::takes_hidden_of(std::int64_t width) const { return width % 8 == 0; }

at::Tensor FusedKernels::bias_gelu(const at::Tensor& x, const at::Tensor& bias) const {
  const at::Tensor from = x.contiguous();
  at::Tensor y = at::empty_like(from);
  const bool is_float = x.scalar_type() == at::kFloat;
  check_launched(is_float ? gelu<float>(from, bias, y, queue_->stream()) : gelu<Bf16>(from, bias, y, queue_->stream()),
                 "gelu_forward");
  return y;
}

FusedMath::BiasedGradient FusedKernels::bias_gelu_backward(const at::Tensor& x, const at::Tensor& bias,
                                                           const at::Tensor& dy) const {
  const auto parts = static_cast<std::int64_t>(gpu::gelu_parts(gelu_shape(x)));
  ENSURE(dy.scalar_type() == x.scalar_type(), "a gradient of the values' type");
  GeluGradient of{x.contiguous(), bias, dy.contiguous(), {}, at::empty_like(bias), floats(parts, bias)};
  of.dx = at::empty_like(of.dy);
  const bool is_float = x.scalar_type() == at::kFloat;
  check_launched(is_float ? gelu_backward<float>(of, queue_->stream()) : gelu_backward<Bf16>(of, queue_->stream()),
                 "gelu_backward");
  return {of.dx, of.dbias};
}

at::Tensor FusedKernels::bias_gradient(const at::Tensor& dy_NO) const {
  const at::Tensor dy = dy_NO.contiguous();
  const gpu::BiasShape shape{static_cast<std::size_t>(dy.size(0)), static_cast<std::size_t>(dy.size(1))};
  at::Tensor dbias = floats(dy.size(1), dy);
  const at::Tensor parts = floats(static_cast<std::int64_t>(gpu::bias_parts(shape)), dy);
  const auto launched = [&]<class T>(T) {
    const gpu::BiasArrays<T> arrays{read_from<T>(dy), written_to<float>(dbias), written_to<float>(parts)};
    return gpu::bias_gradient(shape, arrays, queue_->stream());
  };
  check_launched(dy.scalar_type() == at::kFloat ? launched(float{}) : launched(Bf16{}), "bias_gradient");
  return dbias;
}

at::Tensor FusedKernels::swiglu(const at::Tensor& gate, const at::Tensor& up) const {
  const at::Tensor g = gate.contiguous(), u = up.contiguous();
  at::Tensor y = at::empty_like(g);
  const bool is_float = g.scalar_type() == at::kFloat;
  check_launched(
      is_float ? shoal::swiglu<float>(g, u, y, queue_->stream()) : shoal::swiglu<Bf16>(g, u, y, queue_->stream()),
      "swiglu_forward");
  return y;
}

FusedMath::GatedGradient FusedKernels::swiglu_backward(const at::Tensor& gate, const at::Tensor& up,
                                                       const at::Tensor& dy) const {
  ENSURE(dy.scalar_type() == gate.scalar_type(), "a gradient of the values' type");
  SwigluGradient of{gate.contiguous(), up.contiguous(), dy.contiguous(), {}, {}};
  of.dgate = at::empty_like(of.gate);
  of.dup = at::empty_like(of.up);
  const bool is_float = of.gate.scalar_type() == at::kFloat;
  check_launched(is_float ? shoal::swiglu_backward<float>(of, queue_->stream())
                          : shoal::swiglu_backward<Bf16>(of, queue_->stream()),
                 "swiglu_backward");
  return {of.dgate, of.dup};
}

at::Tensor FusedKernels::drop(const at::Tensor& x_BTC, const Dropout& dropout,
                              const std::vector<std::uint64_t>& streams) const {
  const at::Tensor x = x_BTC.contiguous();
  at::Tensor y = at::empty_like(x);
  const at::Tensor sent = queue_->host_memory({static_cast<std::int64_t>(streams.size())}, at::kLong);
  std::ranges::copy(streams, static_cast<std::uint64_t*>(sent.mutable_data_ptr()));
  const at::Tensor there = sent.to(x.device(), true);
  const gpu::DropoutShape shape{streams.size(), count_of(x) / streams.size()};
  const gpu::DropoutDraw draw{dropout.seed, dropout.step, dropout.threshold(), dropout.kept()};
  const auto launched = [&]<class T>(T) {
    const gpu::DropoutArrays<T> arrays{read_from<T>(x), read_from<std::uint64_t>(there), written_to<T>(y)};
    return gpu::drop(shape, draw, arrays, queue_->stream());
  };
  check_launched(x.scalar_type() == at::kFloat ? launched(float{}) : launched(Bf16{}), "drop");
  return y;
}

FusedMath::NormResult FusedKernels::residual_norm(const NormWeights& norm, const at::Tensor& x,
                                                  const at::Tensor& branch) const {
  const at::Tensor from = x.contiguous();
  const at::Tensor added = branch.defined() ? branch.to(norm.y).contiguous() : branch;
  const gpu::NormShape shape = norm_shape(norm, from);
  const auto rows = static_cast<std::int64_t>(shape.rows);
  NormResult result;
  result.sum = added.defined() ? at::empty_like(from) : from;
  result.y = at::empty_like(from, from.options().dtype(norm.y));
  result.mean = floats(norm.kind == NormKind::kLayer ? rows : 0, from);
  result.rstd = floats(rows, from);
  const auto launched = [&]<class T>(T) {
    gpu::NormForward<T> arrays;
    arrays.x_NC = read_from<float>(from);
    arrays.branch_NC = read_from<T>(added);
    arrays.weight_C = read_from<float>(norm.weight);
    arrays.bias_C = read_from<float>(norm.bias);
    if (added.defined()) arrays.sum_NC = written_to<float>(result.sum);
    arrays.y_NC = written_to<T>(result.y);
    arrays.mean_N = written_to<float>(result.mean);
    arrays.rstd_N = written_to<float>(result.rstd);
    return gpu::residual_norm(shape, arrays, queue_->stream());
  };
  check_launched(norm.y == at::kFloat ? launched(float{}) : launched(Bf16{}), "residual_norm");
  return result;
}

FusedMath::NormGradient FusedKernels::residual_norm_backward(const NormWeights& norm, const NormResult& kept,
                                                             const at::Tensor& dy, const at::Tensor& around) const {
  const gpu::NormShape shape = norm_shape(norm, kept.sum);
  const at::Tensor above = dy.contiguous();
  const at::Tensor beside = dense(around);
  const at::Tensor parts = floats(static_cast<std::int64_t>(gpu::norm_parts(shape)), kept.sum);
  NormGradient result{at::empty_like(kept.sum), at::empty_like(norm.weight), {}, {}};
  if (norm.bias.defined()) result.dbias = at::empty_like(norm.bias);
  if (norm.y == at::kBFloat16) result.copy = at::empty_like(kept.sum, kept.sum.options().dtype(at::kBFloat16));
  const auto launched = [&]<class T>(T) {
    gpu::NormBackward<T> arrays;
    arrays.sum_NC = read_from<float>(kept.sum);
    arrays.mean_N = read_from<float>(kept.mean);
    arrays.rstd_N = read_from<float>(kept.rstd);
    arrays.weight_C = read_from<float>(norm.weight);
    arrays.dy_NC = read_from<T>(above);
    arrays.around_NC = read_from<float>(beside);
    arrays.dx_NC = written_to<float>(result.dx);
    arrays.copy_NC = written_to<Bf16>(result.copy);
    arrays.dweight_C = written_to<float>(result.dweight);
    arrays.dbias_C = written_to<float>(result.dbias);
    arrays.parts = written_to<float>(parts);
    return gpu::residual_norm_backward(shape, arrays, queue_->stream());
  };
  check_launched(dy.scalar_type() == at::kFloat ? launched(float{}) : launched(Bf16{}), "residual_norm_backward");
  return result;
}

// Rows, pieces, starts and positions travel in one copy.
at::Tensor FusedKernels::embedding_gradient(const at::Tensor& dy_BTC, const at::Tensor& tokens_BT,
                                            std::int64_t rows) const {
  ENSURE(tokens_BT.is_cpu() && tokens_BT.scalar_type() == at::kInt, "tokens are int32, on the host");
  const at::Tensor tokens = tokens_BT.contiguous();
  const gpu::EmbeddingPlan plan = gpu::embedding_plan({tokens.const_data_ptr<std::int32_t>(), count_of(tokens)});
  const std::size_t words = plan.rows.size() + plan.pieces.size() + plan.starts.size() + plan.positions.size();
  const at::Tensor sent = queue_->host_memory({static_cast<std::int64_t>(words)}, at::kInt);
  std::int32_t* to = sent.mutable_data_ptr<std::int32_t>();
  for (const auto* list : {&plan.rows, &plan.pieces, &plan.starts, &plan.positions}) {
    to = std::ranges::copy(*list, to).out;
  }
  const at::Tensor there = sent.to(dy_BTC.device(), true);
  const auto* first = read_from<std::int32_t>(there);
  const auto width = static_cast<std::size_t>(dy_BTC.size(-1));
  const auto* pieces = first + plan.rows.size();
  const auto* starts = pieces + plan.pieces.size();
  const gpu::EmbeddingRows list{
      first, pieces, starts, starts + plan.starts.size(), plan.rows.size(), plan.piece_count(), width};
  const at::Tensor dy = dy_BTC.contiguous();
  const at::Tensor sums = floats(static_cast<std::int64_t>(plan.piece_count() * width), dy);
  at::Tensor table = at::zeros({rows, dy_BTC.size(-1)}, dy.options());
  check_launched(gpu::sum_pieces(list, read_from<float>(dy), written_to<float>(sums), queue_->stream()), "sum_pieces");
  check_launched(gpu::scatter_rows(list, read_from<float>(sums), written_to<float>(table), queue_->stream()),
                 "scatter_rows");
  return table;
}

at::Tensor FusedKernels::sum_over_sequences(const at::Tensor& dy_BTC) const {
  const at::Tensor dy = dy_BTC.contiguous();
  at::Tensor sums = at::empty({dy.size(1), dy.size(2)}, dy.options());
  const gpu::SequenceShape shape{static_cast<std::size_t>(dy.size(0)), count_of(sums)};
  check_launched(gpu::sum_over_sequences(shape, read_from<float>(dy), written_to<float>(sums), queue_->stream()),
                 "sum_over_sequences");
  return sums;
}

}  // namespace shoal
