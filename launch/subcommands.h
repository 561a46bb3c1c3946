// Running one of a program's subcommands: help, options, and the way from a Failure or a Bug to words and exit status.
// Commands return values; this is the one place that prints why one failed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/options.h"
#include "runtime/base/error.h"

namespace shoal {

struct Subcommand {
  const CommandSpec* spec = nullptr;
  std::function<Result<int>(const Options&)> run;
};

// Calls a command whose options need checking first: bind(train_options, run_train).
template <class Checked, class Given>
std::function<Result<int>(const Options&)> bind(Result<Checked> (*check)(const Options&), Result<int> (*run)(Given)) {
  return [check, run](const Options& options) -> Result<int> {
    const auto checked = check(options);
    if (!checked) return checked.failure();
    return run(*checked);
  };
}

// The subcommand that the first one or two words name, or nullptr; `words` is left with its arguments.
[[nodiscard]] const Subcommand* take_subcommand(const std::vector<Subcommand>& all, std::vector<std::string>& words);

// Its --help on stdout, or the command itself. Returns the exit status.
[[nodiscard]] int run_subcommand(const Subcommand& subcommand, const std::vector<std::string>& arguments);

// `code` when all that was printed has left this program; else says so, and the status of that.
[[nodiscard]] int after_output(int code);

// "shoal: error: ..." on stderr, and the exit status of that error.
[[nodiscard]] int report(const Failure& failure);

}  // namespace shoal
