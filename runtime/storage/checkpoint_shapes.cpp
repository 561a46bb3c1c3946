// Reads the JSON in front of each file that the manifest names.
#include "runtime/storage/checkpoint_shapes.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/state_names.h"

namespace shoal {
namespace {

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit

// The header's text; empty where there is none.
std::string header_of(const std::filesystem::path& path) {
  const auto file = open_input(path.string());
  std::uint64_t size = 0;
  std::array<char, sizeof(size)> length{};
  if (!file) return {};
  const auto read = file->read_at(0, length);
  if (!read || *read != length.size()) return {};
  std::memcpy(&size, length.data(), sizeof(size));
  if (size > kLongestHeader || size > file->size - length.size()) return {};
  std::string text(size, '\0');
  const auto rest = file->read_at(length.size(), text);
  return rest && *rest == size ? text : std::string();
}

// False when it is no header.
bool add_shapes(const std::string& header, TensorShapes& shapes) {
  const auto json = nlohmann::json::parse(header, nullptr, false);
  if (!json.is_object()) return false;
  for (const auto& [name, entry] : json.items()) {
    if (!is_weight_name(name) || !entry.is_object() || !entry.contains("shape")) continue;
    std::vector<std::int64_t> shape;
    for (const auto& extent : entry["shape"]) {
      if (!extent.is_number_integer()) return false;
      shape.push_back(extent.get<std::int64_t>());
    }
    shapes[name] = std::move(shape);
  }
  return true;
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += compose(text.empty() ? "" : ", ", extent);
  return "[" + text + "]";
}

}  // namespace

TensorShapes weight_shapes_of(const std::filesystem::path& checkpoint) {
  const auto manifest = read_manifest(checkpoint);
  TensorShapes shapes;
  if (!manifest) return {};
  for (const auto& [file, sum] : manifest->files) {
    if (!add_shapes(header_of(checkpoint / file), shapes)) return {};
  }
  return shapes;
}

std::string shape_difference(const TensorShapes& saved, const TensorShapes& wanted) {
  for (const auto& [name, shape] : wanted) {
    const auto found = saved.find(name);
    if (found == saved.end()) return name + " is not in it";
    if (found->second != shape) return compose(name, " is ", text_of(found->second), ", not ", text_of(shape));
  }
  for (const auto& [name, shape] : saved) {
    if (!wanted.contains(name)) return name + " is in it";
  }
  return {};
}

}  // namespace shoal
