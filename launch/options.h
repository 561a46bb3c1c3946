// Command lines: what a subcommand takes, as data; parsing and --help come from the same lines.
//
// `--name value`, `--name=value`, `--` before positionals that begin with a dash. An unknown option, a missing value or
// a word too many is an Error::kUsage that names the nearest option. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

enum class OptionKind {
  kFlag,           // --json
  kValue,          // --out DIR; the last of several wins
  kRequired,       // the same, and refused without
  kRepeated,       // --set k=v --set k=v, and also --join a b: values up to the next option
  kOptionalValue,  // --resume [DIR]
};

struct OptionSpec {
  std::string name;  // with its dashes
  OptionKind kind = OptionKind::kFlag;
  std::string value;  // stands for the value in --help: "DIR"
  std::string meaning;
  bool may_be_empty = false;  // its value; an empty one of any other option is refused
};

struct PositionalSpec {
  std::string name;  // "CONFIG"
  bool is_required = false;
  std::string meaning;
  bool is_repeated = false;  // one or more of it; the last one of a command only
};

struct CommandSpec {
  std::string name;  // as typed after `shoal`; two words for "data fetch"
  std::string summary;
  std::vector<PositionalSpec> positionals;
  std::vector<OptionSpec> options;
  std::string details;  // paragraphs at the end of --help
};

// Options as they were given. Asking for an option that the command does not have is a bug.
class Options {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return given_.contains(name); }
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& positionals() const { return positionals_; }
  [[nodiscard]] std::optional<std::string> positional(std::size_t index) const;

  // A whole number from `least` to `most`; nothing when the option was not given. Errors: kUsage.
  [[nodiscard]] Result<std::optional<std::uint64_t>> count(
      std::string_view name, std::uint64_t least, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
  // A finite number from `least` to `most`. Errors: kUsage.
  [[nodiscard]] Result<std::optional<double>> number(std::string_view name, double least,
                                                     double most = std::numeric_limits<double>::max()) const;
  // A time, up to ten years: what is beyond overflows clocks. Errors: kUsage.
  [[nodiscard]] Result<std::optional<double>> seconds(std::string_view name, double least) const;

 private:
  friend class OptionReader;
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
  std::vector<std::string> positionals_;
};

// Arguments after the command's name. Errors: kUsage.
[[nodiscard]] Result<Options> parse_options(const CommandSpec& command, const std::vector<std::string>& arguments);

[[nodiscard]] bool asks_for_help(const std::vector<std::string>& arguments);

// "usage: shoal train [CONFIG] [--set KEY=VALUE]...", then one line per positional and option, then the details.
[[nodiscard]] std::string help_text(const CommandSpec& command);

}  // namespace shoal
