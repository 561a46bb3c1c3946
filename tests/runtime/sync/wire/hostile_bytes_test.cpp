// Encoded vectors that lie: whatever the bytes say, they are refused or give finite numbers, and nothing else happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "runtime/sync/wire/wire_codec.h"
#include "tests/runtime/sync/random_floats.h"

namespace shoal::hostile_bytes_test {
namespace {

constexpr WireFormat kFormats[] = {WireFormat::kFp32, WireFormat::kBf16, WireFormat::kInt8, WireFormat::kE3m0};
constexpr float kUntouched = 12345;

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const TensorBlob& blob) {
  return {blob.as<std::uint8_t>(), blob.as<std::uint8_t>() + blob.byte_count()};
}

TensorBlob blob_of_bytes(const Bytes& bytes) {
  auto buffer = std::make_shared<AlignedBuffer>(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return TensorBlob{DType::kUint8, {static_cast<std::int64_t>(bytes.size())}, std::move(buffer)};
}

Bytes sample(WireFormat format, std::size_t count) {
  return bytes_of(*encode_values(format, gaussian_values(count, count)));
}

// Returns whether it was taken. Nothing is written when it is refused; everything is a number when it is taken.
bool is_taken(const TensorBlob& blob, WireFormat format, std::size_t count) {
  std::vector<float> out(count + 1, kUntouched);
  const bool taken = decode_values(blob, format, std::span(out).first(count)).ok();
  EXPECT_EQ(out[count], kUntouched) << "written behind the end";
  for (std::size_t at = 0; at < count; ++at) {
    if (taken) {
      EXPECT_TRUE(std::isfinite(out[at])) << at;
    } else {
      EXPECT_EQ(out[at], kUntouched) << "written although refused";
    }
  }
  return taken;
}

TEST(HostileBytes, AreRefusedInEveryFieldOfTheHeader) {
  for (const WireFormat format : kFormats) {
    const Bytes good = sample(format, 301);
    ASSERT_TRUE(is_taken(blob_of_bytes(good), format, 301)) << "control";
    for (std::size_t at = 0; at < kWireHeaderBytes; ++at) {
      for (const unsigned bit : {0U, 3U, 7U}) {
        Bytes bad = good;
        bad[at] = static_cast<std::uint8_t>(bad[at] ^ (1U << bit));
        EXPECT_FALSE(is_taken(blob_of_bytes(bad), format, 301)) << "bit " << bit << " of byte " << at;
      }
    }
  }
}

TEST(HostileBytes, AreRefusedWithAnotherLengthCountFormatTypeOrShape) {
  for (const WireFormat format : kFormats) {
    const Bytes good = sample(format, 301);
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, good.size() - 1}) {
      EXPECT_FALSE(
          is_taken(blob_of_bytes(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length))), format, 301))
          << length;
    }
    Bytes longer = good;
    longer.push_back(0);
    EXPECT_FALSE(is_taken(blob_of_bytes(longer), format, 301));
    EXPECT_FALSE(is_taken(blob_of_bytes(good), format, 300));
    EXPECT_FALSE(is_taken(blob_of_bytes(good), format, 302));
    for (const WireFormat other : kFormats) {
      EXPECT_EQ(is_taken(blob_of_bytes(good), other, 301), other == format);
    }
    for (const std::uint64_t count : {std::uint64_t{1} << 63U, ~std::uint64_t{0}, std::uint64_t{1} << 62U}) {
      Bytes huge = good;
      std::memcpy(huge.data() + 8, &count, 8);
      EXPECT_FALSE(wire_shape_of(blob_of_bytes(huge)).ok()) << count;
    }
    TensorBlob typed = blob_of_bytes(good);
    typed.dtype = DType::kFloat32;
    EXPECT_FALSE(is_taken(typed, format, 301));
    TensorBlob shaped = blob_of_bytes(good);
    shaped.shape = {1, static_cast<std::int64_t>(good.size())};
    EXPECT_FALSE(is_taken(shaped, format, 301));
    EXPECT_FALSE(is_taken(TensorBlob{}, format, 301));
  }
}

// The bits of a scale: NaN, infinities, negative, -0 and too large are refused; 0 and 1 are not.
TEST(HostileBytes, AreRefusedWithAScaleThatIsNoneInAnyBlock) {
  for (const std::uint32_t bits : {0x7FC00000U, 0x7F800000U, 0xFF800000U, 0xBF800000U, 0x80000000U, 0x72000000U}) {
    for (const std::size_t block : {0U, 1U, 2U}) {
      Bytes int8 = sample(WireFormat::kInt8, 700);
      std::memcpy(int8.data() + kWireHeaderBytes + 4 * block, &bits, 4);
      EXPECT_FALSE(is_taken(blob_of_bytes(int8), WireFormat::kInt8, 700)) << std::hex << bits;
      Bytes e3m0 = sample(WireFormat::kE3m0, 700);
      const auto high = static_cast<std::uint16_t>(bits >> 16U);
      std::memcpy(e3m0.data() + kWireHeaderBytes + 2 * block, &high, 2);
      EXPECT_FALSE(is_taken(blob_of_bytes(e3m0), WireFormat::kE3m0, 700)) << std::hex << high;
    }
  }
  for (const std::uint32_t bits : {0U, 0x3F800000U}) {
    Bytes int8 = sample(WireFormat::kInt8, 700);
    std::memcpy(int8.data() + kWireHeaderBytes, &bits, 4);
    EXPECT_TRUE(is_taken(blob_of_bytes(int8), WireFormat::kInt8, 700)) << "control";
  }
}

TEST(HostileBytes, AreRefusedWithAValueThatIsNoNumberAndWithANibbleTooMany) {
  for (const std::size_t at : {0U, 150U, 300U}) {
    Bytes fp32 = sample(WireFormat::kFp32, 301);
    fp32[kWireHeaderBytes + 4 * at + 3] = 0x7F;
    fp32[kWireHeaderBytes + 4 * at + 2] = 0xC0;
    EXPECT_FALSE(is_taken(blob_of_bytes(fp32), WireFormat::kFp32, 301));
    Bytes bf16 = sample(WireFormat::kBf16, 301);
    bf16[kWireHeaderBytes + 2 * at + 1] = 0xFF;
    bf16[kWireHeaderBytes + 2 * at] = 0x80;
    EXPECT_FALSE(is_taken(blob_of_bytes(bf16), WireFormat::kBf16, 301));
  }
  Bytes e3m0 = sample(WireFormat::kE3m0, 301);
  e3m0.back() = static_cast<std::uint8_t>(e3m0.back() | 0x10U);
  EXPECT_FALSE(is_taken(blob_of_bytes(e3m0), WireFormat::kE3m0, 301));
}

TEST(HostileBytes, OfAnyKindAreRefusedOrGiveNumbers) {
  const std::uint64_t seed = 20;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int taken = 0;
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const WireFormat format = kFormats[random() % 4];
    const std::size_t count = random() % 600;
    Bytes bytes = sample(format, count);
    for (std::uint64_t change = random() % 4; change > 0 && !bytes.empty(); --change) {
      const std::size_t at = random() % (random() % 2 == 0 ? kWireHeaderBytes : bytes.size());
      bytes[at] = static_cast<std::uint8_t>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 5));
    is_taken(blob_of_bytes(bytes), format, count) ? ++taken : ++refused;
  }
  EXPECT_GT(taken, 300);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace shoal::hostile_bytes_test
