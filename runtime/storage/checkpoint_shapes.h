// Shapes of a checkpoint's weights, by the headers of its files alone: quick, whatever the model's size. A command
// compares them with those of a configuration before anything is started.
//
// Nothing is verified here: what does not fit may be a damaged file (checkpoint_reader.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace shoal {

using TensorShapes = std::map<std::string, std::vector<std::int64_t>>;  // by name

// Returns nothing for a checkpoint that cannot be read.
[[nodiscard]] TensorShapes weight_shapes_of(const std::filesystem::path& checkpoint);

// Says what is the first that differs, by name: "wte.weight is [256, 64], not [256, 128]"; empty: they are equal.
[[nodiscard]] std::string shape_difference(const TensorShapes& saved, const TensorShapes& wanted);

}  // namespace shoal
