// Digests of an image whose bytes go by: those of the bytes in memory, and a bad header is found as soon as it is
// there.
#include "runtime/storage/image/image_digests.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "runtime/base/sha256.h"
#include "tests/runtime/storage/shards.h"

namespace shoal::image_digests_test {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// The digests of an image that comes in such pieces; each size once, the last one again and again.
ImageDigests::Digests digests_of(const std::string& image, std::vector<std::size_t> sizes) {
  ImageDigests digests(image.size(), "image");
  std::span<const std::byte> left = bytes_of(image);
  for (std::size_t i = 0; !left.empty(); ++i) {
    EXPECT_FALSE(digests.is_whole());
    const auto piece = left.first(std::min(left.size(), sizes[std::min(i, sizes.size() - 1)]));
    EXPECT_TRUE(digests.add(piece).ok());
    left = left.subspan(piece.size());
    EXPECT_EQ(digests.taken(), image.size() - left.size());
  }
  EXPECT_TRUE(digests.is_whole());
  return digests.finish();
}

void expect_equal(const ImageDigests::Digests& a, const ImageDigests::Digests& b) {
  EXPECT_EQ(a.image, b.image);
  EXPECT_EQ(a.weights, b.weights);
}

// Two weights, one with agreed values; one that is empty; and what belongs to them.
std::string some_image() {
  static const std::vector<float> kValues = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const auto values = [](std::size_t first, std::size_t count) {
    return std::as_bytes(std::span(kValues).subspan(first, count));
  };
  return text_of(build_safetensors({{"a", DType::kFloat32, {3}, values(0, 3)},
                                    {"b", DType::kFloat32, {2}, values(3, 2)},
                                    {"nothing", DType::kFloat32, {0}, {}},
                                    {"outer.b", DType::kFloat32, {2}, values(5, 2)},
                                    {"outer.momentum.b", DType::kFloat32, {2}, values(7, 2)},
                                    {"optimizer.exp_avg.a", DType::kFloat32, {3}, values(9, 3)}}));
}

// Returns where the header of an image ends.
std::size_t header_end(const std::string& image) {
  return parse_layout(bytes_of(image), image.size(), "image").value()->header_bytes;
}

TEST(ImageDigests, AreThoseOfTheImageAndItsWeightsTheAgreedOnesWhereThereAreAny) {
  const std::string image = some_image();
  const auto tensors = parse_safetensors(bytes_of(image), "image").value();
  const auto hash = [&tensors](const std::string& name) { return sha256_hex(find_tensor(tensors, name)->bytes); };
  const auto digests = digests_of(image, {image.size()});
  EXPECT_EQ(digests.image, sha256_hex(std::string_view(image)));
  EXPECT_EQ(digests.weights,
            (std::map<std::string, std::string>{
                {"a", hash("a")}, {"b", hash("outer.b")}, {"nothing", sha256_hex(std::string_view())}}));
  EXPECT_NE(hash("b"), hash("outer.b"));
}

TEST(ImageDigests, AreTheSameWhateverThePieces) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  const std::string image = some_image();
  const auto whole = digests_of(image, {image.size()});
  for (const std::size_t size : {1U, 7U, 8U, 9U, 100U}) expect_equal(digests_of(image, {size}), whole);
  expect_equal(digests_of(image, {header_end(image), 1}), whole);
  expect_equal(digests_of(image, {header_end(image), image.size()}), whole);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::size_t> sizes(50);
    for (std::size_t& size : sizes) size = 1 + random() % 40;
    expect_equal(digests_of(image, sizes), whole);
  }
}

TEST(ImageDigests, DifferForAnotherByte) {
  const std::string image = some_image();
  const auto whole = digests_of(image, {7});
  std::string other = image;
  other[header_end(image)] = static_cast<char>(other[header_end(image)] ^ 1);
  const auto digests = digests_of(other, {7});
  EXPECT_NE(digests.image, whole.image);
  EXPECT_NE(digests.weights.at("a"), whole.weights.at("a"));
  EXPECT_EQ(digests.weights.at("b"), whole.weights.at("b"));
}

TEST(ImageDigests, OfNothingButAHeader) {
  const std::string image = text_of(build_safetensors({}));
  EXPECT_EQ(digests_of(image, {1}).image, sha256_hex(std::string_view(image)));
  EXPECT_TRUE(digests_of(image, {image.size()}).weights.empty());
}

// Bytes that are taken one by one before they are refused; all of them: they are not.
std::size_t taken_of(const std::string& image, std::uint64_t byte_count) {
  ImageDigests digests(byte_count, "the shard of stage 3");
  for (const char& one : image) {
    const auto taken = digests.add(std::as_bytes(std::span(&one, 1)));
    if (taken) continue;
    EXPECT_EQ(taken.failure().error, Error::kInvalidData);
    EXPECT_TRUE(taken.failure().message.starts_with("the shard of stage 3: ")) << taken.failure().message;
    return digests.taken();
  }
  return image.size();
}

TEST(ImageDigests, ABadHeaderIsRefusedAsSoonAsItIsThere) {
  const std::string image = some_image();
  const std::size_t end = header_end(image);
  EXPECT_EQ(taken_of(image, image.size()), image.size()) << "the control";
  std::string too_long = image;
  too_long[7] = 1;
  EXPECT_EQ(taken_of(too_long, image.size()), 7U);
  std::string garbled = image;
  garbled[8] = '[';
  EXPECT_EQ(taken_of(garbled, image.size()), end - 1);
  EXPECT_EQ(taken_of(image, image.size() + 1), end - 1) << "a byte behind the last tensor";
  EXPECT_EQ(taken_of(image, image.size() - 1), end - 1) << "a byte of the last tensor is missing";
  EXPECT_EQ(ImageDigests(0, "image").add({}).failure().error, Error::kInvalidData);
}

}  // namespace
}  // namespace shoal::image_digests_test
