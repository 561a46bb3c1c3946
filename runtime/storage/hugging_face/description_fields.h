// Reads and checks single keys of a config.json; for description.h's two layouts.
// Refusals name the key and its value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/storage/hugging_face/description.h"

namespace shoal {

// A key that must have one value, because this model has no other; absent means that value too.
struct FixedKey {
  const char* name;
  nlohmann::json value;
};
[[nodiscard]] Status check_fixed(const nlohmann::json& json, const std::vector<FixedKey>& keys);

// A size: what `path` is called here, and where it goes.
struct SizeKey {
  const char* name;
  const char* path;
  int* size;
};
// Takes sizes of at least 1. A null or absent one keeps what stands in `size`; 0 there: it is required. below: the key
// of the file whose object `json` is, with a point behind it; empty for the file itself.
[[nodiscard]] Status take_sizes(const nlohmann::json& json, const std::vector<SizeKey>& keys, ModelDescription& out,
                                const std::string& below = "");

// A number: what `path` is called here, and where it goes.
struct RealKey {
  const char* name;
  const char* path;
  double* value;
};
// An absent one is refused where it is required, else it keeps what stands in `value`.
enum class Absent { kIsRefused, kKeeps };
[[nodiscard]] Status take_reals(const nlohmann::json& json, const std::vector<RealKey>& keys, Absent absent,
                                ModelDescription& out, const std::string& below = "");
// Absent: `value` stays.
[[nodiscard]] Status take_flag(const nlohmann::json& json, const char* name, bool& value);

[[nodiscard]] Result<ModelDescription> describe_gpt2(const nlohmann::json& json);
[[nodiscard]] Result<ModelDescription> describe_llama(const nlohmann::json& json);
[[nodiscard]] nlohmann::ordered_json gpt2_json(const ModelConfig& model);
[[nodiscard]] nlohmann::ordered_json llama_json(const ModelConfig& model);

}  // namespace shoal
