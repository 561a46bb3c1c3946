// The one table of configuration keys. Parsing, validation, the resolved file, default.toml and launch/KEYS.md are
// all driven by it: a key that is not here does not exist, and a key that is here is documented.
//
// A word of the interface that this version does not carry out (`later`) is refused with 'not in this version'.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

// kCounts: an integer for all stages, or a list with one for each. kChoiceOrList: a word, or a list of integers.
enum class KeyType { kBoolean, kInteger, kCounts, kReal, kRealPair, kText, kChoice, kChoiceOrList };
using KeyValue = std::variant<bool, std::int64_t, double, std::vector<double>, std::vector<std::int64_t>, std::string>;

// Says whether a resumed run may take another value than the run had: where and how it runs may change, its results
// may not.
enum class ResumeRule { kMustStay, kMayChange };

struct KeyRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool least_excluded = false;
  bool most_excluded = false;
};

// While this holds the key has no effect, whatever its value.
struct IdleRule {
  std::function<bool(const Config&)> holds;
  std::string because;  // "sync.mode = \"every_step\""
};

struct ConfigKey {
  std::string section;
  std::string name;
  KeyType type = KeyType::kText;
  std::string unit;  // empty: a plain number, a name
  std::string meaning;
  std::string default_text;          // as a TOML value, or the key it follows (decay_steps: run.steps)
  KeyRange range;                    // numbers only
  std::vector<std::string> choices;  // kChoice, kChoiceOrList: those of this version, the default first
  std::vector<std::string> later;    // kChoice: known values that this version does not carry out
  ResumeRule resume = ResumeRule::kMustStay;
  std::function<KeyValue(const Config&)> get;
  std::function<void(Config&, const KeyValue&)> set;  // takes values that check_value() let through

  std::vector<IdleRule> idle;  // the first that holds is told
  enum class InSingle { kTakesPart, kIsWiring, kIsLeftOut } in_single = InSingle::kTakesPart;  // `train --single`

  [[nodiscard]] std::string path() const { return section + "." + name; }
};

// All keys in the order of the interface: sections and keys as they are written to files.
[[nodiscard]] const std::vector<ConfigKey>& config_keys();
[[nodiscard]] const ConfigKey* find_config_key(std::string_view path);
// The keys of the interface that this version does not carry out, each with all keys below it: "data.source".
[[nodiscard]] const std::vector<std::string>& keys_not_in_this_version();
// True for a key that holds 0 until it is resolved from others: optim.decay_steps, and sizes of a llama.
[[nodiscard]] bool follows_other_keys(const ConfigKey& key);
// True for a key that means nothing to a GPT-2.
[[nodiscard]] bool is_of_llama(const ConfigKey& key);
// The keys of this version whose values differ, in the same order.
[[nodiscard]] std::vector<const ConfigKey*> keys_that_differ(const Config& one, const Config& other);

// Describes the values that the key takes: "an integer of at least 1 (steps)".
[[nodiscard]] std::string describe_expected(const ConfigKey& key);

// Describes the bounds of its numbers, as "1 to 1024" or "above 0"; empty: none, or its values are no numbers.
[[nodiscard]] std::string describe_bounds(const ConfigKey& key);

// The value as the key's type (an integer where a real is wanted becomes one), in range and among the choices.
// Errors: kUsage saying what was expected; the caller adds where the value stood.
[[nodiscard]] Result<KeyValue> check_value(const ConfigKey& key, KeyValue value);

// A value given as text on a command line or in the environment.
[[nodiscard]] Result<KeyValue> parse_value(const ConfigKey& key, std::string_view text);

// The value as TOML; reals in their shortest form that reads back to the same double.
[[nodiscard]] std::string toml_text(const KeyValue& value);

}  // namespace shoal
