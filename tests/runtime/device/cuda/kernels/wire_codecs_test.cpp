// Wire formats by kernels: the bytes and values of the CPU's loops, for any length.
#include "runtime/device/cuda/kernels/wire_codecs.h"

#include "runtime/sync/wire/wire_elements.h"
#include "runtime/sync/wire/wire_kernels.h"
#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"
#include "tests/runtime/device/cuda/kernels/values.h"

namespace shoal::gpu::wire_codecs_test {
namespace {

constexpr std::size_t kLengths[] = {1, 2, 31, 255, 256, 257, 511, 2048, 2603};

// Among them zeros, a block that is flushed, and ties.
std::vector<float> drawn(std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::vector<float> values = normal(random, count, 0.3F);
  values[0] = -0.0F;
  for (std::size_t i = 256; i < std::min<std::size_t>(count, 512); ++i) values[i] *= 0x1p-120F;
  for (std::size_t i = 512; i < std::min<std::size_t>(count, 768); ++i) values[i] = static_cast<float>(i % 9) * 0.5F;
  return values;
}

struct Int8 {
  std::vector<float> scales, decoded;
  std::vector<std::uint8_t> codes;
  std::uint32_t largest = 0;
  friend bool operator==(const Int8& a, const Int8& b) {
    return are_same(a.scales, b.scales) && are_same(a.decoded, b.decoded) && a.codes == b.codes &&
           a.largest == b.largest;
  }
};

Int8 int8_on_cpu(const std::vector<float>& values) {
  Int8 made{std::vector<float>(wire_blocks(values.size())), std::vector<float>(values.size()),
            std::vector<std::uint8_t>(values.size())};
  made.largest = shoal::encode_int8(values.data(), made.scales.data(), made.codes.data(), values.size());
  shoal::decode_int8(made.scales.data(), made.codes.data(), made.decoded.data(), values.size());
  return made;
}

// An array's values from `shift` on.
template <class T>
std::vector<T> behind(const DeviceArray<T>& array, std::size_t shift) {
  std::vector<T> values = array.values();
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shift));
  return values;
}
std::vector<float> shifted(std::vector<float> values, std::size_t shift) {
  values.insert(values.begin(), shift, 1e9F);
  return values;
}

// shift: how many elements all arrays lie behind a multiple of 16 bytes.
Int8 int8_by_kernel(const std::vector<float>& values, std::size_t shift = 0) {
  const std::size_t count = values.size();
  DeviceArray<float> from(shifted(values, shift)), scales(wire_blocks(count)), decoded(count + shift);
  DeviceArray<std::uint8_t> codes(count + shift);
  DeviceArray<std::uint32_t> largest(std::vector<std::uint32_t>{0});
  const EncodedInt8 encoded{scales.at(), codes.at() + shift};
  EXPECT_EQ(encode_int8(from.at() + shift, count, encoded, largest.at(), nullptr), kLaunched);
  EXPECT_EQ(decode_int8(encoded, count, decoded.at() + shift, nullptr), kLaunched);
  return {scales.values(), behind(decoded, shift), behind(codes, shift), largest.values()[0]};
}

struct E3m0 {
  std::vector<std::uint16_t> scales;
  std::vector<float> decoded;
  std::vector<std::uint8_t> codes;
  std::uint32_t largest = 0;
  friend bool operator==(const E3m0& a, const E3m0& b) {
    return a.scales == b.scales && are_same(a.decoded, b.decoded) && a.codes == b.codes && a.largest == b.largest;
  }
};

E3m0 e3m0_on_cpu(const std::vector<float>& values) {
  E3m0 made{std::vector<std::uint16_t>(wire_blocks(values.size())), std::vector<float>(values.size()),
            std::vector<std::uint8_t>((values.size() + 1) / 2)};
  made.largest = shoal::encode_e3m0(values.data(), made.scales.data(), made.codes.data(), values.size());
  shoal::decode_e3m0(made.scales.data(), made.codes.data(), made.decoded.data(), values.size());
  return made;
}

E3m0 e3m0_by_kernel(const std::vector<float>& values, std::size_t shift = 0) {
  const std::size_t count = values.size();
  DeviceArray<float> from(shifted(values, shift)), decoded(count + shift);
  DeviceArray<std::uint16_t> scales(wire_blocks(count));
  DeviceArray<std::uint8_t> codes((count + 1) / 2 + shift);
  DeviceArray<std::uint32_t> largest(std::vector<std::uint32_t>{0});
  const EncodedE3m0 encoded{scales.at(), codes.at() + shift};
  EXPECT_EQ(encode_e3m0(from.at() + shift, count, encoded, largest.at(), nullptr), kLaunched);
  EXPECT_EQ(decode_e3m0(encoded, count, decoded.at() + shift, nullptr), kLaunched);
  return {scales.values(), behind(decoded, shift), behind(codes, shift), largest.values()[0]};
}

TEST(WireCodecKernel, Int8GivesTheBytesOfTheCpuForAnyLength) {
  for (const std::size_t count : kLengths) {
    EXPECT_TRUE(int8_by_kernel(drawn(count)) == int8_on_cpu(drawn(count))) << count;
  }
  EXPECT_FALSE(int8_by_kernel(drawn(257)) == int8_on_cpu(std::vector<float>(257, 0.5F)));
}

TEST(WireCodecKernel, E3m0GivesTheBytesOfTheCpuForAnyLength) {
  for (const std::size_t count : kLengths) {
    EXPECT_TRUE(e3m0_by_kernel(drawn(count)) == e3m0_on_cpu(drawn(count))) << count;
  }
  EXPECT_FALSE(e3m0_by_kernel(drawn(257)) == e3m0_on_cpu(std::vector<float>(257, 0.5F)));
}

TEST(WireCodecKernel, GivesTheSameBytesWhereArraysDoNotLieAtMultiplesOf16Bytes) {
  for (const std::size_t count : kLengths) {
    EXPECT_TRUE(int8_by_kernel(drawn(count), 1) == int8_on_cpu(drawn(count))) << count;
    EXPECT_TRUE(e3m0_by_kernel(drawn(count), 1) == e3m0_on_cpu(drawn(count))) << count;
  }
  EXPECT_FALSE(int8_by_kernel(drawn(257), 1) == int8_on_cpu(drawn(256)));
}

// More blocks than warps: each warp encodes several, and only the last of them holds the largest.
TEST(WireCodecKernel, GivesTheBytesOfTheCpuForMoreBlocksThanWarps) {
  std::vector<float> values = drawn(256 * 8 * 2048 + 256 * 9 + 3);
  values.back() = 1000;
  EXPECT_TRUE(int8_by_kernel(values) == int8_on_cpu(values));
  EXPECT_TRUE(e3m0_by_kernel(values) == e3m0_on_cpu(values));
}

TEST(WireCodecKernel, Int8IsWithinHalfAStepOfFloat64) {
  const std::vector<float> values = drawn(2603);
  const Int8 made = int8_by_kernel(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double step = made.scales[i / 256];
    const double flushed = step == 0 ? 0x1p-100 : 0;
    ASSERT_LE(std::fabs(static_cast<double>(made.decoded[i]) - values[i]), 0.5001 * step + flushed) << i;
  }
}

TEST(WireCodecKernel, FaultsOfInt8AreFound) {
  const std::vector<float> values = drawn(2603);
  const Int8 wanted = int8_on_cpu(values);
  expect_holds_and_faults_are_found([&] { return int8_by_kernel(values) == wanted; });
}

TEST(WireCodecKernel, FaultsOfE3m0AreFound) {
  const std::vector<float> values = drawn(2603);
  const E3m0 wanted = e3m0_on_cpu(values);
  expect_holds_and_faults_are_found([&] { return e3m0_by_kernel(values) == wanted; });
}

struct Bf16Codes {
  std::vector<float> decoded;
  std::vector<std::uint16_t> codes;
  std::uint32_t largest = 0;
  friend bool operator==(const Bf16Codes& a, const Bf16Codes& b) {
    return are_same(a.decoded, b.decoded) && a.codes == b.codes && a.largest == b.largest;
  }
};

Bf16Codes bf16_on_cpu(const std::vector<float>& values) {
  Bf16Codes made{std::vector<float>(values.size()), std::vector<std::uint16_t>(values.size())};
  made.largest = shoal::encode_bf16(values.data(), made.codes.data(), values.size());
  shoal::decode_bf16(made.codes.data(), made.decoded.data(), values.size());
  return made;
}

Bf16Codes bf16_by_kernel(const std::vector<float>& values, std::size_t shift = 0) {
  const std::size_t count = values.size();
  DeviceArray<float> from(shifted(values, shift)), decoded(count + shift);
  DeviceArray<std::uint16_t> codes(count + shift);
  DeviceArray<std::uint32_t> largest(std::vector<std::uint32_t>{0});
  EXPECT_EQ(encode_bf16(from.at() + shift, count, codes.at() + shift, largest.at(), nullptr), kLaunched);
  EXPECT_EQ(decode_bf16(codes.at() + shift, count, decoded.at() + shift, nullptr), kLaunched);
  return {behind(decoded, shift), behind(codes, shift), largest.values()[0]};
}

TEST(WireCodecKernel, Bf16GivesTheBytesOfTheCpuForAnyLengthAndPlace) {
  for (const std::size_t count : kLengths) {
    for (const std::size_t shift : {0U, 1U, 4U}) {
      EXPECT_TRUE(bf16_by_kernel(drawn(count), shift) == bf16_on_cpu(drawn(count))) << count << " at " << shift;
    }
  }
  EXPECT_FALSE(bf16_by_kernel(drawn(257)) == bf16_on_cpu(drawn(256)));
  std::vector<float> values = drawn(257);
  values.back() = 1000;
  EXPECT_FALSE(bf16_by_kernel(values) == bf16_on_cpu(drawn(257))) << "the last one is the largest";
}

TEST(WireCodecKernel, FaultsOfBf16AreFound) {
  for (const std::size_t shift : {0U, 1U}) {
    const std::vector<float> values = drawn(2603);
    const Bf16Codes wanted = bf16_on_cpu(values);
    expect_holds_and_faults_are_found([&] { return bf16_by_kernel(values, shift) == wanted; });
  }
}

// Both sides of the magnitude up to which vectors travel.
TEST(WireCodecKernel, CopiesValuesThatNoFormatCarriesAndNoOthers) {
  const std::vector<float> values = drawn(2603);
  const auto copied = [&values](std::uint32_t most) {
    DeviceArray<float> from(values), to(std::vector<float>(values.size(), 7));
    DeviceArray<std::uint32_t> largest(std::vector<std::uint32_t>{most});
    EXPECT_EQ(copy_uncarried(largest.at(), from.at(), values.size(), to.at(), nullptr), kLaunched);
    return to.values();
  };
  expect_holds_and_faults_are_found([&] {
    return are_same(copied(kCarriedMost + 1), values) && are_same(copied(~0U), values) &&
           are_same(copied(kCarriedMost), std::vector<float>(values.size(), 7));
  });
}

}  // namespace
}  // namespace shoal::gpu::wire_codecs_test
