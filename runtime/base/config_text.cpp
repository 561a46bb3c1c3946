// The texts made from the table of keys: the resolved file, launch/KEYS.md, default.toml; and the resume rule.
#include <algorithm>
#include <cctype>

#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"
#include "runtime/base/config_keys.h"

namespace shoal {
namespace {

std::string type_name(const ConfigKey& key) {
  std::string choices;
  switch (key.type) {
    case KeyType::kBoolean: return "boolean";
    case KeyType::kInteger: return "integer";
    case KeyType::kCounts: return "integer or list";
    case KeyType::kReal: return "number";
    case KeyType::kRealPair: return "two numbers";
    case KeyType::kText: return "text";
    case KeyType::kChoiceOrList:
    case KeyType::kChoice:
      for (const auto& choice : key.choices) choices += (choices.empty() ? "`" : ", `") + choice + "`";
      if (key.type == KeyType::kChoiceOrList) return choices + ", or a list";
      return choices.empty() ? "text" : choices;
  }
  return "";
}

std::string range_text(const ConfigKey& key) {
  const bool is_word = key.type == KeyType::kChoice || key.type == KeyType::kChoiceOrList;
  return key.type == KeyType::kText || is_word || key.type == KeyType::kBoolean ? "" : describe_expected(key);
}

// True for what the file leaves out: unresolved sizes, and a vocabulary that the tokenizer's name gives.
bool is_unset(const ConfigKey& key, const Config& config) {
  if (key.path() == "model.vocabulary") {
    return config.model.vocabulary == 0 || named_vocabulary(config.data.tokenizer).has_value();
  }
  return follows_other_keys(key) && key.get(config) == KeyValue(std::int64_t{0});
}

std::string comment_for(const ConfigKey& key) {
  std::string lines = "# " + key.meaning;
  if (key.choices.size() > 1) {
    lines += "\n# one of";
    for (const auto& choice : key.choices) lines += " " + toml_text(KeyValue(choice));
    if (key.type == KeyType::kChoiceOrList) lines += ", or a list as [3, 2, 1]";
  }
  if (!range_text(key).empty()) lines += "\n# " + range_text(key);
  return lines + "\n";
}

}  // namespace

std::string write_config(const Config& config) {
  std::string text = "# The resolved configuration of a run: every key of this version with the value it has.\n";
  std::string section;
  for (const auto& key : config_keys()) {
    if (is_unset(key, config)) continue;
    if (key.section != section) text += "\n[" + key.section + "]\n";
    section = key.section;
    text += key.name + " = " + toml_text(key.get(config)) + "\n";
  }
  return text;
}

std::vector<const ConfigKey*> keys_that_differ(const Config& one, const Config& other) {
  std::vector<const ConfigKey*> differing;
  for (const ConfigKey& key : config_keys()) {
    if (key.get && key.get(one) != key.get(other)) differing.push_back(&key);
  }
  return differing;
}

std::vector<std::string> resume_conflicts(const Config& saved, const Config& now) {
  std::vector<std::string> conflicts;
  for (const ConfigKey* key : keys_that_differ(saved, now)) {
    if (key->resume != ResumeRule::kMayChange) conflicts.push_back(key->path());
  }
  return conflicts;
}

std::string config_table_markdown() {
  std::string text = "| key | type | range | unit | default | meaning |\n|---|---|---|---|---|---|\n";
  for (const auto& key : config_keys()) {
    const std::string standard = key.default_text.empty() ? "" : "`" + key.default_text + "`";
    text += compose("| `", key.path(), "` | ", type_name(key), " | ", describe_bounds(key), " | ", key.unit, " | ",
                    standard, " | ", key.meaning, " |\n");
  }
  return text;
}

std::string default_config_toml() {
  std::string text =
      "# Every key of this version with its default and its meaning. A file needs only the keys it changes;\n"
      "# every key also goes as --set section.key=value (first) and as SHOAL_SECTION_KEY (second).\n";
  std::string section;
  for (const auto& key : config_keys()) {
    if (key.section != section) text += "\n[" + key.section + "]\n";
    section = key.section;
    const bool follows = is_unset(key, Config{});
    text += comment_for(key) + (follows ? "# " : "") + key.name + " = " + key.default_text + "\n";
  }
  return text;
}

}  // namespace shoal
