// The first run, the recording, the replays.
#include "runtime/device/queue/recorded_pass.h"

#include <ATen/ops/empty_like.h>

#include "runtime/base/ensure.h"

namespace shoal {

const RecordedPass::Tensors& RecordedPass::run(const Tensors& inputs) {
  const bool is_first = inputs_.empty();
  place(inputs);
  if (is_first) {
    results_ = compute_(inputs_);
    return results_;
  }
  if (!graph_) {
    results_.clear();
    graph_ = queue_.record([this] { return compute_(inputs_); });
  }
  graph_->replay();
  return graph_->results();
}

void RecordedPass::place(const Tensors& inputs) {
  ENSURE(!inputs.empty(), "a pass computes of something");
  if (inputs_.empty()) {
    for (const at::Tensor& input : inputs) inputs_.push_back(at::empty_like(input.contiguous()));
  }
  ENSURE(inputs.size() == inputs_.size(), "as many inputs each time");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool fits = inputs[i].sizes() == inputs_[i].sizes() && inputs[i].scalar_type() == inputs_[i].scalar_type();
    ENSURE(fits, "inputs of the first run's shapes and types");
    inputs_[i].copy_(inputs[i], true);
  }
}

}  // namespace shoal
