// Commands that look at a run. Results go to stdout; each returns the process's exit status.
// The structs hold checked values (arguments.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/processes/live_run.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

enum class OutputForm { kText, kJson };

// `shoal status`. Errors: kUnreachable.
struct StatusOptions {
  RunLocator where;
  OutputForm form = OutputForm::kText;
};
[[nodiscard]] Result<int> run_status(const StatusOptions& options);

// `shoal ps`: every actor of every process. Errors: kUnreachable.
struct PsOptions {
  RunLocator where;
  OutputForm form = OutputForm::kText;
};
[[nodiscard]] Result<int> run_ps(const PsOptions& options);

// `shoal logs`: the lines of an actor or a node, from the run directory. Errors: kUsage (there is no such log).
struct LogsOptions {
  std::string run_directory;
  std::string name;
  bool follow = false;
};
[[nodiscard]] Result<int> run_logs(const LogsOptions& options);

// `shoal eval`: "loss", "perplexity", "bits per byte" of a checkpoint over the run's validation tokens, or a file's.
struct EvalOptions {
  std::string run_directory;
  std::optional<std::uint64_t> step;  // steps applied; absent: the newest checkpoint
  std::optional<std::string> data;
  int batches = 0;  // the first batches, of batch.sequences windows each; 0: all
  OutputForm form = OutputForm::kText;
  std::string device = "cpu";  // cpu | cuda:N
};
[[nodiscard]] Result<int> run_eval(const EvalOptions& options);

// `shoal sample`: the prompt and what follows it.
struct SampleOptions {
  std::string run_directory;
  std::optional<std::uint64_t> step;
  std::string prompt = "\n";
  std::uint64_t tokens = 200;
  double temperature = 0.8;  // 0: the likeliest token
  std::uint64_t top_k = 0;   // 0: all
  std::uint64_t seed = 1;
  std::string device = "cpu";  // cpu | cuda:N
};
[[nodiscard]] Result<int> run_sample(const SampleOptions& options);

// `shoal export`: config.json and model.safetensors into a folder.
struct ExportOptions {
  std::string run_directory;
  std::string to;
  std::optional<std::uint64_t> step;
};
[[nodiscard]] Result<int> run_export(const ExportOptions& options);

// `shoal doctor`, `shoal version`.
struct DoctorOptions {
  OutputForm form = OutputForm::kText;
  std::optional<HostPort> join;  // a spawner that this machine is to join
};
[[nodiscard]] Result<int> run_doctor(const DoctorOptions& options);
[[nodiscard]] Result<int> run_version(OutputForm form);

}  // namespace shoal
