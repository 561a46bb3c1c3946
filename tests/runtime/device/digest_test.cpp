// Digests of a step (P-27b): made of blocks, of every bit, and of where a tensor ends.
#include "runtime/device/digest.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <utility>

#include "tests/runtime/device/drawn_words.h"

namespace shoal::digest_test {
namespace {

std::uint64_t digest_of(const std::vector<std::vector<std::uint32_t>>& tensors) {
  Digest digest;
  for (const auto& tensor : tensors) digest.add(std::as_bytes(std::span(tensor)));
  return digest.value();
}

TEST(Digest, CountsEveryBitOfEveryTensorAndWhereOneEnds) {
  std::vector<std::vector<std::uint32_t>> tensors = {drawn(4096 + 9), drawn(3)};
  const std::uint64_t before = digest_of(tensors);
  for (const auto& [tensor, word] : {std::pair{0, 0}, std::pair{0, 4095}, std::pair{0, 4104}, std::pair{1, 2}}) {
    auto changed = tensors;
    changed[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(word)] ^= 1U << 31U;
    EXPECT_NE(digest_of(changed), before) << "tensor " << tensor << ", word " << word;
  }
  tensors[0].push_back(tensors[1].front());
  tensors[1].erase(tensors[1].begin());
  EXPECT_NE(digest_of(tensors), before);
}

// A digest that two versions of a program do not share would part their replicas: its values are pinned.
TEST(Digest, IsTheDefinitionInItsHeader) {
  const auto tensor = drawn(5000);
  const auto* bytes = reinterpret_cast<const char*>(tensor.data());
  const std::vector<std::uint64_t> blocks = {XXH3_64bits(bytes, 16384), XXH3_64bits(bytes + 16384, 20000 - 16384)};
  EXPECT_EQ(digest_of({tensor}), XXH3_64bits(blocks.data(), 16));
  Digest by_values;
  by_values.add_values(blocks);
  EXPECT_EQ(by_values.value(), digest_of({tensor}));
  EXPECT_NE(digest_of({tensor}), XXH3_64bits(bytes, 20000));  // one stream over all, which no two threads can share
  std::vector<float> pinned(4100);
  for (std::size_t i = 0; i < pinned.size(); ++i) pinned[i] = static_cast<float>(i) / 8;
  Digest digest;
  digest.add(std::as_bytes(std::span(pinned)));
  EXPECT_EQ(digest.value(), 0xdfca6e8edcf26aedU);
}

}  // namespace
}  // namespace shoal::digest_test
