// One walk over the words; what an option takes decides how many of them are its own.
#include "launch/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/compose.h"
#include "runtime/base/text/shell_word.h"

namespace shoal {
namespace {

constexpr std::size_t kMeaningColumn = 28;
constexpr double kMostSeconds = 10.0 * 365 * 86400;

bool looks_like_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// No option is called so: it is a value, whose refusal names the option.
bool looks_like_negative_number(std::string_view word) {
  const auto is_part = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  return looks_like_option(word) && is_part(word[1]);
}

std::string shown(const std::string& value) { return value.empty() ? "''" : value; }

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string text_of(std::uint64_t limit) { return compose(limit); }

// Without an exponent where it is a whole number: 315360000.
std::string text_of(double limit) {
  constexpr double kExact = 1e15;
  const bool is_whole = std::trunc(limit) == limit && std::abs(limit) < kExact;
  return is_whole ? compose(static_cast<std::int64_t>(limit)) : compose(limit);
}

template <class Number>
Failure out_of_range(std::string_view name, const std::string& text, std::string_view kind, Number least, Number most) {
  const bool is_bounded = most < std::numeric_limits<Number>::max();
  return fail(Error::kUsage, compose(name, " ", shown(text), ": expected ", kind, " of at least ", text_of(least),
                                     is_bounded ? ", at most " + text_of(most) : std::string()));
}

std::string usage_of(const OptionSpec& option) {
  switch (option.kind) {
    case OptionKind::kFlag: return "[" + option.name + "]";
    case OptionKind::kRequired: return option.name + " " + option.value;
    case OptionKind::kValue: return "[" + option.name + " " + option.value + "]";
    case OptionKind::kRepeated: return "[" + option.name + " " + option.value + "]...";
    case OptionKind::kOptionalValue: return "[" + option.name + " [" + option.value + "]]";
  }
  return "";
}

std::string line_of(const std::string& left, const std::string& meaning) {
  const std::size_t width = left.size() + 2;
  const std::string gap = width < kMeaningColumn ? std::string(kMeaningColumn - width, ' ') : "  ";
  return "  " + left + gap + meaning + "\n";
}

}  // namespace

// Walks over the words once, filling an Options.
class OptionReader {
 public:
  OptionReader(const CommandSpec& command, const std::vector<std::string>& words) : command_(command), words_(words) {}

  Result<Options> read() {
    while (next_ < words_.size()) {
      if (auto status = read_word(words_[next_++]); !status) return status.failure();
    }
    for (std::size_t i = options_.positionals_.size(); i < command_.positionals.size(); ++i)
      if (command_.positionals[i].is_required) return refuse(command_.positionals[i].name + " is missing");
    for (const auto& option : command_.options) {
      const bool is_missing = option.kind == OptionKind::kRequired && !options_.has(option.name);
      if (is_missing) return refuse(option.name + " " + option.value + " is missing");
    }
    return std::move(options_);
  }

 private:
  Failure refuse(const std::string& what) const {
    return fail(Error::kUsage, compose(command_.name, ": ", what, "; see: shoal ", command_.name, " --help"));
  }

  Status read_word(const std::string& word) {
    if (word == "--" && !only_positionals_) {
      only_positionals_ = true;
      return Done{};
    }
    if (!only_positionals_ && looks_like_option(word)) return read_option(word);
    const auto& specs = command_.positionals;
    const std::size_t read = options_.positionals_.size();
    const bool has_room = read < specs.size() || (!specs.empty() && specs.back().is_repeated);
    if (!has_room) return refuse("one word too many: '" + word + "'");
    if (word.empty()) return refuse(specs[std::min(read, specs.size() - 1)].name + " is empty");
    options_.positionals_.push_back(word);
    return Done{};
  }

  Status read_option(const std::string& word) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionSpec* option = spec_of(name);
    if (option == nullptr) return unknown(name);
    auto& values = options_.given_[name];
    if (equals != std::string::npos) {
      if (option->kind == OptionKind::kFlag) return refuse(name + " takes no value");
      return take(*option, word.substr(equals + 1), values);
    }
    return read_values(*option, values);
  }

  // An empty value is a variable of a script that was not set: what it stands for is not guessed.
  Status take(const OptionSpec& option, const std::string& value, std::vector<std::string>& values) {
    if (value.empty() && !option.may_be_empty) return needs_value(option);
    values.push_back(value);
    return Done{};
  }

  [[nodiscard]] Failure needs_value(const OptionSpec& option) const {
    return refuse(option.name + " needs a value: " + option.value);
  }

  // Says of a word that begins with a dash, and is no option of this command, how it would be a value.
  [[nodiscard]] Failure needs_value_next(const OptionSpec& option) const {
    const bool is_last = next_ == words_.size() || words_[next_] == "--";
    if (is_last || spec_of(words_[next_].substr(0, words_[next_].find('='))) != nullptr) return needs_value(option);
    return refuse(compose(option.name, " needs a value: ", option.value, "; one that begins with a dash is written ",
                          option.name, "=", shell_word(words_[next_])));
  }

  [[nodiscard]] const OptionSpec* spec_of(std::string_view name) const {
    const auto option = std::ranges::find(command_.options, name, &OptionSpec::name);
    return option == command_.options.end() ? nullptr : &*option;
  }

  Status read_values(const OptionSpec& option, std::vector<std::string>& values) {
    if (option.kind == OptionKind::kFlag) return Done{};
    if (!has_value_next()) {
      if (option.kind == OptionKind::kOptionalValue) return Done{};
      return needs_value_next(option);
    }
    if (auto status = take(option, words_[next_++], values); !status) return status;
    // Words after a repeated option are more of its values; a command with positionals takes one per option.
    const bool goes_on = option.kind == OptionKind::kRepeated && command_.positionals.empty();
    while (goes_on && has_value_next()) {
      if (auto status = take(option, words_[next_++], values); !status) return status;
    }
    return Done{};
  }

  [[nodiscard]] bool has_value_next() const {
    return next_ < words_.size() && (!looks_like_option(words_[next_]) || looks_like_negative_number(words_[next_]));
  }

  Failure unknown(const std::string& name) const {
    std::vector<std::string> names{"--help"};
    for (const auto& option : command_.options) names.push_back(option.name);
    return refuse("unknown option '" + name + "'" + did_you_mean(name, names));
  }

  const CommandSpec& command_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  bool only_positionals_ = false;
  Options options_;
};

std::optional<std::string> Options::value(std::string_view name) const {
  const auto found = given_.find(name);
  if (found == given_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Options::values(std::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? std::vector<std::string>() : found->second;
}

std::optional<std::string> Options::positional(std::size_t index) const {
  if (index >= positionals_.size()) return std::nullopt;
  return positionals_[index];
}

Result<std::optional<std::uint64_t>> Options::count(std::string_view name, std::uint64_t least,
                                                    std::uint64_t most) const {
  const auto text = value(name);
  if (!text) return std::optional<std::uint64_t>();
  const auto number = number_in<std::uint64_t>(*text);
  if (number && *number >= least && *number <= most) return number;
  return out_of_range(name, *text, "a whole number", least, most);
}

Result<std::optional<double>> Options::number(std::string_view name, double least, double most) const {
  const auto text = value(name);
  if (!text) return std::optional<double>();
  const auto number = number_in<double>(*text);
  if (number && std::isfinite(*number) && *number >= least && *number <= most) return number;
  return out_of_range(name, *text, "a number", least, most);
}

Result<std::optional<double>> Options::seconds(std::string_view name, double least) const {
  return number(name, least, kMostSeconds);
}

Result<Options> parse_options(const CommandSpec& command, const std::vector<std::string>& arguments) {
  return OptionReader(command, arguments).read();
}

bool asks_for_help(const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::any_of(arguments.begin(), end, [](const auto& word) { return word == "--help" || word == "-h"; });
}

std::string help_text(const CommandSpec& command) {
  std::string text = "usage: shoal " + command.name;
  for (const auto& positional : command.positionals)
    text += (positional.is_required ? " " + positional.name : " [" + positional.name + "]") +
            (positional.is_repeated ? "..." : "");
  for (const auto& option : command.options) {
    const std::string usage = usage_of(option);
    if (!usage.empty()) text += " " + usage;
  }
  text += "\n\n" + command.summary + "\n\n";
  for (const auto& positional : command.positionals) text += line_of(positional.name, positional.meaning);
  for (const auto& option : command.options) {
    text += line_of(option.value.empty() ? option.name : option.name + " " + option.value, option.meaning);
  }
  text += line_of("--help", "this text");
  return command.details.empty() ? text : text + "\n" + command.details + "\n";
}

}  // namespace shoal
