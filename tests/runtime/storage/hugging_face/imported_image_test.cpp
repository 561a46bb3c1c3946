// A shard of imported weights: the bytes that a shard in memory would have, however it is read.
#include "runtime/storage/hugging_face/imported_image.h"

#include <gtest/gtest.h>

#include "runtime/base/ensure.h"
#include "runtime/storage/state_names.h"
#include "tests/runtime/storage/shards.h"

namespace shoal::imported_image_test {
namespace {

// Numbers of each type, as a file has them.
struct Numbers {
  std::vector<float> wide = {1.5F, -2.0F, 0x1p-30F, 3.25F, 5.0F, -0.0F};
  std::vector<std::uint16_t> half = {0x3C00, 0xC000, 0x0001};   // 1, -2, 2^-24
  std::vector<std::uint16_t> brain = {0x3F80, 0xC040, 0x0001};  // 1, -3, 2^-133

  [[nodiscard]] ImportedWeights weights() const {
    return {{{"a", NumberType::kFloat32, {2, 3}, std::as_bytes(std::span(wide))},
             {"b", NumberType::kFloat16, {3}, std::as_bytes(std::span(half))},
             {"c", NumberType::kBfloat16, {3, 1}, std::as_bytes(std::span(brain))}}};
  }
};

// The same shard, made in memory.
TensorBlob shard_in_memory(const Numbers& numbers, const std::vector<InnerPart>& parts) {
  const std::vector<float> half = {1.0F, -2.0F, 0x1p-24F}, brain = {1.0F, -3.0F, 0x1p-133F}, zeros(6);
  std::vector<StoredTensor> tensors = {
      {"a", DType::kFloat32, {2, 3}, std::as_bytes(std::span<const float>(numbers.wide))},
      {"b", DType::kFloat32, {3}, std::as_bytes(std::span<const float>(half))},
      {"c", DType::kFloat32, {3, 1}, std::as_bytes(std::span<const float>(brain))}};
  for (std::size_t i = 0; i < 3; ++i) {
    for (const InnerPart& part : parts) {
      const bool is_one = part.size == PartSize::kOneValue;
      const auto bytes = std::as_bytes(std::span<const float>(zeros));
      tensors.push_back({with_prefix(part.prefix, tensors[i].name), DType::kFloat32,
                         is_one ? std::vector<std::int64_t>{1} : tensors[i].shape,
                         bytes.first(is_one ? sizeof(float) : tensors[i].bytes.size())});
    }
  }
  return build_safetensors(std::move(tensors));
}

TEST(ImportedImage, IsTheShardInMemoryHoweverItIsRead) {
  const Numbers numbers;
  const ImportedWeights weights = numbers.weights();
  const std::vector<std::vector<InnerPart>> all_parts = {
      {}, {{kExpAvg}, {kExpAvgSq}}, {{kExpAvg}, {kExpAvgSq}, {kUpdates, PartSize::kOneValue}}};
  for (const auto& parts : all_parts) {
    ImportedImage image(weights, {"a", "b", "c"}, parts);
    const std::string expected = text_of(shard_in_memory(numbers, parts));
    ASSERT_EQ(image.byte_count(), expected.size());
    for (const std::size_t size : {1U, 3U, 7U, 64U, 1000U, 100000U}) {
      EXPECT_EQ(read_in_pieces(image, size).value(), expected) << size;
    }
  }
}

TEST(ImportedImage, HasTheWeightsOfItsStage) {
  const Numbers numbers;
  const ImportedWeights weights = numbers.weights();
  ImportedImage image(weights, {"c"}, {});
  const TensorBlob whole = image.read(0, image.byte_count()).value();
  const auto tensors = parse_safetensors({whole.bytes->data(), whole.byte_count()}, "");
  ASSERT_TRUE(tensors.ok());
  ASSERT_EQ(tensors->size(), 1U);
  EXPECT_EQ(tensors->front().name, "c");
  EXPECT_THROW(ImportedImage(weights, {"d"}, {}), Bug);
}

}  // namespace
}  // namespace shoal::imported_image_test
