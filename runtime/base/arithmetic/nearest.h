// nearest_name(): what a person probably meant by a name that does not exist. Edit distance over a short list of names.
// Deterministic: of equally near names the first.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal {

// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
[[nodiscard]] int edit_distance(std::string_view from, std::string_view to);

// The name with the least distance, the first of equals; nothing when even that one shares too little with `wanted`.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view wanted, const std::vector<std::string>& names);

// "; did you mean 'layers'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace shoal
