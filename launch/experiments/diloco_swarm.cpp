// Every worker of a stage has a batch of its own, so that a swarm of four has four times one machine's: tokens per step
// differ between the weak baseline and the others, as published.
#include "launch/experiments/diloco_swarm.h"

#include <array>

#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/compose.h"

namespace shoal {
namespace {

using Settings = std::vector<std::string>;

constexpr int kWorkers = 4;  // replicas of each of the two stages

struct Scale {
  std::uint64_t steps = 0;
  int batch = 0;  // sequences of one worker of a stage
  Settings settings;
  std::string difference{};  // from what was published
};

Scale published_scale() {
  return {2000,
          512,
          {"model.context=1024", "model.precision=bf16", "batch.microbatch=32", "data.corpus=fineweb-edu.txt",
           "data.tokenizer=gpt2", "data.validation_fraction=0.001", "optim.lr=4e-4", "optim.min_lr=4e-5",
           "optim.warmup_steps=50", "optim.weight_decay=0.01", "eval.every=50", "checkpoint.keep=1"}};
}

// Small batches and many rounds: 160 of them with H = 50.
Scale cpu_scale() {
  return {
      8000,
      4,
      {"model.context=64", "batch.microbatch=4", "data.validation_fraction=0.02", "optim.lr=2e-3", "optim.min_lr=0",
       "optim.warmup_steps=200", "eval.every=500", "checkpoint.every=2000", "checkpoint.keep=1"},
      "The scale: batches of 4 sequences per worker against 512, 8000 steps against 2000, a much smaller model, and "
      "a learning rate of 2e-3 that falls to 0 against 4e-4, with a weight decay of 0.1 against 0.01."};
}

Scale scale_of(ExperimentPreset preset) { return preset == ExperimentPreset::kCpu ? cpu_scale() : published_scale(); }

struct ModelSize {
  const char* name;
  int layers;
  int heads;
  int width;
  double swarm_perplexity;   // published, of DiLoCo-SWARM
  double single_perplexity;  // and of the weak baseline
};

constexpr std::size_t kSmall = 1;  // index of the size that the other experiments train
constexpr std::array<ModelSize, 4> kPublishedSizes = {{{"tiny", 4, 4, 128, 109.55, 133.20},
                                                       {"small", 12, 12, 768, 30.15, 37.16},
                                                       {"medium", 24, 16, 1024, 25.66, 31.57},
                                                       {"large", 36, 20, 1280, 29.17, 30.18}}};
constexpr std::array<ModelSize, 4> kCpuSizes = {{{"tiny", 2, 2, 16, 109.55, 133.20},
                                                 {"small", 2, 2, 32, 30.15, 37.16},
                                                 {"medium", 4, 4, 64, 25.66, 31.57},
                                                 {"large", 4, 4, 128, 29.17, 30.18}}};

const std::array<ModelSize, 4>& sizes_of(ExperimentPreset preset) {
  return preset == ExperimentPreset::kCpu ? kCpuSizes : kPublishedSizes;
}

Settings model_settings(const ModelSize& size) {
  return {compose("model.layers=", size.layers), compose("model.heads=", size.heads),
          compose("model.width=", size.width)};
}

Settings together(Settings first, const Settings& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Settings single_settings(const Scale& scale) {
  return {"pipeline.stages=1", "pipeline.replicas=1", compose("batch.sequences=", scale.batch)};
}

Settings swarm_settings(const Scale& scale) {
  return {"pipeline.stages=2", compose("pipeline.replicas=", kWorkers),
          compose("batch.sequences=", scale.batch * kWorkers)};
}

Settings diloco_settings(const Scale& scale, int H) {
  return together(swarm_settings(scale), {"sync.mode=diloco", compose("sync.H=", H)});
}

std::vector<std::string> differences(ExperimentPreset preset, const Scale& scale) {
  std::vector<std::string> sentences = {
      "Paths are chosen by measured speed (`pipeline.routing`); published: at random.",
      "One seed per arm; `--set run.seed=N` with another `--out` gives another."};
  if (preset == ExperimentPreset::kGpu) {
    sentences.push_back("The validation text is the end of the corpus, published are 10 M tokens drawn from it.");
    return sentences;
  }
  sentences.push_back(
      "The text: novels of Jane Austen as bytes, sequences of 64; published: FineWeb-Edu as GPT-2's tokens, sequences "
      "of 1024. Perplexities of bytes and of such tokens have nothing in common; compare differences.");
  sentences.push_back(scale.difference);
  return sentences;
}

Experiment begun(const std::string& name, const std::string& question, ExperimentPreset preset, const Scale& scale) {
  Experiment out;
  out.name = name;
  out.question = question;
  out.settings = scale.settings;
  out.steps = scale.steps;
  out.published =
      "final validation perplexity of GPT-2 models on FineWeb-Edu after 2000 steps (github.com/mikasenghaas/"
      "diloco-swarm)";
  out.differences = differences(preset, scale);
  return out;
}

Experiment methods(ExperimentPreset preset) {
  const Scale scale = scale_of(preset);
  Experiment out =
      begun("exp1", "Does DiLoCo-SWARM learn as well as SWARM, synchronising 50 times less often?", preset, scale);
  out.settings = together(out.settings, model_settings(sizes_of(preset)[kSmall]));
  out.arms = {{"single", "one worker, a quarter of the tokens", single_settings(scale), "swarm", 37.16},
              {"swarm", "SWARM, 2 stages of 4", swarm_settings(scale), "", 30.22},
              {"diloco-swarm", "DiLoCo-SWARM, H = 50", diloco_settings(scale, 50), "swarm", 30.15}};
  return out;
}

Experiment frequencies(ExperimentPreset preset) {
  struct Frequency {
    int H;
    double perplexity;
  };
  constexpr std::array<Frequency, 5> kPublished = {{{10, 27.95}, {20, 28.61}, {50, 30.15}, {100, 30.49}, {200, 31.27}}};
  const Scale scale = scale_of(preset);
  Experiment out = begun("exp2", "How seldom may the stages of a swarm synchronise?", preset, scale);
  out.settings = together(out.settings, model_settings(sizes_of(preset)[kSmall]));
  out.varied = "H, steps between rounds";
  for (const auto& [H, perplexity] : kPublished) {
    out.arms.push_back({compose("h", H), compose("H = ", H), diloco_settings(scale, H), H == 10 ? "" : "h10",
                        perplexity, static_cast<double>(H)});
  }
  return out;
}

Experiment sizes(ExperimentPreset preset) {
  const Scale scale = scale_of(preset);
  Experiment out = begun("exp3", "Does what a swarm gains depend on the size of the model?", preset, scale);
  out.varied = "model, from 1 (tiny) to 4 (large)";
  double at = 0;
  for (const ModelSize& size : sizes_of(preset)) {
    const std::string name = size.name;
    at += 1;
    out.arms.push_back({name + "-single", name + ", one worker", together(model_settings(size), single_settings(scale)),
                        "", size.single_perplexity, at});
    out.arms.push_back({name + "-diloco-swarm", name + ", DiLoCo-SWARM",
                        together(model_settings(size), diloco_settings(scale, 50)), name + "-single",
                        size.swarm_perplexity, at});
  }
  return out;
}

}  // namespace

const std::vector<std::string>& experiment_names() {
  static const std::vector<std::string> names = {"exp1", "exp2", "exp3"};
  return names;
}

std::vector<std::string> devices_of(ExperimentPreset preset) {
  return preset == ExperimentPreset::kGpu ? std::vector<std::string>{"cuda"} : std::vector<std::string>{};
}

Result<Experiment> experiment_named(const std::string& name, ExperimentPreset preset) {
  if (name == "exp1") return methods(preset);
  if (name == "exp2") return frequencies(preset);
  if (name == "exp3") return sizes(preset);
  return fail(Error::kUsage, compose("experiment: there is no '", name, "', but exp1, exp2 and exp3",
                                     did_you_mean(name, experiment_names())));
}

}  // namespace shoal
