// The gates are those of the house style; a change here is a change of the style.
#include "tests/tidy/rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "tests/tidy/outline.h"
#include "tests/tidy/repository.h"

namespace shoal::tidy {
namespace {

constexpr std::size_t kHeaderLinesMax = 250;
constexpr std::size_t kSourceLinesMax = 500;
constexpr std::size_t kTestFileLinesMax = 600;
constexpr std::size_t kFunctionLinesMax = 70;
constexpr std::size_t kActorFunctionLinesMax = 40;
constexpr std::size_t kBehaviorLinesMax = 50;
constexpr std::size_t kHandlerLinesMax = 5;
constexpr std::size_t kParametersMax = 5;
constexpr std::size_t kStateFieldsMax = 12;
constexpr std::size_t kMessagesMax = 12;
constexpr std::size_t kColumnsMax = 120;

bool is_header(const std::string& path) { return path.ends_with(".h") || path.ends_with(".cuh"); }
bool is_in(const std::string& path, std::string_view folder) { return path.starts_with(std::string(folder) + "/"); }

std::string exceeds(std::string_view what, std::size_t count, std::size_t gate) {
  return std::string(what) + ": " + std::to_string(count) + ", at most " + std::to_string(gate);
}

bool is_behavior(const Function& function) {
  return function.head.find("behavior_type") != std::string::npos && function.body_end > 0;
}

std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }));
}

// A folder and the folders of this repository whose headers it may include; the longest matching name counts.
struct Arrow {
  std::string_view from;
  std::vector<std::string_view> to;
};

const Arrow* arrow_of(const std::string& path) {
  static const std::vector<Arrow> kArrows = {
      {"messages", {"messages"}},
      {"model", {"model", "runtime/base"}},  // errors, config and the counter-based generator; still no logic of ours
      {"runtime/device", {"runtime", "messages", "model"}},
      {"runtime", {"runtime", "messages"}},
      {"actors", {"actors", "runtime", "messages"}},
      {"launch", {"launch", "actors", "runtime", "messages", "model"}},
      {"tests", {"tests", "launch", "actors", "runtime", "messages", "model"}},
  };
  const auto found = std::ranges::find_if(kArrows, [&](const Arrow& arrow) { return is_in(path, arrow.from); });
  return found == kArrows.end() ? nullptr : &*found;
}

bool may_include(const std::string& path, const Arrow& arrow, const std::string& target) {
  const bool is_device = is_in(target, "runtime/device");
  const bool may_see_device = is_in(path, "runtime/device") || is_in(path, "launch") || is_in(path, "tests");
  if (is_device && !may_see_device) return false;
  return std::ranges::any_of(arrow.to, [&](std::string_view folder) { return is_in(target, folder); });
}

bool may_see_torch(const std::string& path) {
  return is_in(path, "model") || is_in(path, "runtime/device") || is_in(path, "launch") || is_in(path, "tests");
}

bool is_torch(const std::string& target) {
  return is_in(target, "torch") || is_in(target, "ATen") || is_in(target, "c10");
}

// Actors are everywhere that CAF is; in runtime/ only the TLS middleman is one.
bool may_see_caf(const std::string& path) {
  return !is_in(path, "model") && (!is_in(path, "runtime") || is_in(path, "runtime/transport"));
}

void forbid_words(Findings& findings, const SourceFile& source, const std::vector<std::string_view>& words,
                  const std::string& why) {
  for (const std::string_view word : words) {
    for (const std::size_t at : find_word(source.code, word)) {
      findings.push_back({source.path, line_at(source.code, at), std::string(word) + ": " + why});
    }
  }
}

// A struct of a conversation is a message unless another struct there has it as a part.
bool is_message(const SourceFile& source, const std::vector<Type>& types, const Type& type) {
  const auto places = find_word(source.code, type.name);
  const auto has_part = [&](const Type& other) {
    const auto is_inside = [&](std::size_t at) { return at > other.body_begin && at < other.body_end; };
    return other.name != type.name && std::ranges::any_of(places, is_inside);
  };
  return !type.is_nested && std::ranges::none_of(types, has_part);
}

}  // namespace

void add_if_over(Findings& findings, const Finding& at, std::size_t count, std::size_t gate) {
  if (count > gate) findings.push_back({at.path, at.line, exceeds(at.what, count, gate)});
}

Findings check_file_length(const SourceFile& source) {
  Findings findings;
  const std::size_t lines = lines_of(source.text).size();
  const std::size_t gate = is_in(source.path, "tests") ? kTestFileLinesMax
                           : is_header(source.path)    ? kHeaderLinesMax
                                                       : kSourceLinesMax;
  add_if_over(findings, {source.path, 0, "lines of file"}, lines, gate);
  return findings;
}

Findings check_functions(const SourceFile& source) {
  Findings findings;
  for (const Function& function : outline_of(source).functions) {
    const std::size_t lines = function.last_line - function.first_line + 1;
    const std::size_t gate = is_behavior(function)          ? kBehaviorLinesMax
                             : is_in(source.path, "actors") ? kActorFunctionLinesMax
                                                            : kFunctionLinesMax;
    add_if_over(findings, {source.path, function.first_line, "lines of " + function.name}, lines, gate);
    add_if_over(findings, {source.path, function.first_line, "parameters of " + function.name + " (use a struct)"},
                function.parameter_count, kParametersMax);
  }
  return findings;
}

Findings check_handlers(const SourceFile& source) {
  Findings findings;
  if (!is_in(source.path, "actors")) return findings;
  for (const Function& function : outline_of(source).functions) {
    if (!is_behavior(function)) continue;
    for (const Lambda& lambda : lambdas_in(source, function)) {
      add_if_over(findings, {source.path, lambda.first_line, "lines of a handler (its logic belongs in the core)"},
                  lambda.body_line_count, kHandlerLinesMax);
    }
  }
  return findings;
}

Findings check_state_fields(const SourceFile& source) {
  Findings findings;
  if (!is_in(source.path, "actors")) return findings;
  for (const Type& type : outline_of(source).types) {
    if (!type.name.ends_with("State")) continue;
    add_if_over(findings, {source.path, type.line, "fields of " + type.name}, type.field_count, kStateFieldsMax);
  }
  return findings;
}

Findings check_message_count(const SourceFile& source) {
  Findings findings;
  if (!is_in(source.path, "messages") || !is_header(source.path)) return findings;
  const auto types = outline_of(source).types;
  const auto count = std::ranges::count_if(types, [&](const Type& type) { return is_message(source, types, type); });
  add_if_over(findings, {source.path, 0, "messages of a conversation"}, static_cast<std::size_t>(count), kMessagesMax);
  return findings;
}

Findings check_line_lengths(const SourceFile& source) {
  Findings findings;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(source.text)) {
    add_if_over(findings, {source.path, ++number, "columns of line"}, columns_of(line), kColumnsMax);
  }
  return findings;
}

Findings check_arrows(const SourceFile& source) {
  Findings findings;
  const Arrow* arrow = arrow_of(source.path);
  if (arrow == nullptr) return {{source.path, 0, "lies in no folder of the house"}};
  for (const Include& include : includes_of(source)) {
    std::string wrong;
    if (include.is_system && is_torch(include.target) && !may_see_torch(source.path)) {
      wrong = "only model/, runtime/device/ and launch/ see torch";
    } else if (include.is_system && is_in(include.target, "caf") && !may_see_caf(source.path)) {
      wrong = "CAF stays out of model/ and of runtime/ but for runtime/transport/";
    } else if (!include.is_system && !may_include(source.path, *arrow, include.target)) {
      wrong = "against the arrows between folders, or not a path from the repository's root";
    }
    if (!wrong.empty()) findings.push_back({source.path, include.line, "#include " + include.target + ": " + wrong});
  }
  return findings;
}

Findings check_opening(const SourceFile& source) {
  Findings findings;
  const auto lines = lines_of(source.text);
  const auto is_comment = [](std::string_view line) { return line.starts_with("//"); };
  const auto comment_end = std::ranges::find_if_not(lines, is_comment);
  const std::ptrdiff_t lines_min = is_header(source.path) ? 2 : 1;  // a source's contract stands in its header
  if (comment_end - lines.begin() < lines_min) {
    findings.push_back({source.path, 1, "no opening comment (two lines or more in a header): what, invariant, why"});
  }
  if (is_header(source.path)) {
    const bool guarded = std::ranges::find(lines, "#pragma once") != lines.end();
    if (!guarded) findings.push_back({source.path, 0, "a header without #pragma once"});
  }
  return findings;
}

Findings check_own_header_first(const SourceFile& source) {
  const auto includes = includes_of(source);
  const std::string own = source.path.substr(0, source.path.rfind('.')) + ".h";
  const auto found = std::ranges::find(includes, own, &Include::target);
  if (found == includes.end()) return {{source.path, 0, "does not include its own header " + own}};
  if (found == includes.begin()) return {};
  return {{source.path, found->line, "its own header comes first: so it compiles alone (SHOAL_TOGETHER=OFF)"}};
}

Findings check_own_namespace(const SourceFile& source) {
  const std::string file = name_of(source.path);
  const std::string own = file.substr(0, file.rfind('.'));
  const std::string with_folder = name_of(folder_of(source.path)) + "_" + own;
  for (const std::string& name : {own, with_folder}) {
    if (source.code.find("::" + name + " {\n") != std::string::npos) return {};
  }
  return {{source.path, 0, "a test has a namespace of its own, called as its file: namespace shoal::" + own}};
}

Findings check_forbidden_words(const SourceFile& source) {
  Findings findings;
  const bool is_test = is_in(source.path, "tests");
  if (!is_test && !is_in(source.path, "launch")) {
    forbid_words(findings, source, {"printf", "fprintf", "puts", "cout"},
                 "only launch/ prints; see runtime/base/log.h");
  }
  if (is_test) {
    forbid_words(findings, source, {"sleep", "usleep", "nanosleep", "sleep_for", "sleep_until"},
                 "tests do not sleep; wait for the event, or pass the time in");
  }
  for (std::size_t at = source.code.find("[="); at != std::string::npos; at = source.code.find("[=", at + 1)) {
    const std::size_t next = source.code.find_first_not_of(" =", at + 1);
    if (next == std::string::npos || (source.code[next] != ']' && source.code[next] != ',')) continue;
    findings.push_back({source.path, line_at(source.code, at), "[=] hides what a lambda keeps alive: capture by name"});
  }
  for (const std::size_t at : find_word(source.code, "using")) {
    const bool names_namespace = trimmed(std::string_view(source.code).substr(at + 5)).starts_with("namespace");
    if (!is_header(source.path) || !names_namespace) continue;
    findings.push_back({source.path, line_at(source.code, at), "using namespace in a header"});
  }
  return findings;
}

}  // namespace shoal::tidy
