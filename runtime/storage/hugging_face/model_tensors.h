// A model's tensors as an import and an export know them: each name and shape, and which two may be tied.
// The caller makes it from the model's list of layers; nothing here knows a name.
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
