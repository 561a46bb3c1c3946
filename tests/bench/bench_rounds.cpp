// bench_rounds every_step|diloco|plain WORKERS [section.key=value...]: M workers trained in one process, for tables of
// what rounds cost in loss at equal tokens.
//
// every_step: WORKERS must be 1; its step is that of any number of replicas (data parallel). diloco: real executors in
// turn, microbatch i to worker i mod M. plain: the independent reference in tests/reference, one fragment. Every
// eval.every steps and at the end one line of JSON: step, loss of the last step's microbatches, validation loss of the
// agreed parameters and of worker 0's local ones. The wire format is applied to what each worker contributes.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config_file.h"
#include "runtime/data/batch.h"
#include "runtime/data/order.h"
#include "runtime/data/text.h"
#include "runtime/data/tokenizers/tokenizer.h"
#include "runtime/data/tokens.h"
#include "runtime/device/evaluator.h"
#include "tests/reference/plain_bridge.h"
#include "tests/reference/worker_group.h"

namespace shoal {
namespace {

class Bench {
 public:
  Bench(Config config, std::size_t workers)
      : config_(std::move(config)),
        workers_(workers),
        tokens_(open_text(config_)),
        order_(order_config(config_, tokens_->split().train)) {
    Config evaluated = config_;
    evaluated.sync.mode = SyncMode::kEveryStep;
    auto executor = make_stage_executor({evaluated, StageId{0}, 1, "cpu"});
    ENSURE(executor.ok(), "a cpu");
    evaluator_ = std::move(*executor);
  }

  void run() {
    WorkerGroup group(config_, workers_, works());
    const bool has_outer = config_.sync.mode == SyncMode::kDiloco;
    while (group.version() < config_.run.steps) {
      group.step();
      if (!is_evaluated(group.version())) continue;
      const NamedTensors local = group.tensors(0, "");
      print(group.version(), group.loss(), validation_loss(has_outer ? group.tensors(0, "outer.") : local),
            validation_loss(local));
    }
  }

  void run_plainly() {
    const WorkOf work_of = works();
    plain::Diloco diloco(recipe_of(config_, workers_), as_doubles(tensors_of(*evaluator_, "")),
                         [&](const plain::Tensors& weights, int step, int microbatch) {
                           return model_gradient(config_, weights,
                                                 work_of(StepId{static_cast<std::uint64_t>(step)},
                                                         MicrobatchId{static_cast<std::uint32_t>(microbatch)}));
                         });
    for (std::uint64_t version = 1; version <= config_.run.steps; ++version) {
      diloco.step();
      if (!is_evaluated(version)) continue;
      print(version, 0, validation_loss(as_floats(diloco.outer)), validation_loss(as_floats(diloco.workers[0].local)));
    }
  }

 private:
  static std::shared_ptr<const Tokens> open_text(const Config& config) {
    const auto path = obtain_corpus(config.data.corpus);
    ENSURE(path.ok(), path.ok() ? "" : path.failure().message);
    auto tokens = Tokens::open(*path, config.data.validation_fraction);
    ENSURE(tokens.ok(), tokens.ok() ? "" : tokens.failure().message);
    return *tokens;
  }

  static NamedTensors as_floats(const plain::Tensors& tensors) {
    NamedTensors floats;
    for (const auto& [name, values] : tensors) {
      for (const double value : values) floats[name].push_back(static_cast<float>(value));
    }
    return floats;
  }

  [[nodiscard]] WorkOf works() const {
    return [this](StepId step, MicrobatchId microbatch) {
      Microbatch batch = *make_microbatch(*tokens_, order_, step, microbatch);
      return MicrobatchWork{step, microbatch, std::move(batch.inputs), std::move(batch.targets)};
    };
  }

  [[nodiscard]] bool is_evaluated(std::uint64_t version) const {
    const bool is_due = config_.eval.every > 0 && version % config_.eval.every == 0;
    return is_due || version == config_.run.steps;
  }

  // Puts the weights into the evaluating executor, beside whatever averages it has.
  double validation_loss(const NamedTensors& weights) {
    const TensorBlob image = evaluator_->state_image();
    auto stored = parse_safetensors({image.bytes->data(), image.bytes->size()}, "an image");
    ENSURE(stored.ok(), "an image that can be read");
    for (StoredTensor& tensor : *stored) {
      const auto found = weights.find(tensor.name);
      if (found != weights.end()) tensor.bytes = std::as_bytes(std::span(found->second));
    }
    ENSURE(evaluator_->load_state(build_safetensors(std::move(*stored))).ok(), "an image of this model");
    const EvaluationPlan plan(tokens_, static_cast<std::uint64_t>(config_.model.context), config_.batch);
    return evaluate(*evaluator_, plan, plan.batch_count(config_.eval.batches),
                    TextBytes(ByteTokenizer{}, config_.model.vocabulary))
        ->loss;
  }

  static void print(std::uint64_t version, double loss, double agreed, double local) {
    std::printf("{\"step\":%llu,\"loss\":%.6f,\"validation_loss\":%.6f,\"local_validation_loss\":%.6f}\n",
                static_cast<unsigned long long>(version), loss, agreed, local);
    std::fflush(stdout);
  }

  Config config_;
  std::size_t workers_;
  std::shared_ptr<const Tokens> tokens_;
  Order order_;
  std::unique_ptr<StageExecutor> evaluator_;
};

int run(const std::string& mode, int workers, const std::vector<std::string>& sets) {
  auto config = load_config({std::nullopt, {}, sets});
  if (!config) {
    std::cerr << config.failure().message << '\n';
    return 2;
  }
  config->sync.mode = mode == "every_step" ? SyncMode::kEveryStep : SyncMode::kDiloco;
  Bench bench(*config, static_cast<std::size_t>(workers));
  if (mode == "plain") {
    bench.run_plainly();
  } else {
    bench.run();
  }
  return 0;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const int workers = argc > 2 ? std::atoi(argv[2]) : 0;
  const bool is_known = mode == "every_step" || mode == "diloco" || mode == "plain";
  if (!is_known || workers < 1 || (mode == "every_step" && workers != 1)) {
    std::cerr << "usage: bench_rounds every_step|diloco|plain WORKERS [section.key=value...]\n";
    return 2;
  }
  return shoal::run(mode, workers, {argv + 3, argv + argc});
}
