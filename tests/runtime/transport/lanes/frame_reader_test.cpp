// Frames out of a stream of bytes, and what an announced length costs.
#include "runtime/transport/lanes/frame_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace shoal::frame_reader_test {
namespace {

std::vector<char> frame_with(std::uint32_t payload, std::mt19937_64& random) {
  std::vector<char> frame(kFrameHeaderBytes + payload);
  for (char& byte : frame) byte = static_cast<char>(random());
  for (unsigned i = 0; i < 4; ++i) frame[4 + i] = static_cast<char>(payload >> (8 * (3 - i)));
  return frame;
}

TEST(FrameReader, GivesBackWhatCameInPiecesOfAnySize) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  FrameReader reader;
  for (const std::uint32_t payload : {1U, 100U, 1U << 19U, 70000U, 1U << 16U, 3U}) {
    const std::vector<char> frame = frame_with(payload, random);
    bool is_whole = false;
    for (std::size_t have = 0; have < frame.size();) {
      ASSERT_FALSE(is_whole);
      const auto room = reader.room();
      ASSERT_FALSE(room.empty());
      const std::size_t step = std::min<std::size_t>(1 + random() % 100000, room.size());
      ASSERT_LE(have + step, frame.size()) << "it asks for no byte of the next frame";
      std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(have), step, room.begin());
      have += step;
      is_whole = reader.filled(step).value();
    }
    ASSERT_TRUE(is_whole);
    EXPECT_TRUE(std::ranges::equal(reader.frame(), frame));
    reader.next();
  }
}

TEST(FrameReader, S6AnAnnouncedLengthTakesMemoryOnlyAsItComes) {
  std::mt19937_64 random(1);
  const std::vector<char> frame = frame_with(kFrameBytesMax - kFrameHeaderBytes, random);
  FrameReader reader;
  std::copy_n(frame.begin(), kFrameHeaderBytes, reader.room().begin());
  ASSERT_FALSE(reader.filled(kFrameHeaderBytes).value());
  EXPECT_LE(reader.room().size(), FrameReader::kPieceBytesMax);
}

TEST(FrameReader, RefusesLengthsBeyondItsBound) {
  std::mt19937_64 random(1);
  for (const std::uint32_t length : {0U, static_cast<std::uint32_t>(kFrameBytesMax), 0xFFFFFFFFU}) {
    std::vector<char> head = frame_with(0, random);
    for (unsigned i = 0; i < 4; ++i) head[4 + i] = static_cast<char>(length >> (8 * (3 - i)));
    FrameReader reader;
    std::copy_n(head.begin(), kFrameHeaderBytes, reader.room().begin());
    EXPECT_FALSE(reader.filled(kFrameHeaderBytes).ok()) << length;
  }
}

}  // namespace
}  // namespace shoal::frame_reader_test
