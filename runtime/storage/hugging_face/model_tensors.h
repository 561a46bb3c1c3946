// What an import and an export know of a model's tensors: each name and shape, and which two may be tied.
// Made from the model's list of layers by who calls; nothing here knows a name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shoal {

struct ModelTensors {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::string embedding;  // what a tied head is a copy of
  std::string head;
};

// [768,2304], for sentences.
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace shoal
