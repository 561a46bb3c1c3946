// A recipe of this folder, and the configuration that it stands for.
// Sections and keys are those of a configuration; "recorded" and "data" are not.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/config_file.h"
#include "runtime/base/ensure.h"

namespace shoal {

// One of tests/reference/NAME.json; `sources`: the folder of the whole tree.
inline nlohmann::json read_recipe(const std::string& sources, const std::string& name) {
  std::ifstream file(sources + "/tests/reference/" + name + ".json");
  return nlohmann::json::parse(file);
}

inline Config config_of(const nlohmann::json& recipe) {
  std::vector<std::string> sets;
  for (const auto& [section, keys] : recipe.items()) {
    if (section == "recorded" || section == "data") continue;
    for (const auto& [key, value] : keys.items()) {
      sets.push_back(section + "." + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  const auto config = load_config({std::nullopt, {}, sets});
  ENSURE(config.ok(), config.ok() ? "" : config.failure().message);
  return *config;
}

}  // namespace shoal
