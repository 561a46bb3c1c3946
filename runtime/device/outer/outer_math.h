// OuterArithmetic is that of model/outer_kernels.h, on the processor or on a device, with the same bits on both:
// members of a stage need equal ones (S-3). OuterMath is the same with the memory in which the outer parameters lie.
//
// Arrays are float32. Those of a device are addresses that the host does not read. Torch-free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/outer_kernels.h"
#include "runtime/device/flat_layout.h"

namespace shoal {

class OuterArithmetic {
 public:
  using Values = std::span<float>;
  using ConstValues = std::span<const float>;

  OuterArithmetic() = default;
  OuterArithmetic(const OuterArithmetic&) = delete;
  OuterArithmetic& operator=(const OuterArithmetic&) = delete;
  virtual ~OuterArithmetic() = default;

  virtual void delta(ConstValues base, ConstValues local, Values delta) const = 0;
  virtual void nesterov(const OuterCoefficients& coefficients, const OuterTensor& tensor) const = 0;
  virtual void average(Values outer, ConstValues gradient) const = 0;
  virtual void blend(float mix, ConstValues outer, Values local) const = 0;
  virtual void eager_gradient(const EagerWeights& weights, const EagerTensor& tensor) const = 0;
};

class OuterMath : public OuterArithmetic {
 public:
  // Zeros, which live as long as this.
  [[nodiscard]] virtual Values zeros(std::size_t count) = 0;
  // Arrays of one size that do not overlap.
  virtual void copy(ConstValues from, Values to) const = 0;
  virtual void clear(Values values) const = 0;

  // Digest (runtime/device/digest.h) of some tensors of flat arrays of one layout, one array after the other. Waits for
  // all that was computed.
  struct Digested {
    const FlatLayout& layout;
    const std::vector<std::size_t>& tensors;
    std::vector<ConstValues> arrays;
  };
  [[nodiscard]] virtual std::uint64_t digest(const Digested& of) const = 0;
};

// Computes on the processor, in this process's memory.
[[nodiscard]] std::unique_ptr<OuterMath> host_outer_math();

// A tensor's part of a flat array of the layout; Values: a span.
template <class Values>
[[nodiscard]] Values part_of(Values flat, const FlatTensor& tensor) {
  return flat.subspan(tensor.offset, tensor.count);
}

}  // namespace shoal
