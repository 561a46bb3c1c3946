// Frames: a cut letter comes back bit for bit; one that was tampered with is refused before memory is taken.
#include "runtime/transport/assembly.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>
#include <xxhash.h>

namespace shoal::assembly_test {
namespace {

using Frames = std::vector<std::vector<char>>;

EncodedLetter random_letter(std::mt19937_64& random, std::size_t letter_size, const std::vector<std::size_t>& sizes) {
  EncodedLetter letter;
  letter.bytes.resize(letter_size);
  for (char& byte : letter.bytes) byte = static_cast<char>(random());
  for (const std::size_t size : sizes) {
    auto buffer = std::make_shared<AlignedBuffer>(size);
    for (std::size_t i = 0; i < size; ++i) buffer->data()[i] = static_cast<std::byte>(random());
    letter.buffers.push_back(std::move(buffer));
  }
  return letter;
}

Frames frames_of(const EncodedLetter& letter, std::uint64_t transfer) {
  Frames frames;
  cut(letter, transfer, [&frames](std::vector<char> frame) { frames.push_back(std::move(frame)); });
  return frames;
}

bool is_same(const EncodedLetter& sent, const Assembled& got) {
  if (sent.bytes != got.letter || sent.buffers.size() != got.buffers.size()) return false;
  for (std::size_t i = 0; i < sent.buffers.size(); ++i) {
    const auto& a = *sent.buffers[i];
    const auto& b = *got.buffers[i];
    if (a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size()) != 0) return false;
  }
  return true;
}

// Makes the checksum right again after tampering: an admitted peer can do that too.
void seal(std::vector<char>& frame) {
  const auto sum = static_cast<std::uint32_t>(XXH3_64bits(frame.data() + 4, frame.size() - 4));
  for (int i = 0; i < 4; ++i) frame[static_cast<std::size_t>(i)] = static_cast<char>(sum >> (24 - 8 * i));
}

void set_be64(std::vector<char>& frame, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) frame[at + i] = static_cast<char>(value >> (56 - 8 * i));
}

TEST(Assembly, WhatIsCutComesBackAlignedAndBitForBit) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Assembler assembler;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::size_t> sizes;
    for (std::size_t i = random() % 4; i > 0; --i) sizes.push_back(random() % (3U << 20U));
    if (round % 7 == 0) sizes.push_back(kFrameBytesMax - kFrameHeaderBytes);
    const EncodedLetter letter = random_letter(random, 1 + random() % 5000, sizes);
    const Frames frames = frames_of(letter, static_cast<std::uint64_t>(round) + 1);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      ASSERT_LE(frames[i].size(), kFrameBytesMax);
      auto result = assembler.accept(frames[i], {});
      ASSERT_TRUE(result.ok()) << result.failure().message;
      ASSERT_EQ(result.value().has_value(), i + 1 == frames.size());
      if (!result.value()) continue;
      EXPECT_TRUE(is_same(letter, **result));
      for (const auto& buffer : (*result)->buffers) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % AlignedBuffer::kAlignment, 0U);
      }
    }
    EXPECT_EQ(assembler.open_bytes(), 0U);
  }
}

// Once a second, as far as it is: the letter whole, the tensors by their sizes.
TEST(Assembly, ATransferThatTakesItsTimeIsTold) {
  std::mt19937_64 random(3);
  const EncodedLetter letter = random_letter(random, 100, {10U << 20U});
  const Frames frames = frames_of(letter, 1);
  for (const auto& [pause, told_max] : {std::pair{300, 4}, {2000, 10}, {0, 0}}) {
    Assembler assembler;
    Instant now{};
    int told = 0;
    std::uint64_t received = 0;
    for (std::size_t i = 0; i < frames.size(); ++i, now += std::chrono::milliseconds(pause)) {
      const bool is_whole = assembler.accept(frames[i], now).value().has_value();
      const auto news = assembler.take_news();
      EXPECT_FALSE(assembler.take_news()) << "said once";
      if (!news) continue;
      ++told;
      EXPECT_FALSE(is_whole);
      EXPECT_EQ(news->letter.bytes, letter.bytes);
      EXPECT_EQ(byte_count(news->letter), byte_count(letter));
      EXPECT_GT(news->received, received);
      EXPECT_LT(news->received, letter.buffers[0]->size());
      received = news->received;
    }
    EXPECT_LE(told, told_max) << pause;
    EXPECT_GE(told, told_max / 2) << pause;
  }
}

TEST(Assembly, InterleavedTransfersKeepApart) {
  std::mt19937_64 random(1);
  const EncodedLetter one = random_letter(random, 10, {3U << 20U});
  const EncodedLetter two = random_letter(random, 20, {2U << 20U});
  const Frames first = frames_of(one, 1);
  const Frames second = frames_of(two, 2);
  Assembler assembler;
  int whole = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto a = assembler.accept(first[i], {});
    ASSERT_TRUE(a.ok());
    if (a.value()) whole += is_same(one, **a) ? 1 : 0;
    if (i >= second.size()) continue;
    const auto b = assembler.accept(second[i], {});
    ASSERT_TRUE(b.ok());
    if (b.value()) whole += is_same(two, **b) ? 1 : 0;
  }
  EXPECT_EQ(whole, 2);
}

// Any flipped bit anywhere in a frame is noticed. The control: the untouched frames pass (above).
TEST(Assembly, EveryCorruptedFrameIsRefused) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Frames frames = frames_of(random_letter(random, 300, {1000, 2000}), 1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<char> frame = frames.at(0);
    frame[random() % frame.size()] ^= static_cast<char>(1U << (random() % 8));
    EXPECT_FALSE(Assembler().accept(frame, {}).ok());
  }
}

// The same with the checksum put right: a refusal or a transfer within the limits, never a crash or memory beyond them.
TEST(Assembly, ForgedFramesNeverTakeMoreThanTheLimits) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  AssemblyLimits limits;
  limits.buffer_bytes_max = limits.open_bytes_max = 1U << 16U;
  limits.letter_bytes_max = 1U << 12U;
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    Assembler assembler(limits);
    for (int i = 0; i < 20; ++i) {
      auto frames = frames_of(random_letter(random, random() % 500, {random() % 1000}), random() % 3);
      std::vector<char>& frame = frames.at(0);
      for (std::uint64_t flips = random() % 4; flips > 0; --flips) {
        frame[4 + random() % std::min<std::size_t>(frame.size() - 4, 56)] ^= static_cast<char>(1U << (random() % 8));
      }
      if (random() % 4 == 0) frame.resize(random() % frame.size() + 1);
      if (frame.size() > 4) seal(frame);
      if (!assembler.accept(frame, {}).ok()) ++refused;
      ASSERT_LE(assembler.open_bytes(), limits.open_bytes_max);
      ASSERT_LE(assembler.open_transfers(), limits.transfers_max);
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Assembly, GapsRepeatsAndOverrunsAreRefused) {
  std::mt19937_64 random(2);
  const Frames frames = frames_of(random_letter(random, 10, {3U << 20U}), 1);
  ASSERT_GE(frames.size(), 3U);
  EXPECT_FALSE(Assembler().accept(frames[1], {}).ok()) << "begins in the middle";
  Assembler gap;
  ASSERT_TRUE(gap.accept(frames[0], {}).ok());
  EXPECT_FALSE(gap.accept(frames[2], {}).ok());
  Assembler twice;
  ASSERT_TRUE(twice.accept(frames[0], {}).ok());
  EXPECT_FALSE(twice.accept(frames[0], {}).ok());
  Assembler longer;
  ASSERT_TRUE(longer.accept(frames[0], {}).ok());
  std::vector<char> other = frames[1];
  set_be64(other, 24, std::uint64_t{1} << 40U);
  seal(other);
  EXPECT_FALSE(longer.accept(other, {}).ok()) << "another total";
}

TEST(Assembly, AnnouncedSizesBeyondTheLimitsAreRefusedAtOnce) {
  std::mt19937_64 random(3);
  auto frame = frames_of(random_letter(random, 10, {100}), 1).at(0);
  const std::uint64_t huge = std::uint64_t{1} << 50U;
  set_be64(frame, kFrameHeaderBytes + 12, huge);
  set_be64(frame, 24, 20 + 10 + huge);
  seal(frame);
  const auto result = Assembler().accept(frame, {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.failure().message.find("a buffer of"), std::string::npos) << result.failure().message;
}

// 60 bytes may announce four gigabytes: what they cost is what has come, and a little.
TEST(Assembly, S6AnAnnouncedTensorTakesMemoryOnlyAsItComes) {
  std::mt19937_64 random(5);
  constexpr std::uint64_t kAnnounced = std::uint64_t{3} << 30U;
  auto frame = frames_of(random_letter(random, 10, {100}), 1).at(0);
  set_be64(frame, kFrameHeaderBytes + 12, kAnnounced);
  set_be64(frame, 24, 20 + 10 + kAnnounced);
  seal(frame);
  Assembler assembler;
  ASSERT_TRUE(assembler.accept(frame, {}).ok());
  EXPECT_EQ(assembler.open_bytes(), 10 + kAnnounced);
  EXPECT_LE(assembler.memory(), 2 * ArrivingBuffer::kFirstBytesMax);
}

TEST(Assembly, MemoryFollowsWhatHasCome) {
  std::mt19937_64 random(6);
  const EncodedLetter letter = random_letter(random, 10, {30U << 20U, 0, 5U << 20U});
  const Frames frames = frames_of(letter, 1);
  Assembler assembler;
  std::uint64_t come = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    come += frames[i].size();
    auto result = assembler.accept(frames[i], {});
    ASSERT_TRUE(result.ok());
    EXPECT_LE(assembler.memory(), (ArrivingBuffer::kGrowth + 1) * come + 2 * ArrivingBuffer::kFirstBytesMax);
    if (result.value()) {
      EXPECT_TRUE(is_same(letter, **result));
    }
  }
  EXPECT_EQ(assembler.memory(), 0U);
}

// The run has not given it a number: it may introduce itself.
TEST(Assembly, AStrangersLettersAreSmallAndWithoutTensors) {
  std::mt19937_64 random(7);
  const auto accepts = [](const EncodedLetter& letter) {
    return Assembler(kStrangerAssembly).accept(frames_of(letter, 1).at(0), {}).ok();
  };
  EXPECT_TRUE(accepts(random_letter(random, 2000, {})));
  EXPECT_FALSE(accepts(random_letter(random, 10, {0})));
  EXPECT_FALSE(accepts(random_letter(random, (64U << 10U) + 1, {})));
  Assembler known(kStrangerAssembly);
  known.allow({});
  EXPECT_TRUE(known.accept(frames_of(random_letter(random, 10, {100}), 1).at(0), {}).ok());
}

}  // namespace
}  // namespace shoal::assembly_test
