// The processor's loops, over buffers of this process.
#include "runtime/device/outer/outer_math.h"

#include <algorithm>
#include <list>

#include "runtime/base/ensure.h"
#include "runtime/device/digest.h"

namespace shoal {
namespace {

class HostOuterMath final : public OuterMath {
 public:
  [[nodiscard]] Values zeros(std::size_t count) override { return buffers_.emplace_back(count).all(); }
  void copy(ConstValues from, Values to) const override {
    ENSURE(from.size() == to.size(), "arrays of one size");
    std::copy(from.begin(), from.end(), to.begin());
  }
  void clear(Values values) const override { std::ranges::fill(values, 0.0F); }

  void delta(ConstValues base, ConstValues local, Values delta) const override { outer_delta(base, local, delta); }
  void nesterov(const OuterCoefficients& coefficients, const OuterTensor& tensor) const override {
    apply_nesterov(coefficients, tensor);
  }
  void average(Values outer, ConstValues gradient) const override { apply_average(outer, gradient); }
  void blend(float mix, ConstValues outer, Values local) const override { shoal::blend(mix, outer, local); }
  void eager_gradient(const EagerWeights& weights, const EagerTensor& tensor) const override {
    shoal::eager_gradient(weights, tensor);
  }

  [[nodiscard]] std::uint64_t digest(const Digested& of) const override {
    Digest digest;
    for (const ConstValues array : of.arrays) {
      for (const std::size_t index : of.tensors) digest.add(std::as_bytes(part_of(array, of.layout.tensors[index])));
    }
    return digest.value();
  }

 private:
  std::list<FlatBuffer<float>> buffers_;
};

}  // namespace

std::unique_ptr<OuterMath> host_outer_math() { return std::make_unique<HostOuterMath>(); }

}  // namespace shoal
