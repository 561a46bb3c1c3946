// The same mathematics: SingleTrainer against the recorded losses of gpt_reference.py (plain PyTorch,
// torch.optim.AdamW).
//
// |difference| <= 2e-4 over 50 steps with a clipping that bites. Negative controls: a wrong beta, no clipping, no
// decay, another warm-up and other initial weights each leave that band.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "runtime/base/clock.h"
#include "runtime/base/config_file.h"
#include "runtime/data/batch.h"
#include "runtime/data/tokenizers/tokenizer.h"
#include "runtime/data/tokens.h"
#include "runtime/device/evaluator.h"
#include "runtime/device/executor_factory.h"
#include "runtime/device/single_trainer.h"
#include "tests/reference/recipe.h"
#include "tests/reference/synthetic_text.h"

namespace shoal::reference_test {
namespace {

constexpr double kTolerance = 2e-4;

struct Recording {
  Config config;
  std::vector<double> losses;
  std::vector<double> grad_norms;
  double validation_loss = 0;  // after the last step
};

Recording read_recording(const std::string& recipe = "small") {
  const auto json = read_recipe(SHOAL_SOURCE_DIR, recipe);
  const auto& recorded = json.at("recorded");
  return {config_of(json), recorded.at("losses").get<std::vector<double>>(),
          recorded.at("grad_norms").get<std::vector<double>>(), recorded.at("validation_loss").get<double>()};
}

// The synthetic text as a file of this test process.
class TextFile {
 public:
  TextFile() : path_(std::filesystem::temp_directory_path() / ("shoal-reference-" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << synthetic_text(60000);
  }
  ~TextFile() { std::filesystem::remove(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Trained {
  std::vector<StepOutcome> outcomes;
  Evaluation evaluation;
};

Trained train(const Config& config, std::size_t steps) {
  const TextFile text;
  const auto tokens = Tokens::open(text.path(), 0.1);
  ENSURE(tokens.ok(), "the text can be read");
  auto executor = make_stage_executor({config, StageId{0}, 1, "cpu"});
  ENSURE(executor.ok(), "a cpu");
  const SteadyClock clock;
  SingleTrainer trainer(config, **executor, **tokens, clock);
  Trained trained;
  while (trained.outcomes.size() < steps) {
    trained.outcomes.push_back(*trainer.step());
    ENSURE(trainer.check_progress().ok(), "a step that does not diverge");
  }
  const EvaluationPlan plan(*tokens, static_cast<std::uint64_t>(config.model.context), config.batch);
  trained.evaluation = *evaluate(**executor, plan, plan.batch_count(0), TextBytes(ByteTokenizer{}, 256));
  return trained;
}

double largest_difference(const Config& config, const Recording& recording, std::size_t steps = 50) {
  const auto outcomes = train(config, steps).outcomes;
  double largest = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    largest = std::max(largest, std::fabs(outcomes[i].loss - recording.losses[i]));
  }
  return largest;
}

TEST(Reference, LossesAreThoseOfPlainPyTorch) {
  for (const std::string recipe : {"small", "llama_small"}) {
    Recording recording = read_recording(recipe);
    ASSERT_EQ(recording.losses.size(), 50U);
    for (const Reduction reduction : {Reduction::kFast, Reduction::kExact}) {
      recording.config.sync.reduction = reduction;
      EXPECT_LE(largest_difference(recording.config, recording), kTolerance) << recipe;
    }
  }
}

TEST(Reference, AWrongLlamaIsToldApart) {
  const Recording recording = read_recording("llama_small");
  const std::vector<std::function<void(Config&)>> mistakes = {
      [](Config& config) { config.model.rope_theta = 100; },
      [](Config& config) { config.model.norm_eps = 1e-2; },
      [](Config& config) { config.model.qk_norm = false; },
      [](Config& config) { config.model.kv_heads = 4; },
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    Config wrong = recording.config;
    mistakes[i](wrong);
    EXPECT_GT(largest_difference(wrong, recording, 20), 2 * kTolerance) << "mistake " << i;
  }
}

TEST(Reference, NormsAndValidationLossAreThoseOfPlainPyTorchAndClippingBites) {
  const Recording recording = read_recording();
  const auto [outcomes, evaluation] = train(recording.config, recording.losses.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_NEAR(outcomes[i].grad_norm, recording.grad_norms[i], 2e-3 * recording.grad_norms[i]) << i;
    EXPECT_GT(outcomes[i].grad_norm, recording.config.optim.clip_norm);
  }
  EXPECT_NEAR(evaluation.loss, recording.validation_loss, kTolerance);
  EXPECT_EQ(evaluation.token_count, 5999U);
  EXPECT_NEAR(evaluation.bits_per_byte, recording.validation_loss / std::log(2.0), 2 * kTolerance);
}

TEST(Reference, AWrongOptimiserIsToldApart) {
  const Recording recording = read_recording();
  const std::vector<std::function<void(Config&)>> mistakes = {
      [](Config& config) { config.optim.beta2 = 0.999; },    [](Config& config) { config.optim.clip_norm = 0; },
      [](Config& config) { config.optim.weight_decay = 0; }, [](Config& config) { config.optim.warmup_steps = 11; },
      [](Config& config) { config.model.init_std = 0.051; },
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    Config wrong = recording.config;
    mistakes[i](wrong);
    EXPECT_GT(largest_difference(wrong, recording, 20), 2 * kTolerance) << "mistake " << i;
  }
}

TEST(Reference, TheSizeOfMicrobatchesDoesNotMatter) {
  Recording recording = read_recording();
  recording.config.batch.microbatch = 8;
  EXPECT_LE(largest_difference(recording.config, recording, 20), kTolerance);
}

}  // namespace
}  // namespace shoal::reference_test
