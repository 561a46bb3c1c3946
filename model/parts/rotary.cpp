// Tables once, then two products and a sum.
#include "model/parts/rotary.h"

#include <cmath>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

namespace shoal {
namespace {

// (a, b) -> (-b, a), halves of the last dimension.
at::Tensor turn(const at::Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  return at::cat({x.narrow(-1, half, half).neg(), x.narrow(-1, 0, half)}, -1);
}

// Its transpose: (a, b) -> (b, -a).
at::Tensor turn_back(const at::Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  return at::cat({x.narrow(-1, half, half), x.narrow(-1, 0, half).neg()}, -1);
}

}  // namespace

Rotary::Rotary(const RotarySpec& spec, std::int64_t context, at::Device device)
    : cosines_TD_(at::empty({context, spec.head_size}, at::kFloat)),
      sines_TD_(at::empty({context, spec.head_size}, at::kFloat)) {
  const std::vector<float> frequencies = rotary_frequencies(spec);
  auto* cosine = cosines_TD_.mutable_data_ptr<float>();
  auto* sine = sines_TD_.mutable_data_ptr<float>();
  for (std::int64_t position = 0; position < context; ++position) {
    for (std::int64_t i = 0; i < spec.head_size; ++i) {
      const float frequency = frequencies[static_cast<std::size_t>(i) % frequencies.size()];
      const double angle = static_cast<float>(position) * frequency;
      *cosine++ = static_cast<float>(std::cos(angle));
      *sine++ = static_cast<float>(std::sin(angle));
    }
  }
  cosines_TD_ = cosines_TD_.to(device);
  sines_TD_ = sines_TD_.to(device);
}

at::Tensor Rotary::forward(const at::Tensor& x_BHTD) const {
  const std::int64_t T = x_BHTD.size(2);
  return x_BHTD.mul(cosines_TD_.narrow(0, 0, T)).add(turn(x_BHTD).mul(sines_TD_.narrow(0, 0, T)));
}

at::Tensor Rotary::backward(const at::Tensor& dy_BHTD) const {
  const std::int64_t T = dy_BHTD.size(2);
  const at::Tensor turned = turn_back(dy_BHTD.mul(sines_TD_.narrow(0, 0, T)));
  return turned.add(dy_BHTD.mul(cosines_TD_.narrow(0, 0, T)));  // dense in this order, as autograd's sum is
}

}  // namespace shoal
