// bench_single SIZE [PAIRS]: the single run against the eager loop, step by step in turn, one thread, float32.
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

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
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

void print_row(const std::string& name, const std::vector<Times>& eager, const std::vector<Times>& ours,
               double Times::*clock) {
  std::vector<double> ratios;
  std::vector<double> eager_ms;
  std::vector<double> our_ms;
  for (std::size_t i = 0; i < eager.size(); ++i) {
    eager_ms.push_back(eager[i].*clock);
    our_ms.push_back(ours[i].*clock);
    ratios.push_back(eager_ms.back() / our_ms.back());
  }
  std::sort(ratios.begin(), ratios.end());
  const auto count = static_cast<double>(ratios.size());
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(count / 2 - 0.98 * std::sqrt(count))));
  const std::size_t high = ratios.size() - 1 - low;
  std::printf("%-12s eager %9.2f ms   ours %9.2f ms   speed %.3f of eager  [%.3f, %.3f]\n", name.c_str(),
              median(eager_ms), median(our_ms), median(ratios), ratios[low], ratios[high]);
}

struct Contender {
  Contender(Config config, Reduction reduction, const Tokens& tokens) {
    config.sync.reduction = reduction;
    auto made = make_stage_executor({config, StageId{0}, 1, "cpu"});
    CHECK(made.ok(), "a cpu");
    executor = std::move(*made);
    trainer = std::make_unique<SingleTrainer>(config, *executor, tokens, clock);
  }
  void step() { CHECK(!trainer->step()->skipped, "a step that trains"); }
  SteadyClock clock;
  std::unique_ptr<StageExecutor> executor;
  std::unique_ptr<SingleTrainer> trainer;
};

int run(const std::string& size, int pairs) {
  const Config config = config_of(size);
  const auto path = std::filesystem::temp_directory_path() / ("shoal-bench-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << synthetic_text(400000);
  const auto tokens = Tokens::open(path, 0.1);
  CHECK(tokens.ok(), "the text can be read");
  std::filesystem::remove(path);
  Contender fast(config, Reduction::kFast, **tokens);
  Contender exact(config, Reduction::kExact, **tokens);
  EagerLoop eager(config, **tokens);
  const int repeats = size == "small" ? 4 : 1;
  std::vector<Times> eager_times;
  std::vector<Times> fast_times;
  std::vector<Times> exact_times;
  for (int pair = -2; pair < pairs; ++pair) {
    const Times e = time_of([&] { eager.step(); }, repeats);
    const Times f = time_of([&] { fast.step(); }, repeats);
    const Times x = time_of([&] { exact.step(); }, repeats);
    if (pair < 0) continue;  // warm up
    eager_times.push_back(e);
    fast_times.push_back(f);
    exact_times.push_back(x);
  }
  std::printf("%s, %d microbatches, %d pairs; %s\n", size.c_str(), kMicrobatches, pairs,
              kernel_fingerprint(config.run.threads).c_str());
  print_row("fast wall", eager_times, fast_times, &Times::wall_ms);
  print_row("fast cpu", eager_times, fast_times, &Times::cpu_ms);
  print_row("exact wall", eager_times, exact_times, &Times::wall_ms);
  print_row("exact cpu", eager_times, exact_times, &Times::cpu_ms);
  return 0;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const std::string size = argc > 1 ? argv[1] : "";
  if (size != "small" && size != "large") {
    std::cerr << "usage: bench_single small|large [PAIRS]\n";
    return 2;
  }
  return shoal::run(size, argc > 2 ? std::atoi(argv[2]) : 10);
}
