// safetensors: our own shards, and files of other programs.
//
//   input = options:u8  rest         options: 1 the rest is the header's text, a zero, the data: its length is put
//   before
//                                    it; else the rest is the image as it is
//
// What is accepted tiles the image, and comes back as it was when it is built again.
#include "runtime/storage/safetensors.h"

#include <cstring>

#include "tests/fuzz/harness.h"

namespace shoal::fuzz {
namespace safetensors {
namespace {

constexpr std::uint8_t kWithoutLength = 1;

std::string image_in(std::string_view input) {
  Cursor cursor(input);
  if ((cursor.byte() & kWithoutLength) == 0) return std::string(cursor.rest());
  const std::string_view rest = cursor.rest();
  const std::string_view header = rest.substr(0, rest.find('\0'));
  std::string image(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(image.data(), &size, sizeof size);
  image += header;
  return image += rest.substr(std::min(rest.size(), header.size() + 1));
}

template <class Tensors>
void check_places(const Tensors& tensors, std::span<const std::byte> image) {
  for (const auto& tensor : tensors) {
    const bool is_inside =
        tensor.bytes.data() >= image.data() && tensor.bytes.data() + tensor.bytes.size() <= image.data() + image.size();
    ENSURE(is_inside, "a tensor lies outside of its image");
  }
}

bool accepts(std::string_view input) {
  const std::string text = image_in(input);
  const std::vector<char> exact(text.begin(), text.end());
  const auto image = std::as_bytes(std::span(exact));
  const auto foreign = parse_foreign_safetensors(image, "the input");
  const auto own = parse_safetensors(image, "the input");
  ENSURE(foreign.ok() || !own.ok(), "what is ours is safetensors");
  if (foreign) check_places(*foreign, image);
  if (!own) return foreign.ok();
  check_places(*own, image);
  const TensorBlob built = build_safetensors(*own);
  const auto again = parse_safetensors({built.bytes->data(), built.bytes->size()}, "what was built");
  ENSURE(again.ok() && again->size() == own->size(), "what is built again has the same tensors");
  for (std::size_t i = 0; i < own->size(); ++i) {
    const StoredTensor& before = (*own)[i];
    const StoredTensor& after = (*again)[i];
    ENSURE(before.name == after.name && before.dtype == after.dtype && before.shape == after.shape &&
               std::ranges::equal(before.bytes, after.bytes),
           "tensor " + before.name + " changes when it is built again");
    ENSURE(find_tensor(*again, before.name) == &after, "a tensor is found by its name");
  }
  return true;
}

std::vector<std::string> samples() {
  const std::vector<char> bytes(24, 'x');
  const auto data = std::as_bytes(std::span(bytes));
  const TensorBlob image = build_safetensors({{"a", DType::kFloat32, {2, 3}, data},
                                              {"b.weight", DType::kInt64, {3}, data},
                                              {"empty", DType::kUint8, {0, 7}, {}},
                                              {"scalar", DType::kInt32, {}, data.first(4)}},
                                             {{"format", "pt"}});
  std::vector<std::string> inputs;
  const auto* begin = reinterpret_cast<const char*>(image.bytes->data());
  inputs.push_back(std::string(1, '\0') + std::string(begin, image.bytes->size()));
  std::string header = R"({"x": {"dtype": "BF16", "shape": [2, 1], "data_offsets": [0, 4]}, )"
                       R"("y": {"dtype": "F64", "shape": [1], "data_offsets": [4, 12]}})";
  inputs.push_back(std::string(1, '\1') + header + std::string(13, '\0'));
  return inputs;
}

}  // namespace
}  // namespace safetensors

const Harness kSafetensors{"safetensors", safetensors::samples, safetensors::accepts};

}  // namespace shoal::fuzz
