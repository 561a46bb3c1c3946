// A section of the table of keys while it is built: it ties each key to its field, whose type gives how the key is read
// and written. For config_keys.cpp alone.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/config_keys.h"

namespace shoal {

[[nodiscard]] inline KeyRange at_least(double least) {
  return {least, std::numeric_limits<double>::infinity(), false, false};
}
[[nodiscard]] inline KeyRange above(double least) {
  return {least, std::numeric_limits<double>::infinity(), true, false};
}
[[nodiscard]] inline KeyRange between(double least, double most) { return {least, most, false, false}; }

class Section {
 public:
  Section(std::vector<ConfigKey>& keys, std::string name) : keys_(keys), name_(std::move(name)) {}

  // field: [](auto& config) -> auto& { return config.section.name; }
  template <class Field>
  ConfigKey& add(std::string name, Field field, std::string unit, ResumeRule resume, std::string meaning) {
    ConfigKey& key = append(std::move(name), std::move(unit), std::move(meaning));
    using Value = std::remove_reference_t<decltype(field(std::declval<Config&>()))>;
    key.resume = resume;
    if constexpr (std::is_same_v<Value, bool>) {
      bind<bool>(key, KeyType::kBoolean, field);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      bind<std::string>(key, KeyType::kText, field);
    } else if constexpr (std::is_floating_point_v<Value>) {
      bind<double>(key, KeyType::kReal, field);
    } else {
      bind<std::int64_t>(key, KeyType::kInteger, field);
      key.range = at_least(0);
      if constexpr (sizeof(Value) == sizeof(int)) key.range.most = std::numeric_limits<int>::max();
    }
    return key;
  }

  // A choice held as an enumeration whose values are numbered in the order of `choices`, or as text.
  template <class Field>
  ConfigKey& choose(std::string name, Field field, std::vector<std::string> choices, ResumeRule resume,
                    std::string meaning) {
    ConfigKey& key = append(std::move(name), "", std::move(meaning));
    using Value = std::remove_reference_t<decltype(field(std::declval<Config&>()))>;
    key.resume = resume;
    if constexpr (std::is_enum_v<Value>) {
      key.get = [field, choices](const Config& config) {
        return KeyValue(choices.at(static_cast<std::size_t>(field(config))));
      };
      key.set = [field, choices](Config& config, const KeyValue& value) {
        const auto found = std::find(choices.begin(), choices.end(), std::get<std::string>(value));
        field(config) = static_cast<Value>(found - choices.begin());
      };
    } else {
      bind<std::string>(key, KeyType::kText, field);
    }
    key.type = KeyType::kChoice;
    key.default_text = toml_text(key.get(Config{}));
    key.choices = std::move(choices);
    return key;
  }

  // A word in the first field, or a list in the second: the value behind those of `choices` stands for the list.
  template <class Field, class Listed>
  ConfigKey& choose_or_list(std::string name, std::pair<Field, Listed> fields, std::vector<std::string> choices,
                            ResumeRule resume, std::string meaning) {
    ConfigKey& key = append(std::move(name), "", std::move(meaning));
    using Value = std::remove_reference_t<decltype(fields.first(std::declval<Config&>()))>;
    key.resume = resume;
    key.type = KeyType::kChoiceOrList;
    key.get = [field = fields.first, listed = fields.second, choices](const Config& config) {
      const auto word = static_cast<std::size_t>(field(config));
      if (word < choices.size()) return KeyValue(choices[word]);
      return KeyValue(std::vector<std::int64_t>(listed(config).begin(), listed(config).end()));
    };
    key.set = [field = fields.first, listed = fields.second, choices](Config& config, const KeyValue& value) {
      listed(config).clear();
      std::size_t word = choices.size();
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
        for (const std::int64_t number : *list) listed(config).push_back(static_cast<int>(number));
      } else {
        word = static_cast<std::size_t>(std::ranges::find(choices, std::get<std::string>(value)) - choices.begin());
      }
      field(config) = static_cast<Value>(word);
    };
    key.default_text = toml_text(key.get(Config{}));
    key.choices = std::move(choices);
    return key;
  }

  // A count for all stages, or a list of them in a field of its own, which is empty then.
  template <class Each, class Listed>
  ConfigKey& counts(std::string name, Each each, Listed listed, ResumeRule resume, std::string meaning) {
    ConfigKey& key = append(std::move(name), "", std::move(meaning));
    key.resume = resume;
    key.type = KeyType::kCounts;
    key.get = [each, listed](const Config& config) {
      const auto& list = listed(config);
      return list.empty() ? KeyValue(std::int64_t{each(config)})
                          : KeyValue(std::vector<std::int64_t>(list.begin(), list.end()));
    };
    key.set = [each, listed](Config& config, const KeyValue& value) {
      listed(config).clear();
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
        for (const std::int64_t count : *list) listed(config).push_back(static_cast<int>(count));
      } else {
        each(config) = static_cast<int>(std::get<std::int64_t>(value));
      }
    };
    key.default_text = toml_text(key.get(Config{}));
    return key;
  }

  ConfigKey& append(std::string name, std::string unit, std::string meaning) {
    ConfigKey& key = keys_.emplace_back();
    key.section = name_;
    key.name = std::move(name);
    key.unit = std::move(unit);
    key.meaning = std::move(meaning);
    return key;
  }

 private:
  template <class Stored, class Field>
  void bind(ConfigKey& key, KeyType type, Field field) {
    key.type = type;
    key.get = [field](const Config& config) { return KeyValue(static_cast<Stored>(field(config))); };
    key.set = [field](Config& config, const KeyValue& value) {
      using Value = std::remove_reference_t<decltype(field(config))>;
      field(config) = static_cast<Value>(std::get<Stored>(value));
    };
    key.default_text = toml_text(key.get(Config{}));
  }

  std::vector<ConfigKey>& keys_;
  std::string name_;
};

}  // namespace shoal
