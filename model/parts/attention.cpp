// The fused operator is called by its name: which one a general call would choose, and what it keeps, is not left open.
#include "model/parts/attention.h"

#include <tuple>

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/cat.h>

#include "model/parts/bf16/attention.h"
#include "model/parts/device_attention.h"
#include "model/parts/norm.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

const std::optional<Rotary> kNoRotary;

AttentionResult attend(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD, const at::Tensor& v_BHTD) {
  if (!q_BHTD.is_cpu()) {
    auto [y_BHTD, logsumexp] = attend_on_device(q_BHTD, k_BHTD, v_BHTD);
    return {y_BHTD, logsumexp};
  }
  if (q_BHTD.scalar_type() == at::kBFloat16) return bf16_attention(q_BHTD, k_BHTD, v_BHTD);
  auto [y_BHTD, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(q_BHTD, k_BHTD, v_BHTD, 0.0, true);
  return {y_BHTD, logsumexp};
}

AttentionInputs attend_backward(const at::Tensor& dy_BHTD, const AttentionInputs& x, const AttentionResult& result) {
  if (!x.q_BHTD.is_cpu()) {
    auto [dq_BHTD, dk_BHTD, dv_BHTD] =
        attend_on_device_backward(dy_BHTD, {x.q_BHTD, x.k_BHTD, x.v_BHTD, result.y_BHTD, result.logsumexp_BHT});
    return {dq_BHTD, dk_BHTD, dv_BHTD};
  }
  if (x.q_BHTD.scalar_type() == at::kBFloat16) return bf16_attention_backward(dy_BHTD, x, result);
  auto [dq_BHTD, dk_BHTD, dv_BHTD] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      dy_BHTD, x.q_BHTD, x.k_BHTD, x.v_BHTD, result.y_BHTD, result.logsumexp_BHT, 0.0, true);
  return {dq_BHTD, dk_BHTD, dv_BHTD};
}

}  // namespace

Attention::Attention(const AttentionSpec& spec, const Parameters& parameters)
    : product_type_(parameters.product_type()),
      heads_(spec.heads),
      kv_heads_(spec.kv_heads),
      head_size_(spec.head_size),
      out_(spec.out, parameters, parameters.branch_type()) {
  ENSURE(heads_ % kv_heads_ == 0, "every key serves as many queries");
  ENSURE(spec.in.size() == 1 || spec.in.size() == 3, "queries, keys and values come out of one projection or of three");
  for (const ProjectionSpec& in : spec.in) {
    in_.push_back(std::make_unique<Projection>(in, parameters, product_type_));
  }
  if (spec.query_norm) query_norm_ = make_norm(*spec.query_norm, parameters);
  if (spec.key_norm) key_norm_ = make_norm(*spec.key_norm, parameters);
  if (spec.rotary) rotary_.emplace(*spec.rotary, spec.context, parameters.of(spec.out.weight).value.device());
}

at::Tensor Attention::forward(const at::Tensor& x_BTC, Tape& tape) const {
  const auto parts = project(x_BTC.to(product_type_), tape);
  const at::Tensor q_BHTD = to_heads(parts[0], query_norm_.get(), rotary_, tape);
  const at::Tensor k_BHTD = spread(to_heads(parts[1], key_norm_.get(), rotary_, tape));
  const at::Tensor v_BHTD = spread(to_heads(parts[2], nullptr, kNoRotary, tape));
  const auto [y_BHTD, logsumexp] = attend(q_BHTD, k_BHTD, v_BHTD);
  for (const at::Tensor& kept : {q_BHTD, k_BHTD, v_BHTD, y_BHTD, logsumexp}) tape.keep(kept);
  const at::Tensor y_BTC = y_BHTD.transpose(1, 2).reshape({x_BTC.size(0), x_BTC.size(1), heads_ * head_size_});
  return out_.forward(y_BTC, tape);
}

at::Tensor Attention::backward(const at::Tensor& dy_BTC, Tape& tape, ParameterGradients& gradients) const {
  const at::Tensor d_BTC = out_.backward(dy_BTC, tape, gradients);
  const at::Tensor d_BHTD = d_BTC.view({d_BTC.size(0), d_BTC.size(1), heads_, head_size_}).transpose(1, 2);
  const at::Tensor logsumexp = tape.take();
  const at::Tensor y_BHTD = tape.take();
  const at::Tensor v_BHTD = tape.take();
  const at::Tensor k_BHTD = tape.take();
  const at::Tensor q_BHTD = tape.take();
  const auto [dq_BHTD, dk_BHTD, dv_BHTD] =
      attend_backward(d_BHTD, {q_BHTD, k_BHTD, v_BHTD}, AttentionResult{y_BHTD, logsumexp});
  const at::Tensor dv = from_heads(gather(dv_BHTD), nullptr, kNoRotary, tape, gradients);
  const at::Tensor dk = from_heads(gather(dk_BHTD), key_norm_.get(), rotary_, tape, gradients);
  const at::Tensor dq = from_heads(dq_BHTD, query_norm_.get(), rotary_, tape, gradients);
  return unproject({dq, dk, dv}, tape, gradients);
}

std::vector<at::Tensor> Attention::project(const at::Tensor& x_BTC, Tape& tape) const {
  if (in_.size() == 1) return in_[0]->forward(x_BTC, tape).split(heads_ * head_size_, 2);
  std::vector<at::Tensor> parts;
  for (const auto& in : in_) parts.push_back(in->forward(x_BTC, tape));
  return parts;
}

at::Tensor Attention::unproject(const std::vector<at::Tensor>& gradients_BTC, Tape& tape,
                                ParameterGradients& gradients) const {
  if (in_.size() == 1) return in_[0]->backward(at::cat(gradients_BTC, 2), tape, gradients);
  at::Tensor dx = in_[2]->backward(gradients_BTC[2], tape, gradients);
  dx = dx.add(in_[1]->backward(gradients_BTC[1], tape, gradients));
  return dx.add(in_[0]->backward(gradients_BTC[0], tape, gradients));
}

at::Tensor Attention::to_heads(const at::Tensor& x_BTC, const ModelPart* norm, const std::optional<Rotary>& rotary,
                               Tape& tape) const {
  at::Tensor x = x_BTC.view({x_BTC.size(0), x_BTC.size(1), -1, head_size_});
  if (norm != nullptr) x = norm->forward(x.to(at::kFloat), tape);
  x = x.transpose(1, 2);
  return rotary ? rotary->forward(x.to(at::kFloat)).to(product_type_) : x.to(product_type_);
}

at::Tensor Attention::from_heads(const at::Tensor& dy_BHTD, const ModelPart* norm, const std::optional<Rotary>& rotary,
                                 Tape& tape, ParameterGradients& gradients) const {
  at::Tensor d = (rotary ? rotary->backward(dy_BHTD.to(at::kFloat)) : dy_BHTD).transpose(1, 2);
  if (norm != nullptr) d = norm->backward(d.to(at::kFloat), tape, gradients);
  return d.to(product_type_).reshape({d.size(0), d.size(1), d.size(2) * d.size(3)});
}

at::Tensor Attention::spread(const at::Tensor& x_BHTD) const {
  if (kv_heads_ == heads_) return x_BHTD;
  const auto sizes = x_BHTD.sizes();
  const at::Tensor grouped = x_BHTD.unsqueeze(2).expand({sizes[0], kv_heads_, heads_ / kv_heads_, sizes[2], sizes[3]});
  return grouped.reshape({sizes[0], heads_, sizes[2], sizes[3]});
}

at::Tensor Attention::gather(const at::Tensor& dy_BHTD) const {
  if (kv_heads_ == heads_) return dy_BHTD;
  const auto sizes = dy_BHTD.sizes();
  return dy_BHTD.reshape({sizes[0], kv_heads_, heads_ / kv_heads_, sizes[2], sizes[3]}).sum(2);
}

}  // namespace shoal
