// Rules are kept in the order they were said and read from the first to the last.
#include "tests/emulator/link_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

const std::map<std::string, LinkVerb, std::less<>>& verbs() {
  static const std::map<std::string, LinkVerb, std::less<>> known = {
      {"shape", LinkVerb::kShape}, {"cut", LinkVerb::kCut},         {"stall", LinkVerb::kStall},
      {"heal", LinkVerb::kHeal},   {"corrupt", LinkVerb::kCorrupt}, {"duplicate", LinkVerb::kDuplicate},
      {"reset", LinkVerb::kReset}};
  return known;
}

bool takes(LinkVerb verb, std::string_view key) {
  if (verb == LinkVerb::kCut || verb == LinkVerb::kStall) return key == "for_ms";
  if (verb != LinkVerb::kShape) return false;
  return key == "delay_ms" || key == "jitter_ms" || key == "bytes_per_s" || key == "corrupt_per_mib" ||
         key == "duplicate_per_mib";
}

Failure refuse(std::string_view text, const std::string& what) {
  return fail(Error::kUsage, compose("'", text, "': ", what));
}

Status read_value(const std::string& word, LinkCommand& command) {
  const auto equals = word.find('=');
  const std::string key = word.substr(0, equals);
  if (equals == std::string::npos || !takes(command.verb, key)) return refuse(word, "no such key for this verb");
  double value = 0;
  const char* first = word.data() + equals + 1;
  const char* last = word.data() + word.size();
  const auto read = std::from_chars(first, last, value);
  if (first == last || read.ec != std::errc() || read.ptr != last || !std::isfinite(value) || value < 0) {
    return refuse(word, "expected a number of at least 0");
  }
  command.values[key] = value;
  return Done{};
}

Duration from_ms(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(value));
}

void shape(const std::map<std::string, double>& values, LinkFaults& faults) {
  for (const auto& [key, value] : values) {
    if (key == "delay_ms") faults.delay = from_ms(value);
    if (key == "jitter_ms") faults.jitter = from_ms(value);
    if (key == "bytes_per_s") faults.bytes_per_second = value;
    if (key == "corrupt_per_mib") faults.corrupt_per_mib = value;
    if (key == "duplicate_per_mib") faults.duplicate_per_mib = value;
  }
}

bool matches(const std::string& pattern, const std::string& name) { return pattern == "*" || pattern == name; }

}  // namespace

bool LinkCommand::concerns(const std::string& sender, const std::string& receiver) const {
  if (matches(from, sender) && matches(to, receiver)) return true;
  return is_both_ways && matches(from, receiver) && matches(to, sender);
}

Result<LinkCommand> parse_link_command(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string verb;
  std::string arrow;
  LinkCommand command;
  words >> verb >> command.from >> arrow >> command.to;
  const auto known = verbs().find(verb);
  if (known == verbs().end()) return refuse(text, "expected shape, cut, stall, heal, corrupt, duplicate or reset");
  if (command.to.empty() || (arrow != "->" && arrow != "<->")) return refuse(text, "expected NAME -> NAME, or <->");
  command.verb = known->second;
  command.is_both_ways = arrow == "<->";
  for (std::string word; words >> word;) {
    if (auto status = read_value(word, command); !status) return status.failure();
  }
  return command;
}

void LinkRules::apply(LinkCommand command, Instant now) {
  std::optional<Instant> until;
  if (const auto limit = command.values.find("for_ms"); limit != command.values.end()) {
    until = now + from_ms(limit->second);
  }
  rules_.push_back({std::move(command), until});
}

LinkFaults LinkRules::faults(const std::string& sender, const std::string& receiver, Instant now) const {
  LinkFaults faults;
  for (const Rule& rule : rules_) {
    if (!rule.command.concerns(sender, receiver) || (rule.until && now >= *rule.until)) continue;
    switch (rule.command.verb) {
      case LinkVerb::kShape: shape(rule.command.values, faults); break;
      case LinkVerb::kCut: faults.is_cut = true; break;
      case LinkVerb::kStall: faults.is_stalled = true; break;
      case LinkVerb::kHeal: faults = LinkFaults{}; break;
      case LinkVerb::kCorrupt:
      case LinkVerb::kDuplicate:
      case LinkVerb::kReset: break;
    }
  }
  return faults;
}

std::optional<Instant> LinkRules::next_change(Instant now) const {
  std::optional<Instant> next;
  for (const Rule& rule : rules_) {
    if (rule.until && *rule.until > now) next = std::min(next.value_or(*rule.until), *rule.until);
  }
  return next;
}

}  // namespace shoal
