// Tests which letters wait for which process, in which order, and whose give way.
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "runtime/router/waiting_letters.h"

namespace shoal::waiting_letters_test {
namespace {

// Takes all that wait for this process.
[[nodiscard]] std::vector<Letter> take_all(WaitingLetters& waiting, ProcessIncarnation process) {
  std::vector<Letter> letters;
  waiting.offer(process, [&letters](const Letter& letter) {
    letters.push_back(letter);
    return true;
  });
  return letters;
}

[[nodiscard]] bool is_linked_to_none(ProcessIncarnation) { return false; }
[[nodiscard]] std::size_t bytes_in(const WaitingLetters& waiting) { return waiting.bytes(is_linked_to_none); }
[[nodiscard]] bool add(WaitingLetters& waiting, ProcessIncarnation process, MessageBody body) {
  return waiting.add(process, Letter{{}, {}, std::move(body)}, is_linked_to_none).is_kept;
}

TEST(WaitingLetters, S6AreBoundedInBytes) {
  WaitingLetters waiting(4096);
  int refused = 0;
  for (int i = 0; i < 10; ++i) refused += add(waiting, ProcessIncarnation{1}, Progress{}) ? 0 : 1;
  EXPECT_LE(bytes_in(waiting), 4096U);
  EXPECT_EQ(refused, 6);
  EXPECT_EQ(take_all(waiting, ProcessIncarnation{1}).size(), 4U);
  EXPECT_EQ(bytes_in(waiting), 0U);
  EXPECT_FALSE(waiting.has_any(ProcessIncarnation{1}));
  EXPECT_TRUE(add(waiting, ProcessIncarnation{1}, Progress{}));
  EXPECT_EQ(waiting.drop(ProcessIncarnation{1}), 1U);
  EXPECT_EQ(bytes_in(waiting), 0U);
}

// One whose process is linked again soon, and one that is away for an hour.
TEST(WaitingLetters, ForOneAbsentProcessTakeNobodyElsesRoom) {
  WaitingLetters waiting(4096);
  for (int i = 0; i < 10; ++i) (void)add(waiting, ProcessIncarnation{1}, Progress{});
  for (const std::size_t lost : {1U, 1U, 0U, 0U}) {
    const auto added = waiting.add(ProcessIncarnation{2}, Letter{{}, {}, Progress{}}, is_linked_to_none);
    EXPECT_EQ(added.gave_way.size(), lost);
    EXPECT_EQ(added.is_kept, lost == 1) << "nobody has more than it would have";
  }
  EXPECT_EQ(take_all(waiting, ProcessIncarnation{1}).size(), 2U);
  EXPECT_EQ(take_all(waiting, ProcessIncarnation{2}).size(), 2U);
}

TEST(WaitingLetters, ForALinkedProcessTakeNoRoomAndNeedNone) {
  WaitingLetters waiting(4096);
  const auto is_linked = [](ProcessIncarnation process) { return process == ProcessIncarnation{1}; };
  const auto add_to = [&](std::uint64_t process) {
    return waiting.add(ProcessIncarnation{process}, Letter{{}, {}, Progress{}}, is_linked);
  };
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(add_to(1).is_kept);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(add_to(2).is_kept);
  EXPECT_FALSE(add_to(2).is_kept);
  EXPECT_TRUE(add_to(1).is_kept);
  EXPECT_EQ(take_all(waiting, ProcessIncarnation{1}).size(), 11U);
}

// A buffer that is full of tensors for one peer once lost the order that would have started a replica on another.
TEST(WaitingLetters, ThatNobodySaysAgainAreKeptAlsoBehindAFullBuffer) {
  WaitingLetters waiting(1);
  ASSERT_TRUE(add(waiting, ProcessIncarnation{1}, Backward{}));
  EXPECT_FALSE(add(waiting, ProcessIncarnation{2}, Backward{})) << "its sender asks again";
  EXPECT_TRUE(add(waiting, ProcessIncarnation{2}, SpawnStage{}));
  EXPECT_TRUE(add(waiting, ProcessIncarnation{2}, EndStage{}));
  EXPECT_FALSE(add(waiting, ProcessIncarnation{1}, Backward{}));
  EXPECT_EQ(take_all(waiting, ProcessIncarnation{2}).size(), 2U);
}

// Only the first letter of each way may be refused: nothing of its way overtakes it, and the other way goes on.
TEST(WaitingLetters, KeepTheOrderOfTheirWay) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const TensorBlob one_byte{DType::kUint8, {1}, std::make_shared<AlignedBuffer>(1)};
  for (int round = 0; round < 200; ++round) {
    WaitingLetters waiting(std::size_t{1} << 30);
    std::vector<std::uint64_t> sent[2], came[2];  // by way
    for (std::uint64_t number = 1; number <= 40; ++number) {
      const std::size_t way = random() % 2;
      sent[way].push_back(number);
      MessageBody body = StateProgress{{}, number, {}, {}, {}, false, 0, 0};
      if (way == 1) body = FileChunk{{}, FileKind::kLog, number, 0, one_byte, {}};
      ASSERT_TRUE(add(waiting, ProcessIncarnation{1}, body));
    }
    for (int turn = 0; turn < 1000 && waiting.has_any(ProcessIncarnation{1}); ++turn) {
      waiting.offer(ProcessIncarnation{1}, [&](const Letter& letter) {
        if (random() % 3 == 0) return false;
        const auto* chunk = std::get_if<FileChunk>(&letter.body);
        if (chunk != nullptr) came[1].push_back(chunk->offset);
        if (chunk == nullptr) came[0].push_back(std::get<StateProgress>(letter.body).step);
        return true;
      });
    }
    EXPECT_EQ(came[0], sent[0]);
    EXPECT_EQ(came[1], sent[1]);
    EXPECT_EQ(bytes_in(waiting), 0U);
  }
}

// A spawner may be away for hours.
// A copy from a device may be another tensor than it said: what waits is counted as what it is.
TEST(WaitingLetters, AreCountedAsWhatTheyBecome) {
  const auto tensor = [](std::size_t bytes) {
    return TensorBlob{DType::kUint8, {static_cast<std::int64_t>(bytes)}, std::make_shared<AlignedBuffer>(bytes)};
  };
  for (const std::size_t becomes : {std::size_t{16}, std::size_t{3000}}) {
    WaitingLetters waiting(1 << 20);
    for (int i = 0; i < 2; ++i) {
      Forward forward;
      forward.input = tensor(1000);
      (void)add(waiting, ProcessIncarnation{1}, forward);
    }
    const std::size_t before = bytes_in(waiting);
    bool is_first = true;
    waiting.keep_those([&](Letter& letter) {
      if (std::exchange(is_first, false)) std::get<Forward>(letter.body).input = tensor(becomes);
      return true;
    });
    EXPECT_EQ(bytes_in(waiting) + 1000, before + becomes);
    waiting.keep_those([](const Letter& letter) { return std::get<Forward>(letter.body).input.byte_count() == 1000; });
    EXPECT_EQ(bytes_in(waiting) * 2, before) << "and given up as that";
  }
}

TEST(WaitingLetters, WhatAProcessSaysOfItselfNowIsNotKeptForLater) {
  WaitingLetters waiting(1 << 20);
  for (std::uint64_t nonce = 1; nonce <= 100; ++nonce) {
    Join join;
    join.nonce = nonce;
    EXPECT_TRUE(add(waiting, kSpawnerProcess, join));
    EXPECT_TRUE(add(waiting, kSpawnerProcess, Heartbeat{}));
  }
  EXPECT_TRUE(add(waiting, kSpawnerProcess, StageEnded{}));
  const auto kept = take_all(waiting, kSpawnerProcess);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(std::get<Join>(kept[0].body).nonce, 100U);
  EXPECT_EQ(bytes_in(waiting), 0U);
}

}  // namespace
}  // namespace shoal::waiting_letters_test
