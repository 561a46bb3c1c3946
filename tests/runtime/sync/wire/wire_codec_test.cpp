// The wire formats against plain loops, their levels and their figures.
#include "runtime/sync/wire/wire_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/runtime/sync/random_floats.h"

namespace shoal::wire_codec_test {
namespace {

constexpr std::size_t kBlock = 256;
constexpr WireFormat kFormats[] = {WireFormat::kFp32, WireFormat::kBf16, WireFormat::kInt8, WireFormat::kE3m0};
constexpr WireFormat kBlockFormats[] = {WireFormat::kInt8, WireFormat::kE3m0};
constexpr std::size_t kLengths[] = {0, 1, 2, 3, 15, 16, 17, 127, 128, 129, 255, 256, 257, 511, 512, 513, 767, 1000};
constexpr double kLevels[] = {0, 1.0 / 64, 1.0 / 32, 1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2, 1};

std::vector<float> through(WireFormat format, std::span<const float> values) {
  const auto blob = encode_values(format, values);
  ENSURE(blob.ok(), blob.failure().message);
  std::vector<float> out(values.size(), std::numeric_limits<float>::quiet_NaN());
  const Status decoded = decode_values(*blob, format, out);
  ENSURE(decoded.ok(), decoded.failure().message);
  return out;
}

// One block of `count` values, value i with nibble i mod 16, of scale 1.
TensorBlob all_nibbles(std::size_t count) {
  const std::size_t half = (count + 1) / 2;
  auto bytes = std::make_shared<AlignedBuffer>(kWireHeaderBytes + 2 + half);
  std::memset(bytes->data(), 0, bytes->size());
  std::memcpy(bytes->data(), "SWV1\x03", 5);
  std::memcpy(bytes->data() + 8, &count, 8);
  const std::uint16_t one = 0x3F80;
  std::memcpy(bytes->data() + kWireHeaderBytes, &one, 2);
  for (std::size_t at = 0; at < count; ++at) {
    std::byte& byte = bytes->data()[kWireHeaderBytes + 2 + at % half];
    byte |= static_cast<std::byte>((at % 16) << (at < half ? 0U : 4U));
  }
  const auto size = static_cast<std::int64_t>(bytes->size());
  return TensorBlob{DType::kUint8, {size}, std::move(bytes)};
}

TEST(E3m0, HasSixteenCodesThatComeBackAsTheyWere) {
  for (const std::size_t count : {16U, 17U, 31U, 255U, 256U}) {
    const TensorBlob blob = all_nibbles(count);
    std::vector<float> values(count);
    ASSERT_TRUE(decode_values(blob, WireFormat::kE3m0, values).ok()) << count;
    for (std::size_t at = 0; at < count; ++at) {
      const double level = kLevels[at % 8];
      EXPECT_EQ(values[at], at % 16 < 8 ? level : -level) << count << ": " << at;
      EXPECT_EQ(std::signbit(values[at]), at % 16 >= 8) << count << ": " << at;
    }
    EXPECT_EQ(*encode_values(WireFormat::kE3m0, values), blob) << count;
  }
}

// float and double: the products are rounded, so a value within 1e-6 of a tie may go either way.
TEST(E3m0, TakesTheNearestLevelOfItsBlock) {
  for (const std::size_t length : kLengths) {
    const auto values = student_t3_values(length, length);
    const auto decoded = through(WireFormat::kE3m0, values);
    for (std::size_t begin = 0; begin < length; begin += kBlock) {
      const std::size_t end = std::min(begin + kBlock, length);
      float largest = 0;
      for (std::size_t at = begin; at < end; ++at) largest = std::max(largest, std::fabs(values[at]));
      const double scale = through(WireFormat::kBf16, std::span(&largest, 1))[0];
      for (std::size_t at = begin; at < end; ++at) {
        double nearest = 1e30;
        for (const double level : kLevels) {
          nearest = std::min(nearest, std::fabs(std::fabs(values[at]) - level * scale));
        }
        const double distance = std::fabs(static_cast<double>(values[at]) - decoded[at]);
        EXPECT_LE(distance, nearest * (1 + 1e-6) + 1e-6 * scale) << "value " << at << " of " << length;
      }
    }
  }
}

TEST(Wire, KeepsTheOrderOfValues) {
  for (const WireFormat format : kFormats) {
    auto values = student_t3_values(11, kBlock);
    EXPECT_FALSE(std::ranges::is_sorted(through(format, values))) << "control: values in no order";
    std::ranges::sort(values);
    EXPECT_TRUE(std::ranges::is_sorted(through(format, values))) << static_cast<int>(format);
  }
}

TEST(E3m0, HasTheStatedErrorOnGaussianValuesAndOnHeavyTails) {
  const auto gaussian = gaussian_values(1, 1U << 17U);
  const auto student = student_t3_values(2, 1U << 17U);
  const auto sent = through(WireFormat::kE3m0, gaussian);
  const auto sent_student = through(WireFormat::kE3m0, student);
  const double error = relative_l2(sent, gaussian);
  std::printf("E3M0: relative L2 %.4f, cosine %.5f on Gaussian values; %.4f, %.5f on Student-t(3)\n", error,
              cosine(sent, gaussian), relative_l2(sent_student, student), cosine(sent_student, student));
  EXPECT_NEAR(error, 0.19, 0.01);
  EXPECT_GE(cosine(sent, gaussian), 0.98);
  EXPECT_GE(cosine(sent_student, student), 0.98);
  // Negative control: rounding down to a level is outside of all three.
  auto lower = [&](std::vector<float> values) {
    for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
      const auto block = std::span(values).subspan(begin, kBlock);
      float scale = 0;
      for (const float value : block) scale = std::max(scale, std::fabs(value));
      for (float& value : block) {
        double level = 0;
        for (const double candidate : kLevels)
          level = candidate * scale <= std::fabs(value) ? candidate * scale : level;
        value = static_cast<float>(std::copysign(level, value));
      }
    }
    return values;
  };
  EXPECT_GT(relative_l2(lower(gaussian), gaussian), 0.2);
  EXPECT_LT(cosine(lower(gaussian), gaussian), 0.98);
  EXPECT_LT(cosine(lower(student), student), 0.98);
}

TEST(Int8, IsTheBlocksLargestOver127TimesTheNearestInteger) {
  for (const std::size_t length : kLengths) {
    const auto values = gaussian_values(length + 50, length, 3e-5F);
    const auto decoded = through(WireFormat::kInt8, values);
    for (std::size_t at = 0; at < length; ++at) {
      const std::size_t begin = at / kBlock * kBlock;
      float largest = 0;
      for (std::size_t i = begin; i < std::min(begin + kBlock, length); ++i) {
        largest = std::max(largest, std::fabs(values[i]));
      }
      const float code = std::nearbyint(values[at] * (127 / largest));
      EXPECT_EQ(decoded[at], code * (largest / 127)) << "value " << at << " of " << length;
    }
  }
  const auto gaussian = gaussian_values(3, 1U << 16U);
  const double error = relative_l2(through(WireFormat::kInt8, gaussian), gaussian);
  const auto student = student_t3_values(9, 1U << 16U);
  std::printf("int8: relative L2 %.5f on Gaussian values, %.5f on Student-t(3)\n", error,
              relative_l2(through(WireFormat::kInt8, student), student));
  EXPECT_NEAR(error, 0.0067, 0.001);
}

TEST(Bf16, RoundsToNearestAndTiesToEven) {
  const float step = 0x1p-7F;  // spacing of bf16 at 1
  const std::vector<float> values = {1 + step / 2,        1 + 3 * step / 2, 1 + step / 2 + 0x1p-20F,
                                     -(1 + 3 * step / 2), 0x1p+100F,        -0.0F,
                                     0x1.FFFFFEp-1F,      0x1p-149F};
  const std::vector<float> wanted = {1, 1 + 2 * step, 1 + step, -(1 + 2 * step), 0x1p+100F, -0.0F, 1, 0};
  const auto got = through(WireFormat::kBf16, values);
  for (std::size_t at = 0; at < values.size(); ++at) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got[at]), std::bit_cast<std::uint32_t>(wanted[at])) << at;
  }
  EXPECT_NE(got[1], 1 + step) << "control: rounding down, or ties away from even, gives this";
  const auto many = gaussian_values(4, 4099);
  const auto sent = through(WireFormat::kBf16, many);
  EXPECT_NEAR(relative_l2(sent, many), 0.0017, 0.0002);
  for (std::size_t at = 0; at < many.size(); ++at) {
    EXPECT_LE(std::fabs(sent[at] - many[at]), std::fabs(many[at]) * 0x1p-8F);
  }
}

TEST(Fp32, IsTheValuesThemselves) {
  for (const std::size_t length : kLengths) {
    const auto values = student_t3_values(length, length);
    EXPECT_EQ(through(WireFormat::kFp32, values), values);
  }
}

// Values in one block say nothing about the next, and a tail is a block of its own.
TEST(Wire, ScalesBlocksApart) {
  for (const WireFormat format : kBlockFormats) {
    std::vector<float> values = gaussian_values(5, 2 * kBlock + 7);
    const auto before = through(format, values);
    values[3] = 1e6F;
    const auto after = through(format, values);
    EXPECT_TRUE(std::equal(before.begin() + kBlock, before.end(), after.begin() + kBlock));
    EXPECT_FALSE(std::equal(before.begin(), before.begin() + kBlock, after.begin())) << "control: the block itself";
  }
}

TEST(Wire, SendsZerosAndVanishingBlocksAsZeros) {
  for (const WireFormat format : kBlockFormats) {
    const std::vector<float> zeros(300, 0);
    EXPECT_EQ(through(format, zeros), zeros);
    EXPECT_EQ(through(format, std::vector<float>(300, 1e-38F)), zeros);
    EXPECT_NE(through(format, std::vector<float>(300, 0x1p-99F)), zeros) << "control: from 2^-100 on they are kept";
    const auto extremes = through(format, std::vector<float>{0x1p+100F, -0x1p+100F, 0});
    EXPECT_FLOAT_EQ(extremes[0], 0x1p+100F);
    EXPECT_FLOAT_EQ(extremes[1], -0x1p+100F);
    EXPECT_EQ(extremes[2], 0);
  }
}

TEST(Wire, RefusesWhatIsNoNumberOrBeyondRangeWhereverItStands) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const WireFormat format : kFormats) {
    for (const std::size_t length : {1U, 255U, 256U, 700U}) {
      auto values = gaussian_values(6, length);
      EXPECT_TRUE(encode_values(format, values).ok()) << "control";
      for (const std::size_t at : {std::size_t{0}, length / 2, length - 1}) {
        for (const float bad : {infinity, -infinity, nan, -nan, 0x1.000002p+100F, -3e38F}) {
          const float good = std::exchange(values[at], bad);
          const auto refused = encode_values(format, values);
          ASSERT_FALSE(refused.ok()) << bad << " at " << at << " of " << length;
          EXPECT_NE(refused.failure().message.find("value " + std::to_string(at) + " of"), std::string::npos);
          values[at] = good;
        }
      }
    }
  }
}

TEST(Wire, TakesTheStatedBitsPerValue) {
  constexpr double kBits[] = {32, 16, 8.125, 4.0625};
  for (const WireFormat format : kFormats) {
    const std::size_t count = std::size_t{1} << 16U;
    EXPECT_EQ(bits_per_value(format), kBits[static_cast<int>(format)]);
    const auto blob = encode_values(format, gaussian_values(7, count));
    const double bytes = bits_per_value(format) * static_cast<double>(count) / 8 + kWireHeaderBytes;
    EXPECT_EQ(static_cast<double>(blob->byte_count()), bytes);
    EXPECT_EQ(blob->byte_count(), encoded_bytes({format, count}));
  }
}

}  // namespace
}  // namespace shoal::wire_codec_test
