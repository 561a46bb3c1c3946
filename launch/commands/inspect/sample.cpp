// `shoal sample`: the prompt and the tokens a checkpoint continues it with, printed as they come, in whole characters.
#include <unistd.h>

#include <cstdio>

#include "launch/child_process.h"
#include "launch/commands/inspect/inspect.h"
#include "launch/commands/run/devices.h"
#include "launch/processes/saved_run.h"
#include "launch/say.h"
#include "runtime/data/tokenizers/tokenizer.h"
#include "runtime/data/utf8_stream.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/text_sampler.h"

namespace shoal {

Result<int> run_sample(const SampleOptions& options) {
  const auto device = settle_one_device(options.device, ask_gpu_driver);
  if (!device) return device.failure();
  if (auto ready = prepare_device(*device, program_folder()); !ready) return ready.failure();
  const auto run = open_saved_run(options.run_directory, options.step);
  if (!run) return run.failure();
  const auto weights = run->checkpoint.weights_image();
  if (!weights) return weights.failure();
  const auto sampler = TextSampler::make(run->config, *weights, *device);
  if (!sampler) return sampler.failure();
  std::vector<std::int32_t> tokens = run->tokenizer->encode(options.prompt);
  if (tokens.empty()) return fail(Error::kUsage, "--prompt is empty; give at least one character");
  const SamplerConfig config{options.temperature, static_cast<int>(options.top_k), options.seed};
  Utf8Stream characters;
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  const auto show = [is_terminal](const std::string& text) { print(is_terminal ? without_controls(text) : text); };
  show(characters.add(options.prompt));
  for (std::uint64_t position = 0; position < options.tokens; ++position) {
    tokens.push_back((*sampler)->next(tokens, config, position));
    show(characters.add(run->tokenizer->bytes_of(tokens.back())));
    std::fflush(stdout);
  }
  print(characters.finish(), "\n");
  return 0;
}

}  // namespace shoal
