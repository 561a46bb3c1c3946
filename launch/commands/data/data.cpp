// The corpora and the order of samples, made visible: what another program needs to train on the same sequences.
#include "launch/commands/data/data.h"

#include <iostream>

#include "runtime/base/error.h"
#include "runtime/data/fetch.h"
#include "runtime/data/order.h"
#include "runtime/data/text.h"
#include "runtime/data/tokenizers/ranks.h"
#include "runtime/data/tokens.h"

namespace shoal {
namespace {

int report(const Failure& failure) {
  std::cerr << "shoal: error: " << failure.message << '\n';
  return exit_code(failure.error);
}

// 0, unless stdout took not everything (a full disk, a closed pipe).
int finish_output() {
  if (std::cout.flush()) return 0;
  return report(fail(Error::kIo, "standard output could not be written to its end."));
}

}  // namespace

int run_data_fetch(const std::string& name) {
  const auto folder = corpora_folder();
  if (!folder) return report(folder.failure());
  const auto path = name == "gpt2" ? fetch_gpt2_ranks(*folder) : fetch_corpus(name, *folder);
  if (!path) return report(path.failure());
  std::cout << path->string() << '\n';
  return finish_output();
}

int run_data_order(const Config& config, std::uint64_t steps) {
  const auto tokens = open_tokens(config);
  if (!tokens) return report(tokens.failure());
  const Order order(order_config(config, (*tokens)->split().train));
  for (StepId step; step.value < steps && std::cout; ++step.value) {
    for (MicrobatchId microbatch; microbatch.value < order.microbatches_per_step(); ++microbatch.value) {
      std::cout << step << ' ' << microbatch;
      for (const std::uint64_t offset : order.offsets(step, microbatch)) std::cout << ' ' << offset;
      std::cout << '\n';
    }
  }
  return finish_output();
}

}  // namespace shoal
