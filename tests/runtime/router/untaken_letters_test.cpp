// Letters to an actor that dies: each is taken exactly once by one of its lives, unless the bound was passed.
#include "runtime/router/untaken_letters.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/base/compose.h"

namespace shoal::untaken_letters_test {
namespace {

using Taken = std::shared_ptr<std::atomic<std::uint64_t>>;

MessageBody numbered(std::uint64_t number) { return RunEvent{RunEventKind::kStarted, "s", "r", number}; }
std::uint64_t number_of(const MessageBody& body) { return std::get<RunEvent>(body).step; }

TEST(UntakenLetters, TheNextLifeIsGivenWhatTheLastOneHadNotTaken) {
  const Taken taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  UntakenLetters letters(taken);
  for (std::uint64_t number = 1; number <= 5; ++number) letters.add(numbered(number));
  *taken = 3;
  const auto& left = letters.begin_life();
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(number_of(left[0]), 4U);
  *taken = 5;
  EXPECT_TRUE(letters.begin_life().empty());
}

TEST(UntakenLetters, AreBoundedAndCountedWhenGivenUp) {  // S-6
  const Taken taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  UntakenLetters letters(taken);
  for (std::uint64_t number = 1; number <= UntakenLetters::kCountMax + 10; ++number) letters.add(numbered(number));
  EXPECT_EQ(letters.given_up(), 10U);
  *taken = 12;  // the life that had them all took two more than were given up
  EXPECT_EQ(number_of(letters.begin_life().front()), 13U);
}

// A shard that reached the disk may be as large as a stage: it is not kept until the next one comes.
TEST(UntakenLetters, S6WhatWasTakenIsNotKept) {
  const Taken taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  UntakenLetters letters(taken);
  SaveShard shard;
  const auto bytes = std::make_shared<AlignedBuffer>(1000);
  shard.image = {DType::kUint8, {1000}, bytes};
  letters.add(shard);
  shard.image = {};
  letters.forget_taken();
  EXPECT_EQ(bytes.use_count(), 2) << "not taken yet";
  *taken = 1;
  letters.forget_taken();
  EXPECT_EQ(bytes.use_count(), 1);
  EXPECT_TRUE(letters.begin_life().empty());
}

// Lives that take some and die at random moments.
TEST(UntakenLetters, EveryLetterIsTakenOnceWhateverDies) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  const Taken taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  UntakenLetters letters(taken);
  std::deque<MessageBody> mailbox;
  std::uint64_t sent = 0;
  std::uint64_t expected = 0;
  const auto take_one = [&] {
    ++*taken;
    EXPECT_EQ(number_of(mailbox.front()), ++expected);
    mailbox.pop_front();
  };
  for (int move = 0; move < 20000; ++move) {
    const auto choice = random() % 10;
    if (choice < 5) {
      letters.add(numbered(++sent));
      mailbox.push_back(numbered(sent));
    } else if (choice < 9) {
      if (!mailbox.empty()) take_one();
    } else {
      mailbox = letters.begin_life();
    }
  }
  mailbox = letters.begin_life();
  while (!mailbox.empty()) take_one();
  EXPECT_EQ(expected, sent);
}

}  // namespace
}  // namespace shoal::untaken_letters_test
