// Steps over executors in one process, without actors: what the equality tests drive.
// Invariant: what differs between two LocalPipelines is the cut and the order, never the data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/ensure.h"
#include "runtime/device/executor_factory.h"
#include "runtime/device/single_trainer.h"
#include "runtime/journal/commit.h"
#include "runtime/journal/learning_rate.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

inline Config small_config(Reduction reduction) {
  Config config;
  config.model = {.layers = 3, .heads = 2, .width = 32, .context = 16, .vocabulary = 50};
  config.model.init_std = 0.08;
  config.batch = {.sequences = 12, .microbatch = 2};
  config.optim.warmup_steps = 2;
  config.optim.decay_steps = 20;
  config.optim.clip_norm = 0.3;  // bites
  config.optim.lr = 1e-2;
  config.sync.reduction = reduction;
  return config;
}

inline TensorBlob random_tokens(std::uint64_t seed, const Config& config) {
  const std::int64_t rows = config.batch.microbatch;
  const std::int64_t columns = config.model.context;
  auto bytes = std::make_shared<AlignedBuffer>(static_cast<std::size_t>(rows * columns) * sizeof(std::int32_t));
  std::mt19937_64 random(seed);
  auto* tokens = reinterpret_cast<std::int32_t*>(bytes->data());
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    tokens[i] = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(config.model.vocabulary));
  }
  return {DType::kInt32, {rows, columns}, bytes};
}

inline MicrobatchWork random_work(const Config& config, std::uint64_t step, std::uint32_t microbatch) {
  const std::uint64_t seed = step * 1000 + microbatch;
  return {StepId{step}, MicrobatchId{microbatch}, random_tokens(2 * seed, config), random_tokens(2 * seed + 1, config)};
}

struct Step {
  std::vector<std::uint32_t> forwards;   // order of the microbatches through the stages before the last
  std::vector<std::uint32_t> backwards;  // and back; empty: each right after its forward
};

inline Step in_order(std::uint32_t count) {
  Step step;
  for (std::uint32_t index = 0; index < count; ++index) step.forwards.push_back(index);
  return step;
}

class LocalPipeline {
 public:
  LocalPipeline(Config config, int stages) : config_(std::move(config)) {
    for (int stage = 0; stage < stages; ++stage) {
      auto executor = make_stage_executor({config_, StageId{static_cast<std::uint32_t>(stage)}, stages, "cpu"});
      ENSURE(executor.ok(), executor.ok() ? "" : executor.failure().message);
      stages_.push_back(std::move(*executor));
    }
  }

  // Accumulates the step's microbatches; the sum of their losses.
  double accumulate(std::uint64_t step, const Step& order) {
    double loss_sum = 0;
    if (order.backwards.empty()) {
      for (const std::uint32_t microbatch : order.forwards) loss_sum += turn(step, microbatch, true, true);
      return loss_sum;
    }
    for (const std::uint32_t microbatch : order.forwards) loss_sum += turn(step, microbatch, true, false);
    for (const std::uint32_t microbatch : order.backwards) loss_sum += turn(step, microbatch, false, true);
    return loss_sum;
  }

  // Adopts the sums and applies the update; the norm before clipping.
  double commit(std::uint64_t step) {
    std::vector<TensorNorm> norms;
    for (auto& stage : stages_) {
      const ReducedSum reduced = stage->adopt_sum(stage->contribution(), planned_tokens(config_));
      norms.insert(norms.end(), reduced.norms.begin(), reduced.norms.end());
    }
    const double norm = gradient_norm_of(norms);
    for (auto& stage : stages_) {
      stage->apply({learning_rate(config_.optim, step), clip_scale_of(config_.optim.clip_norm, norm), step + 1});
    }
    return norm;
  }

  double train(std::uint64_t step, const Step& order) {
    const double loss_sum = accumulate(step, order);
    norm_ = commit(step);
    return loss_sum;
  }

  // All weights and averages by name, whatever the cut.
  std::map<std::string, std::vector<float>> state() const {
    std::map<std::string, std::vector<float>> state;
    for (const auto& stage : stages_) {
      const TensorBlob image = stage->state_image();
      const auto stored = parse_safetensors({image.bytes->data(), image.bytes->size()}, "an image");
      ENSURE(stored.ok(), "an image that can be read");
      for (const StoredTensor& tensor : *stored) {
        std::vector<float>& values = state[tensor.name];
        values.resize(tensor.bytes.size() / sizeof(float));
        std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
      }
    }
    return state;
  }

  StageExecutor& stage(std::size_t index) { return *stages_[index]; }
  double norm() const { return norm_; }

 private:
  double turn(std::uint64_t step, std::uint32_t microbatch, bool forward, bool backward) {
    const MicrobatchWork whole = random_work(config_, step, microbatch);
    TensorBlob& activation = activations_[microbatch];
    if (forward) {
      activation = whole.input;
      for (std::size_t s = 0; s + 1 < stages_.size(); ++s) {
        activation = stages_[s]->forward({whole.step, whole.microbatch, activation, whole.targets});
      }
    }
    if (!backward) return 0;
    const auto when = microbatch % 2 == 0 ? WeightGradients::kAtOnce : WeightGradients::kLater;  // the same bits
    BackwardResult result =
        stages_.back()->forward_backward({whole.step, whole.microbatch, activation, whole.targets}, when);
    EXPECT_FALSE(stages_.back()->accumulate(whole.microbatch).bad_tensor.has_value());
    const double loss_sum = result.loss_sum;
    for (std::size_t s = stages_.size() - 1; s-- > 0;) {
      result = stages_[s]->backward(whole.microbatch, result.input_gradient, when);
      EXPECT_FALSE(stages_[s]->accumulate(whole.microbatch).bad_tensor.has_value());
    }
    return loss_sum;
  }

  Config config_;
  std::vector<std::unique_ptr<StageExecutor>> stages_;
  std::map<std::uint32_t, TensorBlob> activations_;
  double norm_ = 0;
};

}  // namespace shoal
