// Block values by the kernel: those of the xxHash library, for every length that a block can have.
#include "runtime/device/cuda/kernels/block_digest.h"

#include <xxhash.h>

#include "tests/runtime/device/cuda/kernels/chunks/tables.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"
#include "tests/runtime/device/drawn_words.h"

namespace shoal::gpu::block_digest_test {
namespace {

std::vector<std::uint64_t> values_on_cpu(const std::vector<std::uint32_t>& tensor) {
  std::vector<std::uint64_t> values;
  for (std::size_t begin = 0; begin < tensor.size(); begin += kDigestBlock / 4) {
    const std::size_t words = std::min(kDigestBlock / 4, tensor.size() - begin);
    values.push_back(XXH3_64bits(tensor.data() + begin, words * 4));
  }
  return values;
}

std::vector<std::uint64_t> values_by_kernel(const std::vector<std::uint32_t>& tensor) {
  Tables tables(tensor.size());
  DeviceArray<std::uint32_t> words(tensor);
  DeviceArray<std::uint64_t> values(tables.chunks());
  const auto* flat = reinterpret_cast<const float*>(words.at());
  EXPECT_EQ(block_values(tables.all(), flat, values.at(), nullptr), kLaunched);
  return values.values();
}

TEST(BlockDigestKernel, GivesTheLibrarysValuesForAnyLength) {
  std::vector<std::size_t> lengths = {255, 256, 257, 258, 272, 273, 1000, 4095, 4096, 4097, 8192, 3 * 4096 + 5};
  for (std::size_t words = 1; words <= 80; ++words) lengths.push_back(words);
  for (const std::size_t words : lengths) {
    const auto tensor = drawn(words);
    EXPECT_EQ(values_by_kernel(tensor), values_on_cpu(tensor)) << words << " words";
  }
}

TEST(BlockDigestKernel, FaultsAreFound) {
  const auto tensor = drawn(33 * 4096 + 100);  // two thread blocks
  const auto wanted = values_on_cpu(tensor);
  expect_holds_and_faults_are_found([&] { return values_by_kernel(tensor) == wanted; });
}

TEST(BlockDigestKernel, RefusesWhatItDoesNotRead) {
  Tables tables(std::size_t{5});
  DeviceArray<float> flat(std::size_t{6});
  DeviceArray<std::uint64_t> value(1);
  EXPECT_EQ(block_values(tables.all(), flat.at() + 1, value.at(), nullptr), kRefusedShape) << "not at 8 bytes";
  EXPECT_EQ(block_values(TensorChunks{}, nullptr, nullptr, nullptr), kLaunched);
}

}  // namespace
}  // namespace shoal::gpu::block_digest_test
