// Reads a valid Config from a TOML file, the environment and --set, and writes it as text.
//
// Flags beat the environment beats the file beats the defaults. A Config that load_config() or parse_config() returned
// has every value in range and every cross-check done; a refusal names the place, what was expected and the nearest
// name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

struct ConfigSources {
  std::optional<std::string> path;                               // a TOML file
  std::vector<std::pair<std::string, std::string>> environment;  // SHOAL_SECTION_KEY and its value
  std::vector<std::string> sets;                                 // "section.key=value", the last of equals wins
  std::vector<std::string> defaults{};                           // as sets; all others beat them
  bool is_single = false;                                        // for one process without actors
};

// The vocabulary of a tokenizer that has a name: bytes, gpt2. Nothing for the path of one.
[[nodiscard]] std::optional<int> named_vocabulary(std::string_view tokenizer);

// The key of "section.key=value"; there may be spaces around it.
[[nodiscard]] std::string key_of_set(std::string_view assignment);

// The variables of this process named SHOAL_*. Only those of the form SHOAL_SECTION_KEY are configuration.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> shoal_environment();

// optim.decay_steps is resolved to run.steps where nothing sets it, a llama's sizes from its others, model.vocabulary
// to that of a tokenizer with a name; with the path of one it is 0 until settle_vocabulary()
// (runtime/data/tokenizers/tokenizer.h) has read the file. Errors: kUsage; kUsage too where `path` cannot be read, for
// the person named it.
[[nodiscard]] Result<Config> load_config(const ConfigSources& sources);

// A key that a person has set and that has no effect with the others as they are.
struct IdleKey {
  std::string path;
  std::string because;          // the setting that makes it idle: "sync.mode = \"every_step\""
  bool stands_in_file = false;  // true: neither flag nor environment says it
  friend bool operator==(const IdleKey&, const IdleKey&) = default;
};
struct LoadedConfig {
  Config config;
  std::vector<IdleKey> idle;  // in the table's order
};
// As load_config. A file that has every key, as the resolved file of a run, sets only those that it gives another value
// than the default. A file may be of the run that a single process is the reference of: how that run is wired is no
// mistake then, what it computes otherwise is told.
[[nodiscard]] Result<LoadedConfig> load_config_and_idle_keys(const ConfigSources& sources);

// A whole file's text, as a spawner sends it to its nodes. name: what errors call it.
[[nodiscard]] Result<Config> parse_config(std::string_view text, const std::string& name);

// The resolved file: every key of this version with its value; parse_config() of it gives an equal Config.
[[nodiscard]] std::string write_config(const Config& config);

// Keys ("section.key") whose values differ though a resumed run must keep them, in the table's order.
[[nodiscard]] std::vector<std::string> resume_conflicts(const Config& saved, const Config& now);

// The table of launch/KEYS.md: key, type, unit, default, meaning. Markdown, one line per key.
[[nodiscard]] std::string config_table_markdown();

// launch/configs/default.toml: every key with its default and its meaning.
[[nodiscard]] std::string default_config_toml();

}  // namespace shoal
