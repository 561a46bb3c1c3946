// Binds the kernel to autograd.
#include "model/parts/bf16/swiglu.h"

#include <cstdint>
#include <span>

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "model/activation_kernels.h"

namespace shoal {
namespace {

constexpr std::int64_t kGrain = 32768;  // elements per task of torch's threads

std::span<const std::uint16_t> part(const at::Tensor& x, std::int64_t begin, std::int64_t end) {
  return {static_cast<const std::uint16_t*>(x.const_data_ptr()) + begin, static_cast<std::size_t>(end - begin)};
}
std::span<std::uint16_t> part_to_write(const at::Tensor& x, std::int64_t begin, std::int64_t end) {
  return {static_cast<std::uint16_t*>(x.mutable_data_ptr()) + begin, static_cast<std::size_t>(end - begin)};
}

struct Swiglu : torch::autograd::Function<Swiglu> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gate, const at::Tensor& up) {
    const at::Tensor g = gate.contiguous();
    const at::Tensor u = up.contiguous();
    context->save_for_backward({g, u});
    at::Tensor y = at::empty_like(g);
    at::parallel_for(0, g.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      swiglu_forward({part(g, begin, end), part(u, begin, end)}, part_to_write(y, begin, end));
    });
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto [dgate, dup] = bf16_swiglu_backward(saved[0], saved[1], gradients[0]);
    return {dgate, dup};
  }
};

}  // namespace

at::Tensor bf16_swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (gate.is_cpu()) return Swiglu::apply(gate, up);
  return at::silu(gate.to(at::kFloat)).mul(up).to(at::kBFloat16);
}

std::pair<at::Tensor, at::Tensor> bf16_swiglu_backward(const at::Tensor& gate, const at::Tensor& up,
                                                       const at::Tensor& dy) {
  if (!gate.is_cpu()) {
    const at::Tensor wide = gate.to(at::kFloat);
    const at::Tensor dup = at::silu(wide).mul(dy).to(at::kBFloat16);
    return {at::silu_backward(dy.to(at::kFloat).mul(up), wide).to(at::kBFloat16), dup};
  }
  const at::Tensor g = gate.contiguous();
  const at::Tensor u = up.contiguous();
  const at::Tensor d = dy.contiguous();
  at::Tensor dgate = at::empty_like(g);
  at::Tensor dup = at::empty_like(g);
  at::parallel_for(0, g.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    swiglu_backward({part(g, begin, end), part(u, begin, end)}, part(d, begin, end),
                    {part_to_write(dgate, begin, end), part_to_write(dup, begin, end)});
  });
  return {dgate, dup};
}

}  // namespace shoal
