// Steps of a whole model by one executor, and how far apart two states are.
// Equal configurations train on equal microbatches.
#pragma once

#include <cmath>
#include <cstring>
#include <utility>

#include "tests/runtime/device/local_pipeline.h"

namespace shoal {

struct Trained {
  double loss = 0;  // of the last step
  double norm = 0;  // before clipping
  TensorBlob image;
};

struct Steps {
  std::uint64_t count = 0;
  std::uint32_t microbatches = 6;
};

inline Trained train_step(StageExecutor& executor, const Config& config, std::uint64_t step,
                          std::uint32_t microbatches = 6) {
  Trained trained;
  for (std::uint32_t index = 0; index < microbatches; ++index) {
    const auto work = random_work(config, step, index);
    const auto when = index % 2 == 0 ? WeightGradients::kAtOnce : WeightGradients::kLater;
    trained.loss += executor.forward_backward(work, when).loss_sum;
    EXPECT_EQ(executor.accumulate(work.microbatch).bad_tensor, std::nullopt);
  }
  const ReducedSum reduced = executor.adopt_sum(executor.contribution(), planned_tokens(config));
  trained.norm = gradient_norm_of(reduced.norms);
  executor.apply({learning_rate(config.optim, step), clip_scale_of(config.optim.clip_norm, trained.norm), step + 1});
  return trained;
}

inline Trained train_steps(StageExecutor& executor, const Config& config, const Steps& steps) {
  Trained trained;
  for (std::uint64_t step = 0; step < steps.count; ++step) {
    trained = train_step(executor, config, step, steps.microbatches);
  }
  trained.image = executor.state_image();
  return trained;
}

// The largest difference of two images' tensors; infinite where names or shapes differ, or a value is no number.
inline double difference(const TensorBlob& a, const TensorBlob& b) {
  const auto stored_a = parse_safetensors({a.bytes->data(), a.bytes->size()}, "a");
  const auto stored_b = parse_safetensors({b.bytes->data(), b.bytes->size()}, "b");
  if (!stored_a.ok() || !stored_b.ok() || stored_a->size() != stored_b->size()) return HUGE_VAL;
  double most = 0;
  for (std::size_t i = 0; i < stored_a->size(); ++i) {
    const auto& [left, right] = std::pair((*stored_a)[i], (*stored_b)[i]);
    if (left.name != right.name || left.bytes.size() != right.bytes.size()) return HUGE_VAL;
    for (std::size_t at = 0; at < left.bytes.size(); at += sizeof(float)) {
      float x = 0;
      float y = 0;
      std::memcpy(&x, left.bytes.data() + at, sizeof(float));
      std::memcpy(&y, right.bytes.data() + at, sizeof(float));
      const double apart = std::abs(static_cast<double>(x) - static_cast<double>(y));
      if (!(apart < HUGE_VAL)) return HUGE_VAL;
      most = std::max(most, apart);
    }
  }
  return most;
}

}  // namespace shoal
