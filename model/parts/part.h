// The interface of every part of a model: forward, and a backward that is written by hand.
//
// A backward gives the bits that autograd derives from the same forward, whose operators are differentiable: tests
// compare them. What a forward keeps for its backward goes on a tape, last in first out; the gradients of parameters
// go to ParameterGradients by the position of the tensor in the stage's plan. Parts are immutable and share the
// weights' memory. Shape letters: B sequences, T tokens, C width, N = B T, H heads, D elements of a head.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/dropout.h"
#include "model/partition.h"
#include "model/parts/bf16/copies.h"
#include "model/parts/fused_math.h"

namespace shoal {

using WeightMap = std::map<std::string, at::Tensor>;

// Holds what one microbatch's forward pass keeps. A tape that does not record is for evaluation.
class Tape {
 public:
  enum class Keeps { kNothing, kAll };
  explicit Tape(Dropout of_microbatch, Keeps keeps) : dropout(of_microbatch), keeps_(keeps) {}

  void keep(const at::Tensor& tensor) {
    if (keeps_ == Keeps::kAll) kept_.push_back(tensor);
  }
  // Gives back what was kept last (ensured: there is something).
  [[nodiscard]] at::Tensor take();
  [[nodiscard]] bool is_empty() const { return kept_.empty(); }

  Dropout dropout;

 private:
  Keeps keeps_;
  std::vector<at::Tensor> kept_;
};

// A tensor of the stage, and its position in the plan.
struct Parameter {
  at::Tensor value;
  std::size_t index = 0;
  at::Tensor copy = {};  // in bf16, where products are computed in bf16 and read this parameter
};

// Holds what a device gives to the parts beside torch's operators.
struct DeviceSupport {
  const FusedMath* fused = nullptr;  // outlives the parts; none: torch's operators alone
  // bf16, of every tensor, kept up to date by whoever steps the weights. Empty: parts make their copies themselves.
  WeightMap copies = {};
};

// Finds the parameters of a stage. Ensures that each tensor of the plan is there, float32, of its shape.
class Parameters {
 public:
  Parameters(const StagePlan& plan, const WeightMap& weights, Precision precision = Precision::kFp32,
             DeviceSupport device = {});
  [[nodiscard]] Parameter of(const TensorSpec& tensor) const { return by_name_.at(tensor.name); }
  // With its copy, where products are computed in bf16.
  [[nodiscard]] Parameter of_product(const TensorSpec& tensor) const;

  // Type that operands of products and attention are rounded to: bf16, or float32 as everything else is.
  [[nodiscard]] at::ScalarType product_type() const { return copies_ ? at::kBFloat16 : at::kFloat; }
  // Type of what a branch adds to the residual stream: float32, or the products' where the device's norm adds it.
  [[nodiscard]] at::ScalarType branch_type() const { return device_.fused ? product_type() : at::kFloat; }
  // None in float32.
  [[nodiscard]] const std::shared_ptr<Bf16Copies>& copies() const { return copies_; }
  // None: parts call torch's operators.
  [[nodiscard]] const FusedMath* fused() const { return device_.fused; }

 private:
  std::map<std::string, Parameter> by_name_;
  std::shared_ptr<Bf16Copies> copies_;
  DeviceSupport device_;
};

// The gradients of a stage's parameters out of one backward pass, by position in the plan. Those of projections may be
// left for later: a stage answers its neighbour with dx first, and computes dW = x^T dy and db = sum of dy when nothing
// else is waiting (Qi et al., "Zero Bubble Pipeline Parallelism", 2023). Values are the same.
class ParameterGradients {
 public:
  enum class OfProjections { kAtOnce, kLater };
  ParameterGradients(std::size_t parameter_count, OfProjections when) : slots_(parameter_count), when_(when) {}

  // A parameter is used once in a model (ensured by both).
  void set(const Parameter& parameter, at::Tensor gradient);
  void set_of_projection(const Parameter& parameter, std::function<at::Tensor()> compute);
  // Takes a gradient out, and computes it where it was left. Ensures that there is one.
  [[nodiscard]] at::Tensor take(std::size_t index);

 private:
  struct Slot {
    at::Tensor gradient;
    std::function<at::Tensor()> compute;
  };
  [[nodiscard]] Slot& empty_slot(const Parameter& parameter);

  std::vector<Slot> slots_;
  OfProjections when_;
};

// The residual stream between two parts: x + branch, which a part whose norm adds them is given unadded.
struct Residual {
  at::Tensor x;
  at::Tensor branch = {};  // undefined: nothing is to be added
  [[nodiscard]] at::Tensor sum() const { return branch.defined() ? x.add(branch) : x; }
};

// The gradient of the residual stream, float32, and its bf16 copy for products where the device's norm wrote one.
struct StreamGradient {
  at::Tensor d;
  at::Tensor copy = {};
};

class ModelPart {
 public:
  ModelPart() = default;
  virtual ~ModelPart() = default;
  ModelPart(const ModelPart&) = delete;
  ModelPart& operator=(const ModelPart&) = delete;

  // x: float32 [B,T,C], or bf16 of a norm before products; an embedding takes tokens, int32 or int64 [B,T]. Returns
  // float32 [B,T,..], or bf16: a branch of Parameters::branch_type(), a norm before products, logits.
  [[nodiscard]] virtual at::Tensor forward(const at::Tensor& x, Tape& tape) const = 0;
  // The same from stream to stream: equal sums, in the same order.
  [[nodiscard]] virtual Residual forward_stream(const Residual& from, Tape& tape) const {
    return {forward(from.sum(), tape)};
  }
  // dy: of the shape of y, float32 or bf16. Takes what forward kept, sets the gradients of the part's parameters, and
  // returns dx: float32, or bf16 out of products (undefined for an embedding).
  [[nodiscard]] virtual at::Tensor backward(const at::Tensor& dy, Tape& tape, ParameterGradients& gradients) const = 0;
  // The same from stream to stream.
  [[nodiscard]] virtual StreamGradient backward_stream(const StreamGradient& dy, Tape& tape,
                                                       ParameterGradients& gradients) const {
    return {backward(dy.d, tape, gradients)};
  }
};

}  // namespace shoal
