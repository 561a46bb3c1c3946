// Tests what waits for the journal: its bound, whose letters give way, and when they are given up.
#include "runtime/router/held_letters.h"

#include <gmock/gmock.h>

#include <random>

#include "runtime/base/compose.h"

namespace shoal::held_letters_test {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kSmall = 1024;  // bytes of an Ask
constexpr JournalPosition kNever{~std::uint64_t{0}};

// Step numbers tell letters apart.
Letter ask_of(std::uint64_t process, std::uint64_t number) {
  Ask ask;
  ask.cause.step = StepId{number};
  return {ProcessIncarnation{process}, {}, ask};
}

std::uint64_t number_of(const Letter& letter) { return std::get<Ask>(letter.body).cause.step.value; }

std::vector<std::uint64_t> numbers_of(const std::vector<Letter>& letters) {
  std::vector<std::uint64_t> numbers;
  for (const Letter& letter : letters) numbers.push_back(number_of(letter));
  return numbers;
}

std::vector<std::uint64_t> taken(HeldLetters& held, std::uint64_t position) {
  std::vector<std::uint64_t> numbers;
  for (const auto& one : held.take_up_to(JournalPosition{position})) numbers.push_back(number_of(one.letter));
  return numbers;
}

TEST(HeldLetters, AreTakenWhenTheJournalIsThereInTheOrderOfTheirSender) {
  HeldLetters held(10 * kSmall);
  for (const std::uint64_t number : {5U, 3U, 4U, 9U}) {
    EXPECT_TRUE(held.add({ask_of(2, number), {}}, JournalPosition{number}).empty());
  }
  EXPECT_THAT(taken(held, 2), ElementsAre());
  EXPECT_THAT(taken(held, 5), ElementsAre(5, 3, 4));
  EXPECT_EQ(held.bytes(), kSmall);
  EXPECT_THAT(taken(held, 9), ElementsAre(9));
  EXPECT_TRUE(held.is_empty());
  EXPECT_EQ(held.bytes(), 0U);
}

TEST(HeldLetters, S6OfOneProcessAreBoundedInBytes) {
  HeldLetters held(4 * kSmall);
  std::vector<std::uint64_t> lost;
  for (std::uint64_t number = 1; number <= 10; ++number) {
    for (const Letter& letter : held.add({ask_of(2, number), {}}, kNever)) lost.push_back(number_of(letter));
    EXPECT_LE(held.bytes(), 4 * kSmall);
  }
  EXPECT_THAT(lost, ElementsAre(5, 6, 7, 8, 9, 10));
}

// One node that names a position which no journal reaches must not keep all others out.
TEST(HeldLetters, S6InAFullRoomTheProcessThatHoldsMostGivesWayToTheOthers) {
  HeldLetters held(8 * kSmall);
  for (std::uint64_t number = 1; number <= 8; ++number) (void)held.add({ask_of(2, number), {}}, kNever);
  EXPECT_THAT(numbers_of(held.add({ask_of(3, 30), {}}, JournalPosition{1})), ElementsAre(8)) << "its newest";
  EXPECT_THAT(numbers_of(held.add({ask_of(4, 40), {}}, JournalPosition{1})), ElementsAre(7));
  for (const std::uint64_t number : {31U, 32U}) (void)held.add({ask_of(3, number), {}}, JournalPosition{1});
  EXPECT_THAT(numbers_of(held.add({ask_of(3, 33), {}}, JournalPosition{1})), ElementsAre(33)) << "it has as much";
  EXPECT_THAT(taken(held, 1), ElementsAre(30, 31, 32, 40));
}

TEST(HeldLetters, AreGivenUpWithTheProcessThatSentThem) {
  HeldLetters held(8 * kSmall);
  for (const std::uint64_t process : {2U, 3U, 2U}) (void)held.add({ask_of(process, process), {}}, JournalPosition{4});
  const auto lost = held.take_of_absent([](ProcessIncarnation process) { return process.value != 2; });
  EXPECT_THAT(numbers_of(lost), ElementsAre(2, 2));
  EXPECT_EQ(held.bytes(), kSmall);
  EXPECT_THAT(taken(held, 4), ElementsAre(3));
}

// The list of hops is the sender's, and as long as a letter may be.
TEST(HeldLetters, S6WhatIsLongInALetterCounts) {
  HeldLetters held(8 * kSmall);
  Backward answer;
  answer.trail.resize(kSmall);
  EXPECT_EQ(held.add({Letter{ProcessIncarnation{2}, {}, answer}, {}}, kNever).size(), 1U);
}

TEST(HeldLetters, WhateverComesNoneIsTwiceOrForgottenAndTheBoundIsKept) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  HeldLetters held(7 * kSmall);
  std::map<std::uint64_t, int> seen;
  std::uint64_t sent = 0;
  const auto see = [&seen](const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers) ++seen[number];
  };
  for (std::uint64_t turn = 1; turn <= 2000; ++turn) {
    see(numbers_of(held.add({ask_of(random() % 4, ++sent), {}}, JournalPosition{turn + random() % 9})));
    EXPECT_LE(held.bytes(), 7 * kSmall);
    if (random() % 3 == 0) see(taken(held, turn));
    const ProcessIncarnation gone{random() % 40};
    see(numbers_of(held.take_of_absent([gone](ProcessIncarnation process) { return process != gone; })));
  }
  see(taken(held, kNever.value));
  EXPECT_TRUE(held.is_empty());
  EXPECT_EQ(held.bytes(), 0U);
  EXPECT_EQ(seen.size(), sent);
  for (const auto& [number, times] : seen) EXPECT_EQ(times, 1) << number;
}

}  // namespace
}  // namespace shoal::held_letters_test
