// Values of configuration keys: what is expected, whether a value fits, and their text.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "runtime/base/arithmetic/nearest.h"
#include "runtime/base/compose.h"
#include "runtime/base/config_keys.h"
#include "runtime/base/text/trimmed.h"

namespace shoal {
namespace {

std::string number_text(double number) {
  char buffer[64];
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, number);
  return std::string(buffer, written.ptr);
}

std::string real_text(double number) {
  std::string text = number_text(number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04X", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string list_quoted(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + quoted(word);
  return out;
}

// True for an upper bound that says more than the type of the number does.
bool is_bound(double most) { return std::isfinite(most) && most < std::numeric_limits<int>::max(); }

std::string describe_range(const KeyRange& range) {
  const bool has_least = std::isfinite(range.least);
  const bool has_most = is_bound(range.most);
  const std::string least = compose(range.least_excluded ? " above " : " of at least ", number_text(range.least));
  const std::string most = compose(range.most_excluded ? "below " : "at most ", number_text(range.most));
  if (has_least && has_most) return least + " and " + most;
  if (has_least) return least;
  return has_most ? " of " + most : "";
}

std::string describe_type(const ConfigKey& key) {
  switch (key.type) {
    case KeyType::kBoolean: return "true or false";
    case KeyType::kInteger: return "an integer" + describe_range(key.range);
    case KeyType::kCounts: return "an integer" + describe_range(key.range) + ", or one for each stage, as [2, 1]";
    case KeyType::kReal: return "a number" + describe_range(key.range);
    case KeyType::kRealPair: return "two numbers" + describe_range(key.range) + ", as [0.9, 0.95]";
    case KeyType::kText: return "text in quotes";
    case KeyType::kChoice: return (key.choices.size() == 1 ? "" : "one of ") + list_quoted(key.choices);
    case KeyType::kChoiceOrList:
      return "one of " + list_quoted(key.choices) + ", or a list of integers" + describe_range(key.range) +
             ", as [3, 2, 1]";
  }
  return "";
}

bool in_range(const KeyRange& range, double number) {
  const bool above_least = range.least_excluded ? number > range.least : number >= range.least;
  const bool below_most = range.most_excluded ? number < range.most : number <= range.most;
  return std::isfinite(number) && above_least && below_most;
}

Failure unexpected(const ConfigKey& key, const KeyValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  const std::string hint = word && !key.choices.empty() ? did_you_mean(*word, key.choices) : "";
  return fail(Error::kUsage, compose(key.path(), " = ", toml_text(value), ": expected ", describe_expected(key), hint));
}

bool fits(const ConfigKey& key, const KeyValue& value) {
  switch (key.type) {
    case KeyType::kBoolean: return std::holds_alternative<bool>(value);
    case KeyType::kInteger:
      return std::holds_alternative<std::int64_t>(value) &&
             in_range(key.range, static_cast<double>(std::get<std::int64_t>(value)));
    case KeyType::kCounts: {
      const auto is_fit = [&](std::int64_t count) { return in_range(key.range, static_cast<double>(count)); };
      const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
      if (list != nullptr) return !list->empty() && std::ranges::all_of(*list, is_fit);
      return std::holds_alternative<std::int64_t>(value) && is_fit(std::get<std::int64_t>(value));
    }
    case KeyType::kReal: return std::holds_alternative<double>(value) && in_range(key.range, std::get<double>(value));
    case KeyType::kRealPair: {
      const auto* pair = std::get_if<std::vector<double>>(&value);
      return pair != nullptr && pair->size() == 2 && in_range(key.range, (*pair)[0]) && in_range(key.range, (*pair)[1]);
    }
    case KeyType::kText: return std::holds_alternative<std::string>(value);
    case KeyType::kChoiceOrList:
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
        const auto is_fit = [&](std::int64_t number) { return in_range(key.range, static_cast<double>(number)); };
        return !list->empty() && std::ranges::all_of(*list, is_fit);
      }
      [[fallthrough]];
    case KeyType::kChoice: {
      const auto* word = std::get_if<std::string>(&value);
      return word != nullptr && std::find(key.choices.begin(), key.choices.end(), *word) != key.choices.end();
    }
  }
  return false;
}

// The list with integers; as it was where one of them is none.
KeyValue as_integers(KeyValue value) {
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  constexpr double kExact = 9007199254740992;  // 2^53: integers up to it have a double of their own
  const auto is_whole = [](double number) { return std::abs(number) <= kExact && std::trunc(number) == number; };
  if (numbers == nullptr || !std::ranges::all_of(*numbers, is_whole)) return value;
  std::vector<std::int64_t> integers;
  for (const double number : *numbers) integers.push_back(static_cast<std::int64_t>(number));
  return integers;
}

// Bytes of the character that begins with `lead`; 0: none does.
std::size_t utf8_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
}

// Neither in more bytes than it takes, nor a surrogate, nor beyond the last character.
bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(lead);
    if (length == 0 || length > text.size()) return false;
    const auto follows = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
    if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length), follows)) return false;
    const unsigned second = length > 1 ? static_cast<unsigned char>(text[1]) : 0x80U;
    const bool is_out_of_range = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) ||
                                 (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90);
    if (is_out_of_range) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view without(std::string_view text, char opening, char closing) {
  const bool enclosed = text.size() >= 2 && text.front() == opening && text.back() == closing;
  return enclosed ? text.substr(1, text.size() - 2) : text;
}

template <class Number>
std::optional<Number> number_from(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// The value as the key's type would write it, or as text when it does not look like that type.
KeyValue value_from(KeyType type, std::string_view text) {
  const KeyValue as_text = std::string(without(text, '"', '"'));
  if (type == KeyType::kBoolean && (text == "true" || text == "false")) return text == "true";
  const bool is_list = text.starts_with('[');
  if (type == KeyType::kInteger || type == KeyType::kReal || (type == KeyType::kCounts && !is_list)) {
    if (const auto integer = number_from<std::int64_t>(text)) return *integer;
    if (const auto real = number_from<double>(text)) return *real;
  }
  const bool has_list = type == KeyType::kCounts || type == KeyType::kChoiceOrList;
  if (type == KeyType::kRealPair || (has_list && is_list)) {
    std::vector<double> numbers;
    std::istringstream parts{std::string(without(text, '[', ']'))};
    for (std::string part; std::getline(parts, part, ',');) {
      const auto number = number_from<double>(trimmed(part));
      if (!number) return as_text;
      numbers.push_back(*number);
    }
    return numbers;
  }
  return as_text;
}

}  // namespace

std::string describe_expected(const ConfigKey& key) {
  return describe_type(key) + (key.unit.empty() ? "" : " (" + key.unit + ")");
}

std::string describe_bounds(const ConfigKey& key) {
  const bool has_numbers = key.type != KeyType::kBoolean && key.type != KeyType::kText && key.type != KeyType::kChoice;
  const KeyRange& range = key.range;
  const bool has_most = has_numbers && is_bound(range.most);
  if (!has_numbers || (!std::isfinite(range.least) && !has_most)) return "";
  const std::string least = compose(range.least_excluded ? "above " : "", number_text(range.least));
  const std::string most = compose(range.most_excluded ? "below " : "", number_text(range.most));
  if (!std::isfinite(range.least)) return compose(range.most_excluded ? "" : "at most ", most);
  if (!has_most) return compose(range.least_excluded ? "" : "at least ", least);
  return compose(least, " to ", most);
}

Result<KeyValue> check_value(const ConfigKey& key, KeyValue value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (key.type == KeyType::kReal && integer != nullptr) value = static_cast<double>(*integer);
  if (key.type == KeyType::kCounts || key.type == KeyType::kChoiceOrList) value = as_integers(std::move(value));
  const auto* word = std::get_if<std::string>(&value);
  if (word && !is_utf8(*word)) {
    return fail(Error::kUsage, compose(key.path(), ": expected text in UTF-8: a run's file cannot hold other bytes"));
  }
  if (fits(key, value)) return value;
  const bool known = word && std::find(key.later.begin(), key.later.end(), *word) != key.later.end();
  if (!known) return unexpected(key, value);
  return fail(Error::kUsage, compose(key.path(), " = ", toml_text(value), ": not in this version, which has ",
                                     list_quoted(key.choices)));
}

Result<KeyValue> parse_value(const ConfigKey& key, std::string_view text) {
  return check_value(key, value_from(key.type, trimmed(text)));
}

std::string toml_text(const KeyValue& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return real_text(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  std::string out;
  if (const auto* counts = std::get_if<std::vector<std::int64_t>>(&value)) {
    for (const std::int64_t count : *counts) out += compose(out.empty() ? "" : ", ", count);
    return "[" + out + "]";
  }
  for (const double number : std::get<std::vector<double>>(value)) out += (out.empty() ? "" : ", ") + real_text(number);
  return "[" + out + "]";
}

}  // namespace shoal
