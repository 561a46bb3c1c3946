// `shoal-worker`: what computes. Started by shoal and its keepers; nobody needs to type it.
#include "launch/arguments.h"
#include "launch/child_process.h"
#include "launch/commands/inspect/versions.h"
#include "launch/commands/run/device_memory.h"
#include "launch/inherited.h"
#include "launch/interface.h"
#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "launch/subcommands.h"
#include "runtime/base/machine/thread_room.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/device/gemm_choice.h"
#include "runtime/device/nccl/nccl_library.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/speed_probe.h"

namespace shoal {
namespace {

const CommandSpec& fingerprint_command() {
  static const CommandSpec command{"fingerprint", "Prints the kernel fingerprint for one thread.", {}, {}, ""};
  return command;
}

const CommandSpec& features_command() {
  static const CommandSpec command{
      "features",
      "Prints what this build can use, one feature a line.",
      {},
      {{kWithoutGpuPart, OptionKind::kFlag, "", "leave the part for GPUs alone, and say nothing of it"}},
      ""};
  return command;
}

// Loads what is there, whatever this machine can do with it; bf16 is there if a product of it can be made.
Result<int> print_features(const Options& options) {
  if (!options.has(kWithoutGpuPart)) {
    const auto plugin = open_plugin(program_folder() + "/" + kDevicePluginFile);
    const bool is_damaged = !plugin && plugin.failure().error == Error::kInvalidData;
    print("cuda ", plugin ? "yes" : (is_damaged ? "damaged " : "no ") + plugin.failure().message, "\n");
  }
  const auto nccl = open_nccl();
  print("nccl ", nccl ? "yes" : "no " + nccl.failure().message, "\n");
  const Status bf16 = check_bf16_products();
  print("bf16 ", bf16 ? "yes" : "no " + bf16.failure().message, "\n");
  return 0;
}

Result<int> print_fingerprint(const Options&) {
  prepare_process_for_compute();
  print(kernel_fingerprint(1), "\n");
  return 0;
}

const CommandSpec& speed_command() {
  static const CommandSpec command{"speed", "Prints what one thread computes, as it is stated at a join.", {}, {}, ""};
  return command;
}

Result<int> print_speed(const Options&) {
  print(number_text(2e-9 * static_cast<double>(measure_multiply_adds_s(Precision::kFp32)), 1), " GFLOP/s\n");
  return 0;
}

// A library that is refused a thread ends the process, or hangs. What cannot be read of the run, the command itself
// says.
Status check_threads_of(const std::string& run_directory) {
  const auto config = read_run_config(run_directory);
  return config ? check_thread_room(threads_to_compute(static_cast<std::size_t>(config->run.threads))) : Status(Done{});
}

template <auto kCommand, class Options>
Result<int> on_its_device(const Options& options) {
  if (const auto room = check_threads_of(options.run_directory); !room) return room.failure();
  return run_on_device(options.device, [&options] { return kCommand(options); });
}

std::vector<Subcommand> subcommands() {
  return {
      {&worker_node_command(), bind(worker_node_options, run_worker_node)},
      {&single_command(), bind(single_options, on_its_device<run_single, SingleOptions>)},
      {&command_named("eval"), bind(eval_options, on_its_device<run_eval, EvalOptions>)},
      {&command_named("sample"), bind(sample_options, on_its_device<run_sample, SampleOptions>)},
      {&command_named("init"), bind(init_options, run_init)},
      {&fingerprint_command(), print_fingerprint},
      {&features_command(), print_features},
      {&speed_command(), print_speed},
  };
}

int run(std::vector<std::string> words) {
  const auto all = subcommands();
  const Subcommand* subcommand = words.empty() ? nullptr : take_subcommand(all, words);
  if (subcommand != nullptr) return run_subcommand(*subcommand, words);
  return report(fail(Error::kUsage, "shoal-worker is started by shoal; see: shoal --help"));
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  shoal::begin_program();
  return shoal::run({argv + 1, argv + argc});
}
