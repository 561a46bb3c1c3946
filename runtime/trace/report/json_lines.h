// Values as JSON text, for exports of millions of events: fields are written as they come, nothing is kept.
// Whatever bytes a text has, the JSON is valid.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace shoal {

// {"a":1,"b":"text"}: fields in the order of the calls.
class JsonObject {
 public:
  // Appends to `out`, which outlives it.
  explicit JsonObject(std::string& out) : out_(&out) { out_->push_back('{'); }
  ~JsonObject() { out_->push_back('}'); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  JsonObject& text(std::string_view name, std::string_view value);
  template <std::integral Number>
  JsonObject& number(std::string_view name, Number value) {
    return raw(name, std::to_string(value));
  }
  // Nanoseconds as microseconds with three digits: the unit of Chrome's format.
  JsonObject& microseconds(std::string_view name, std::int64_t nanoseconds);
  // Text that is JSON already.
  JsonObject& raw(std::string_view name, std::string_view json);

 private:
  std::string* out_;
  bool is_first_ = true;
};

// "\"text\"", with what JSON forbids escaped; bytes that are no UTF-8 become '?'.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace shoal
