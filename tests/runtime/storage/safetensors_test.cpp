// The safetensors format: what is written can be read, and nothing else can.
#include "runtime/storage/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace shoal::safetensors_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes image_of(const std::string& header, std::size_t data_bytes) {
  Bytes image(8 + header.size() + data_bytes);
  const std::uint64_t length = header.size();
  std::memcpy(image.data(), &length, 8);
  std::memcpy(image.data() + 8, header.data(), header.size());
  return image;
}

std::string refusal_of(const Bytes& image) {
  const auto parsed = parse_safetensors(image, "image");
  if (parsed.ok()) return "accepted";
  EXPECT_EQ(parsed.failure().error, Error::kInvalidData);
  EXPECT_TRUE(parsed.failure().message.starts_with("image: ")) << parsed.failure().message;
  return parsed.failure().message;
}

// {"a": dtype F32 of this shape at these offsets}, with as many bytes of data.
std::string refusal_of_entry(const std::string& entry, std::size_t data_bytes) {
  return refusal_of(image_of("{\"a\":{" + entry + "}}", data_bytes));
}

TensorBlob small_image() {
  static const float kFloats[] = {1.5F, -2.0F, 0.25F, 8.0F, 1e-30F, 7.0F};
  static const std::int64_t kNumbers[] = {-1, 1};
  std::vector<StoredTensor> tensors;
  tensors.push_back({"weight", DType::kFloat32, {2, 3}, std::as_bytes(std::span(kFloats))});
  tensors.push_back({"numbers", DType::kInt64, {2}, std::as_bytes(std::span(kNumbers))});
  tensors.push_back({"nothing", DType::kFloat32, {0, 5}, {}});
  tensors.push_back({"scalar", DType::kFloat32, {}, std::as_bytes(std::span(kFloats).first(1))});
  return build_safetensors(std::move(tensors), {{"format", "pt"}});
}

TEST(Safetensors, RoundTripsInTheOrderOfNames) {
  const TensorBlob image = small_image();
  const auto tensors = parse_safetensors({image.bytes->data(), image.byte_count()}, "image");
  ASSERT_TRUE(tensors.ok()) << tensors.failure().message;
  ASSERT_EQ(tensors->size(), 4U);
  EXPECT_EQ((*tensors)[0].name, "nothing");
  EXPECT_EQ((*tensors)[2].name, "scalar");
  const auto* weight = find_tensor(*tensors, "weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(weight->bytes.size(), 24U);
  float third = 0;
  std::memcpy(&third, weight->bytes.data() + 8, 4);
  EXPECT_EQ(third, 0.25F);
  EXPECT_EQ(find_tensor(*tensors, "weigh"), nullptr);
  EXPECT_EQ(build_safetensors(*tensors, {{"format", "pt"}}), image);
  EXPECT_FALSE(build_safetensors(*tensors) == image);
}

TEST(Safetensors, KeepsTheMetadataAndAlignsTheData) {
  const TensorBlob image = small_image();
  const std::string text(image.as<char>() + 8, image.as<char>() + image.byte_count());
  EXPECT_TRUE(text.starts_with("{\"__metadata__\":{\"format\":\"pt\"}")) << text;
  std::uint64_t header = 0;
  std::memcpy(&header, image.bytes->data(), 8);
  EXPECT_EQ(header % 8, 0U);
}

TEST(Safetensors, AcceptsAnEmptyImageAndTensorsInAnyOrder) {
  EXPECT_EQ(refusal_of(image_of("{}", 0)), "accepted");
  const std::string swapped = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},)"
                              R"("b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}  )";
  EXPECT_EQ(refusal_of(image_of(swapped, 5)), "accepted");
}

TEST(Safetensors, RefusesHeaderLengthsBeyondTheFile) {
  EXPECT_NE(refusal_of(Bytes(7)).find("too short"), std::string::npos);
  Bytes image = image_of("{}", 4);
  for (const std::uint64_t length : {std::uint64_t{7}, std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
    std::memcpy(image.data(), &length, 8);
    EXPECT_NE(refusal_of(image).find("a header of"), std::string::npos) << length;
  }
}

TEST(Safetensors, RefusesWhatIsNotAHeader) {
  EXPECT_NE(refusal_of(image_of("", 0)), "accepted");
  EXPECT_NE(refusal_of(image_of("[]", 0)), "accepted");
  EXPECT_NE(refusal_of(image_of("{\"a\":1}", 0)), "accepted");
  EXPECT_NE(refusal_of(image_of("{\"a\":{}}", 0)), "accepted");
  EXPECT_NE(refusal_of(image_of(std::string(100000, '['), 0)), "accepted");
  EXPECT_NE(refusal_of(image_of("{\"\xFF\":{}}", 0)), "accepted");
}

TEST(Safetensors, RefusesGapsOverlapsAndWhatLiesOutside) {
  const std::string two = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                          R"("b":{"dtype":"U8","shape":[4],"data_offsets":[)";
  EXPECT_EQ(refusal_of(image_of(two + "4,8]}}", 8)), "accepted");
  EXPECT_NE(refusal_of(image_of(two + "5,9]}}", 9)).find("gap or overlap"), std::string::npos);
  EXPECT_NE(refusal_of(image_of(two + "3,7]}}", 8)).find("gap or overlap"), std::string::npos);
  EXPECT_NE(refusal_of(image_of(two + "0,4]}}", 4)).find("gap or overlap"), std::string::npos);
  EXPECT_NE(refusal_of(image_of(two + "4,8]}}", 9)).find("behind the last"), std::string::npos);
  EXPECT_NE(refusal_of(image_of(two + "4,8]}}", 7)).find("outside"), std::string::npos);
  EXPECT_NE(refusal_of(image_of(two + "8,4]}}", 8)).find("outside"), std::string::npos);
  EXPECT_NE(refusal_of(image_of(two + "-4,0]}}", 8)).find("outside"), std::string::npos);
}

TEST(Safetensors, RefusesShapesThatDoNotGiveTheSize) {
  const std::string tail = R"(],"data_offsets":[0,8])";
  const std::string head = R"("dtype":"F32","shape":[)";
  EXPECT_EQ(refusal_of_entry(head + "2" + tail, 8), "accepted");
  EXPECT_EQ(refusal_of_entry(head + "1,2,1" + tail, 8), "accepted");
  for (const char* shape : {"3", "", "-2", "-1,-2", "0", "4611686018427387904,2", "4294967296,4294967296,2",
                            "9223372036854775807", "18446744073709551615,2"}) {
    EXPECT_NE(refusal_of_entry(head + shape + tail, 8).find("does not agree"), std::string::npos) << shape;
  }
  for (const char* shape : {"2.0", "2.5", "true,2", "\"2\"", "null", "[2]"}) {
    EXPECT_NE(refusal_of_entry(head + shape + tail, 8), "accepted") << shape;
  }
  EXPECT_NE(refusal_of_entry(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])", 8).find("F31"), std::string::npos);
  EXPECT_NE(refusal_of_entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])", 8), "accepted");
}

TEST(Safetensors, RandomDamageIsRefusedOrStaysWithinTheImage) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  const TensorBlob good = small_image();
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    Bytes image(good.bytes->data(), good.bytes->data() + good.byte_count());
    if (round % 4 == 0) image.resize(random() % image.size());
    for (int flips = 0; flips < 1 + round % 3 && !image.empty(); ++flips) {
      image[random() % image.size()] ^= static_cast<std::byte>(1U << random() % 8);
    }
    const auto parsed = parse_safetensors(image, "image");
    if (!parsed.ok()) {
      ++refused;
      continue;
    }
    for (const auto& tensor : *parsed) {
      EXPECT_TRUE(tensor.bytes.empty() || (tensor.bytes.data() >= image.data() &&
                                           tensor.bytes.data() + tensor.bytes.size() <= image.data() + image.size()));
    }
  }
  EXPECT_GT(refused, 2000);
}

TEST(Safetensors, TwoTensorsOfOneNameAreABug) {
  const std::byte one[4] = {};
  const StoredTensor tensor{"a", DType::kFloat32, {1}, one};
  EXPECT_THROW((void)build_safetensors({tensor, tensor}), Bug);
  EXPECT_THROW((void)build_safetensors({{"a", DType::kFloat32, {2}, one}}), Bug);
  EXPECT_THROW((void)build_safetensors({{"__metadata__", DType::kFloat32, {1}, one}}), Bug);
}

}  // namespace
}  // namespace shoal::safetensors_test
