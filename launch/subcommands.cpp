// The edge where a Failure and a Bug become words and an exit status.
#include "launch/subcommands.h"

#include <exception>

#include "launch/say.h"
#include "runtime/base/machine/memory_lack.h"

namespace shoal {

const Subcommand* take_subcommand(const std::vector<Subcommand>& all, std::vector<std::string>& words) {
  for (const std::size_t length : {std::size_t{2}, std::size_t{1}}) {
    if (words.size() < length) continue;
    const std::string name = length == 1 ? words[0] : words[0] + " " + words[1];
    for (const auto& subcommand : all) {
      if (subcommand.spec->name != name) continue;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(length));
      return &subcommand;
    }
  }
  return nullptr;
}

int run_subcommand(const Subcommand& subcommand, const std::vector<std::string>& arguments) {
  if (asks_for_help(arguments)) {
    print(help_text(*subcommand.spec));
    return after_output(0);
  }
  try {
    const auto options = parse_options(*subcommand.spec, arguments);
    if (!options) return report(options.failure());
    const auto code = subcommand.run(*options);
    if (!code) return report(code.failure());
    return after_output(*code);
  } catch (const std::exception& problem) {
    if (is_lack_of_memory(problem)) {
      return report(fail(Error::kInternal, compose("this machine gives no more memory or threads (", problem.what(),
                                                   "); see `ulimit -a` and what else runs here")));
    }
    return report(fail(Error::kInternal, compose(problem.what(), "; this is a bug of the program")));
  }
}

int after_output(int code) {
  if (output_was_taken()) return code;
  return report(fail(Error::kIo, "cannot write to standard output: is its disk full?"));
}

int report(const Failure& failure) {
  say("error: ", failure.message);
  return exit_code(failure.error);
}

}  // namespace shoal
