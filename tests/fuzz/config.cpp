// The configuration: a TOML file, and values of flags and of the environment.
//
//   input = kind:u8  text        kind mod 3: a whole file; "section.key=value" of a flag; "NAME=value" of the
//   environment
//
// What is accepted can be written, read again, and is the same then: a spawner sends it to its nodes as a file.
#include "runtime/base/config_file.h"

#include "runtime/base/config_keys.h"
#include "tests/fuzz/harness.h"

namespace shoal::fuzz {
namespace config {
namespace {

enum Kind : std::uint8_t { kFile, kFlag, kVariable, kKinds };

Result<Config> config_in(std::string_view input) {
  Cursor cursor(input);
  const auto kind = cursor.byte() % kKinds;
  const std::string text(cursor.rest());
  if (kind == kFile) return parse_config(text, "the input");
  ConfigSources sources;
  if (kind == kFlag) {
    sources.sets.push_back(text);
  } else {
    const std::string name = text.substr(0, text.find('='));
    sources.environment.emplace_back(name, text.substr(std::min(text.size(), name.size() + 1)));
  }
  const auto loaded = load_config_and_idle_keys(sources);
  return loaded ? Result<Config>(loaded->config) : Result<Config>(loaded.failure());
}

bool accepts(std::string_view input) {
  const Result<Config> config = config_in(input);
  if (!config) {
    ENSURE(!config.failure().message.empty(), "a refusal says why");
    return false;
  }
  const std::string text = write_config(*config);
  const Result<Config> again = parse_config(text, "what was written");
  ENSURE(again.ok(), "an accepted configuration is refused once it is written: " + again.failure().message);
  ENSURE(write_config(*again) == text, "an accepted configuration changes when it is written");
  ENSURE(resume_conflicts(*config, *again).empty(), "a run cannot go on with its own configuration");
  return true;
}

std::vector<std::string> samples() {
  std::vector<std::string> inputs{std::string(1, kFile) + default_config_toml(),
                                  std::string(1, kFile) + write_config(*parse_config("", "defaults")),
                                  std::string(1, kVariable) + "SHOAL_RUN_STEPS=30"};
  for (const ConfigKey& key : config_keys()) {
    if (!key.get) continue;
    const std::string value = toml_text(key.get(Config{}));
    const std::string file = "[" + key.section + "]\n" + key.name + " = " + value + "\n";
    const std::string flag = key.path() + "=" + value;
    for (const std::string& one : {std::string(1, kFile) + file, std::string(1, kFlag) + flag}) {
      if (config_in(one)) inputs.push_back(one);  // not: defaults that mean 'nothing is set'
    }
  }
  return inputs;
}

}  // namespace
}  // namespace config

const Harness kConfig{"config", config::samples, config::accepts};

}  // namespace shoal::fuzz
