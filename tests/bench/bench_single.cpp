// bench_single SIZE [PAIRS [bf16] [llama]]: the single run against the eager loop, step by step in turn, one thread,
// float32. bf16: the single run in bf16 against itself in float32, and against the eager loop under autocast to bf16.
// llama: the model is a llama instead of a GPT-2.
//
// SIZE: small (4 layers, 4 heads, width 128, context 64, 12 sequences per microbatch) or large (6, 6, 384, 256, 8).
// Prints the medians and the ratio of times per pair with its 95 % interval (order statistics of the median), for fast
// and for exact sums. Times are of the thread's own CPU clock beside the wall clock, so that a busy machine shows.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/ensure.h"
#include "runtime/data/tokens.h"
#include "runtime/device/executor_factory.h"
#include "runtime/device/gemm_choice.h"
#include "runtime/device/single_trainer.h"
#include "tests/bench/eager_loop.h"
#include "tests/reference/synthetic_text.h"

namespace shoal {
namespace {

constexpr int kMicrobatches = 4;

Config config_of(const std::string& size) {
  Config config;
  const bool is_small = size == "small";
  config.model = is_small ? ModelConfig{.layers = 4, .heads = 4, .width = 128, .context = 64}
                          : ModelConfig{.layers = 6, .heads = 6, .width = 384, .context = 256};
  config.batch.microbatch = is_small ? 12 : 8;
  config.batch.sequences = kMicrobatches * config.batch.microbatch;
  config.optim.decay_steps = 600;
  return config;
}

double thread_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

struct Times {
  double wall_ms = 0;
  double cpu_ms = 0;
};

Times time_of(const std::function<void()>& work, int repeats) {
  const SteadyClock clock;
  const Instant start = clock.now();
  const double cpu = thread_ms();
  for (int i = 0; i < repeats; ++i) work();
  return {milliseconds(clock.now() - start) / repeats, (thread_ms() - cpu) / repeats};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// One of those that train in turn.
struct Contender {
  std::string name;
  std::function<double()> step;  // its mean loss
  std::vector<Times> times = {};
  double loss = 0;
};

void print_row(const Contender& than, const Contender& ours, const char* clock_name, double Times::*clock) {
  std::vector<double> ratios;
  std::vector<double> their_ms;
  std::vector<double> our_ms;
  for (std::size_t i = 0; i < ours.times.size(); ++i) {
    their_ms.push_back(than.times[i].*clock);
    our_ms.push_back(ours.times[i].*clock);
    ratios.push_back(their_ms.back() / our_ms.back());
  }
  std::sort(ratios.begin(), ratios.end());
  const auto count = static_cast<double>(ratios.size());
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(count / 2 - 0.98 * std::sqrt(count))));
  const std::size_t high = ratios.size() - 1 - low;
  std::printf("%-12s %-4s %9.2f ms   %-12s %9.2f ms   speed %.3f  [%.3f, %.3f]\n", ours.name.c_str(), clock_name,
              median(our_ms), than.name.c_str(), median(their_ms), median(ratios), ratios[low], ratios[high]);
}

void print_rows(const Contender& than, const Contender& ours) {
  print_row(than, ours, "wall", &Times::wall_ms);
  print_row(than, ours, "cpu", &Times::cpu_ms);
}

struct SingleRun {
  SingleRun(Config config, Reduction reduction, const Tokens& tokens) {
    config.sync.reduction = reduction;
    auto made = make_stage_executor({config, StageId{0}, 1, "cpu"});
    ENSURE(made.ok(), "a cpu");
    executor = std::move(*made);
    trainer = std::make_unique<SingleTrainer>(config, *executor, tokens, clock);
  }
  double step() {
    const auto outcome = trainer->step();
    ENSURE(!outcome->skipped, "a step that trains");
    return outcome->loss;
  }
  SteadyClock clock;
  std::unique_ptr<StageExecutor> executor;
  std::unique_ptr<SingleTrainer> trainer;
};

void train_in_turn(std::vector<Contender>& contenders, int pairs, int repeats) {
  constexpr int kWarmUp = 2;
  for (int pair = -kWarmUp; pair < pairs; ++pair) {
    for (Contender& contender : contenders) {
      const Times times = time_of([&] { contender.loss = contender.step(); }, repeats);
      if (pair >= 0) contender.times.push_back(times);
    }
  }
}

struct Wish {
  Precision precision = Precision::kFp32;
  ModelKind kind = ModelKind::kGpt2;
};

int run(const std::string& size, int pairs, const Wish& wish) {
  Config plain = config_of(size);
  plain.model.kind = wish.kind;
  Config config = plain;
  config.model.precision = wish.precision;
  const auto path = std::filesystem::temp_directory_path() / ("shoal-bench-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << synthetic_text(400000);
  const auto tokens = Tokens::open(path, 0.1);
  ENSURE(tokens.ok(), "the text can be read");
  std::filesystem::remove(path);
  SingleRun fast(config, Reduction::kFast, **tokens);
  SingleRun exact(config, Reduction::kExact, **tokens);
  SingleRun fp32(plain, Reduction::kFast, **tokens);
  EagerLoop eager(config, **tokens);
  const bool is_bf16 = wish.precision == Precision::kBf16;
  std::vector<Contender> contenders = {{is_bf16 ? "autocast" : "eager", [&] { return eager.step(); }},
                                       {is_bf16 ? "bf16 fast" : "fast", [&] { return fast.step(); }},
                                       {is_bf16 ? "bf16 exact" : "exact", [&] { return exact.step(); }}};
  if (is_bf16) contenders.push_back({"fp32 fast", [&] { return fp32.step(); }});
  train_in_turn(contenders, pairs, size == "small" ? 4 : 1);
  std::printf("%s%s, %d microbatches, %d pairs; %s\n", size.c_str(), wish.kind == ModelKind::kLlama ? " llama" : "",
              kMicrobatches, pairs, kernel_fingerprint(config.run.threads).c_str());
  std::printf("losses of the last step:");
  for (const Contender& contender : contenders) std::printf(" %s %.5f", contender.name.c_str(), contender.loss);
  std::printf("\n");
  print_rows(contenders[0], contenders[1]);
  print_rows(contenders[0], contenders[2]);
  if (is_bf16) print_rows(contenders[3], contenders[1]);
  return 0;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const std::string size = argc > 1 ? argv[1] : "";
  if (size != "small" && size != "large") {
    std::cerr << "usage: bench_single small|large [PAIRS [bf16] [llama]]\n";
    return 2;
  }
  shoal::Wish wish;
  for (int i = 3; i < argc; ++i) {
    if (std::string(argv[i]) == "bf16") wish.precision = shoal::Precision::kBf16;
    if (std::string(argv[i]) == "llama") wish.kind = shoal::ModelKind::kLlama;
  }
  return shoal::run(size, argc > 2 ? std::atoi(argv[2]) : 10, wish);
}
