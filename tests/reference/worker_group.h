// M workers over real executors, driven as a stage's replicas are: each applies the mean of its own microbatches, and
// at the boundaries that the schedule names contributions are averaged by tokens and rounds applied.
//
// Static routing: microbatch i to worker i mod M. It decides nothing of its own: schedule, fragments and outer
// arithmetic are the implementation's.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/ensure.h"
#include "runtime/device/executor_factory.h"
#include "runtime/device/single_trainer.h"
#include "runtime/journal/commit.h"
#include "runtime/journal/learning_rate.h"
#include "runtime/journal/round_plan.h"
#include "runtime/storage/safetensors.h"
#include "runtime/sync/wire/wire_codec.h"

namespace shoal {

using NamedTensors = std::map<std::string, std::vector<float>>;

// The tensors of an executor's image whose names begin so, by the rest of their names; "" takes the weights alone.
inline NamedTensors tensors_of(const StageExecutor& executor, const std::string& prefix) {
  const TensorBlob image = executor.state_image();
  const auto stored = parse_safetensors({image.bytes->data(), image.bytes->size()}, "an image");
  ENSURE(stored.ok(), "an image that can be read");
  NamedTensors tensors;
  for (const std::string& name : executor.tensor_names()) {
    const StoredTensor* tensor = find_tensor(*stored, prefix + name);
    ENSURE(tensor != nullptr, "the image has no " + prefix + name);
    tensors[name].resize(tensor->bytes.size() / sizeof(float));
    std::memcpy(tensors[name].data(), tensor->bytes.data(), tensor->bytes.size());
  }
  return tensors;
}

// Gives the microbatch of a step.
using WorkOf = std::function<MicrobatchWork(StepId step, MicrobatchId microbatch)>;

class WorkerGroup {
 public:
  WorkerGroup(Config config, std::size_t workers, WorkOf work_of)
      : config_(std::move(config)), schedule_(config_.sync), work_of_(std::move(work_of)), workers_(workers) {
    for (Worker& worker : workers_) {
      worker.executor = make_executor();
      worker.tokens.resize(static_cast<std::size_t>(config_.sync.fragments));
    }
  }

  // Does one inner step of every worker, then what is due at the boundary.
  void step() {
    loss_sum_ = 0;
    token_count_ = 0;
    for (std::size_t index = 0; index < workers_.size(); ++index) train(workers_[index], index);
    version_ += 1;
    std::map<std::uint32_t, Round> before;
    for (const auto& [fragment, round] : schedule_.contributions_at(version_)) {
      before[fragment] = newest_[fragment];
      newest_[fragment] = contribute(fragment, round);
    }
    for (const auto& [fragment, round] : schedule_.due_at(version_)) {
      const bool is_newest = newest_[fragment].number == round;
      apply(round == 0 ? Round{} : is_newest ? newest_[fragment] : before[fragment], newest_[fragment], fragment);
    }
  }

  // Every worker goes on with another executor that was given the image of its state.
  void replace_executors() {
    for (Worker& worker : workers_) {
      const TensorBlob image = worker.executor->state_image();
      worker.executor = make_executor();
      ENSURE(worker.executor->load_state(image).ok(), "an image of its own");
    }
  }

  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] NamedTensors tensors(std::size_t worker, const std::string& prefix) const {
    return tensors_of(*workers_[worker].executor, prefix);
  }
  // Loss of the last step, over all workers, before the update.
  [[nodiscard]] double loss() const { return loss_sum_ / static_cast<double>(token_count_); }
  [[nodiscard]] StageExecutor& executor(std::size_t worker) { return *workers_[worker].executor; }

 private:
  struct Worker {
    std::unique_ptr<StageExecutor> executor;
    std::uint64_t updates = 0;
    std::vector<double> tokens;  // by fragment, since its last contribution
  };
  struct Round {
    std::uint64_t number = 0;
    TensorBlob mean;
    std::vector<double> weights;
    double total = 0;
  };

  [[nodiscard]] std::unique_ptr<StageExecutor> make_executor() const {
    auto executor = make_stage_executor({config_, StageId{0}, 1, "cpu"});
    ENSURE(executor.ok(), executor.ok() ? "" : executor.failure().message);
    return std::move(*executor);
  }

  void train(Worker& worker, std::size_t index) {
    std::uint64_t tokens = 0;
    const auto microbatches = static_cast<std::size_t>(microbatches_per_step(config_));
    for (std::size_t at = index; at < microbatches; at += workers_.size()) {
      const auto microbatch = static_cast<std::uint32_t>(at);
      const BackwardResult result = worker.executor->forward_backward(
          work_of_(StepId{version_}, MicrobatchId{microbatch}), WeightGradients::kAtOnce);
      (void)worker.executor->accumulate(MicrobatchId{microbatch});
      tokens += result.token_count;
      loss_sum_ += result.loss_sum;
      token_count_ += result.token_count;
    }
    if (tokens == 0) return worker.executor->skip();
    const ReducedSum sum = worker.executor->adopt_sum(worker.executor->contribution(), tokens);
    worker.executor->apply({learning_rate(config_.optim, version_),
                            clip_scale_of(config_.optim.clip_norm, gradient_norm_of(sum.norms)), ++worker.updates});
    for (double& since : worker.tokens) since += static_cast<double>(tokens);
  }

  Round contribute(std::uint32_t fragment, std::uint64_t number) {
    Round round;
    round.number = number;
    std::vector<double> sums;
    for (Worker& worker : workers_) {
      const double weight = std::exchange(worker.tokens[fragment], 0);
      const TensorBlob values = travelled(worker.executor->contribute_round(fragment));
      sums.resize(static_cast<std::size_t>(values.element_count()));
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * static_cast<double>(values.as<float>()[i]);
      round.weights.push_back(weight);
      round.total += weight;
    }
    auto bytes = std::make_shared<AlignedBuffer>(sums.size() * sizeof(float));
    auto* mean = reinterpret_cast<float*>(bytes->data());
    for (std::size_t i = 0; i < sums.size(); ++i) mean[i] = static_cast<float>(sums[i] / round.total);
    round.mean = {DType::kFloat32, {static_cast<std::int64_t>(sums.size())}, bytes};
    return round;
  }

  // Returns what arrives of a contribution in the configuration's wire format.
  [[nodiscard]] TensorBlob travelled(const TensorBlob& values) const {
    if (config_.sync.wire == WireFormat::kFp32) return values;
    const auto count = static_cast<std::size_t>(values.element_count());
    const auto sent = encode_values(config_.sync.wire, {values.as<float>(), count});
    ENSURE(sent.ok(), sent.ok() ? "" : sent.failure().message);
    auto bytes = std::make_shared<AlignedBuffer>(count * sizeof(float));
    decode_checked(*sent, config_.sync.wire, {reinterpret_cast<float*>(bytes->data()), count});
    return {DType::kFloat32, values.shape, bytes};
  }

  void apply(const Round& due, const Round& newest, std::uint32_t fragment) {
    const Round& weighed = due.number == 0 ? newest : due;
    std::uint64_t first_digest = 0;
    for (std::size_t index = 0; index < workers_.size(); ++index) {
      const std::uint64_t digest = workers_[index].executor->apply_round({.fragment = fragment,
                                                                          .round = due.number,
                                                                          .mean = due.mean,
                                                                          .own_weight = weighed.weights[index],
                                                                          .total_weight = weighed.total,
                                                                          .newest_weight = newest.weights[index]});
      if (index == 0) first_digest = digest;
      ENSURE(digest == first_digest, "every member has the same outer state (S-3)");
    }
  }

  Config config_;
  RoundSchedule schedule_;
  WorkOf work_of_;
  std::vector<Worker> workers_;
  std::uint64_t version_ = 0;
  double loss_sum_ = 0;
  std::uint64_t token_count_ = 0;
  std::map<std::uint32_t, Round> newest_;  // by fragment
};

}  // namespace shoal
