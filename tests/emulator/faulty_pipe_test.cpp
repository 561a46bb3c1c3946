// FaultyPipe: what arrives, when, and in what state; the same seed does the same.
#include "tests/emulator/faulty_pipe.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shoal::faulty_pipe_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = Instant{} + 1h;
constexpr std::size_t kMebibyte = 1 << 20;

LinkFaults late_by(Duration delay, Duration jitter = {}) {
  LinkFaults faults;
  faults.delay = delay;
  faults.jitter = jitter;
  return faults;
}

// All that is due by now.
std::string arrived(FaultyPipe& pipe, const LinkFaults& faults, Instant now) {
  std::string text;
  for (std::string_view bytes = pipe.due(faults, now); !bytes.empty(); bytes = pipe.due(faults, now)) {
    text += bytes;
    pipe.sent(bytes.size());
  }
  return text;
}

std::string some_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 131 + i / 251);
  return bytes;
}

TEST(FaultyPipe, WithoutFaultsPassesEveryByteAtOnce) {
  FaultyPipe pipe(1);
  const std::string bytes = some_bytes(100'000);
  pipe.take(bytes, {}, kStart);
  pipe.end(StreamEnd::kFinished, {}, kStart);
  EXPECT_EQ(pipe.end_due({}, kStart), StreamEnd::kNotYet) << "bytes go first";
  EXPECT_EQ(arrived(pipe, {}, kStart), bytes);
  EXPECT_EQ(pipe.end_due({}, kStart), StreamEnd::kFinished);
  EXPECT_EQ(pipe.damage().corrupted + pipe.damage().duplicated, 0U);
}

TEST(FaultyPipe, DelaysBytesAndTheEndAlike) {
  FaultyPipe pipe(1);
  const LinkFaults faults = late_by(20ms);
  pipe.take("hello", faults, kStart);
  pipe.end(StreamEnd::kReset, faults, kStart);
  EXPECT_EQ(pipe.next(faults), kStart + 20ms);
  EXPECT_EQ(arrived(pipe, faults, kStart + 19ms), "");
  EXPECT_EQ(arrived(pipe, faults, kStart + 20ms), "hello");
  EXPECT_EQ(pipe.end_due(faults, kStart + 20ms), StreamEnd::kReset);
}

TEST(FaultyPipe, JitterVariesTheDelayWithinItsBoundsAndKeepsTheOrder) {
  FaultyPipe pipe(7);
  const LinkFaults faults = late_by(200ms, 50ms);
  Duration least = 1h;
  Duration most{};
  for (int i = 0; i < 500; ++i) {
    const Instant now = kStart + i * 1s;
    pipe.take(std::string(1, static_cast<char>('a' + i % 26)), faults, now);
    const Duration late = *pipe.next(faults) - now;
    least = std::min(least, late);
    most = std::max(most, late);
    EXPECT_EQ(arrived(pipe, faults, now + late), std::string(1, static_cast<char>('a' + i % 26)));
  }
  EXPECT_GE(least, 150ms);
  EXPECT_LT(least, 160ms);
  EXPECT_LE(most, 250ms);
  EXPECT_GT(most, 240ms);
}

TEST(FaultyPipe, ARateSpacesBytesOut) {
  FaultyPipe pipe(1);
  LinkFaults faults;
  faults.bytes_per_second = 1'000'000;
  pipe.take(some_bytes(500'000), faults, kStart);
  const std::size_t after_quarter = arrived(pipe, faults, kStart + 250ms).size();
  EXPECT_NEAR(static_cast<double>(after_quarter), 250'000, 10'000);
  EXPECT_EQ(after_quarter + arrived(pipe, faults, kStart + 500ms).size(), 500'000U);
}

TEST(FaultyPipe, ACutHoldsEverythingUntilItHeals) {
  FaultyPipe pipe(1);
  LinkFaults cut;
  cut.is_cut = true;
  pipe.take("before", {}, kStart);
  pipe.take("during", cut, kStart);
  pipe.end(StreamEnd::kFinished, cut, kStart);
  EXPECT_EQ(arrived(pipe, cut, kStart + 1h), "");
  EXPECT_FALSE(pipe.next(cut).has_value());
  EXPECT_EQ(pipe.end_due(cut, kStart + 1h), StreamEnd::kNotYet);
  EXPECT_EQ(arrived(pipe, {}, kStart + 1h), "beforeduring");
  EXPECT_EQ(pipe.end_due({}, kStart + 1h), StreamEnd::kFinished);
}

TEST(FaultyPipe, AStallTakesNothingInAndLetsOutWhatItHas) {
  FaultyPipe pipe(1);
  LinkFaults stalled;
  stalled.is_stalled = true;
  pipe.take("old", {}, kStart);
  EXPECT_GT(pipe.room({}), 0U);
  EXPECT_EQ(pipe.room(stalled), 0U);
  EXPECT_EQ(arrived(pipe, stalled, kStart), "old");
}

TEST(FaultyPipe, IsBounded) {
  FaultyPipe pipe(1, 10'000);
  EXPECT_EQ(pipe.room({}), 10'000U);
  pipe.take(some_bytes(10'000), late_by(1s), kStart);
  EXPECT_EQ(pipe.room({}), 0U);
  (void)arrived(pipe, {}, kStart + 1s);
  EXPECT_EQ(pipe.room({}), 10'000U);
}

TEST(FaultyPipe, CorruptsAsManyBitsAsItIsTold) {
  FaultyPipe pipe(3);
  LinkFaults faults;
  faults.corrupt_per_mib = 40;
  const std::string bytes = some_bytes(3 * kMebibyte);
  pipe.take(bytes, faults, kStart);
  const std::string got = arrived(pipe, faults, kStart);
  ASSERT_EQ(got.size(), bytes.size());
  EXPECT_TRUE(got != bytes);
  std::uint64_t differing = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) differing += bytes[i] == got[i] ? 0 : 1;
  EXPECT_LE(differing, pipe.damage().corrupted);
  EXPECT_NEAR(static_cast<double>(pipe.damage().corrupted), 120, 45);
}

TEST(FaultyPipe, CorruptsOrRepeatsOnceWhenToldTo) {
  FaultyPipe pipe(3);
  pipe.corrupt_next();
  pipe.take("aaaa", {}, kStart);
  pipe.duplicate_next();
  pipe.take("bbbb", {}, kStart);
  pipe.take("cccc", {}, kStart);
  const std::string got = arrived(pipe, {}, kStart);
  ASSERT_EQ(got.size(), 16U);
  EXPECT_NE(got.substr(0, 4), "aaaa");
  EXPECT_EQ(got.substr(4), "bbbbbbbbcccc");
  EXPECT_EQ(pipe.damage().corrupted, 1U);
  EXPECT_EQ(pipe.damage().duplicated, 1U);
}

TEST(FaultyPipe, DuplicatesSegments) {
  FaultyPipe pipe(3);
  LinkFaults faults;
  faults.duplicate_per_mib = 20;
  pipe.take(some_bytes(kMebibyte), faults, kStart);
  EXPECT_GT(arrived(pipe, faults, kStart).size(), kMebibyte);
  EXPECT_GT(pipe.damage().duplicated, 0U);
}

// A pipe gives out what was put in, never early and in order, whatever the inputs and (undamaging) faults are.
TEST(FaultyPipe, KeepsEveryByteUnderAnyDelayRateCutAndStall) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 50; ++trial) {
    FaultyPipe pipe(random(), 50'000);
    std::string sent;
    std::string got;
    Instant now = kStart;
    LinkFaults faults;
    for (int turn = 0; turn < 200; ++turn) {
      if (turn % 20 == 0) {
        faults = late_by(random() % 30 * 1ms, random() % 30 * 1ms);
        faults.bytes_per_second = random() % 3 == 0 ? 1e6 : 0;
        faults.is_cut = random() % 4 == 0;
        faults.is_stalled = random() % 4 == 0;
      }
      const std::string bytes = some_bytes(std::min<std::size_t>(random() % 20'000, pipe.room(faults)));
      pipe.take(bytes, faults, now);
      sent += bytes;
      got += arrived(pipe, faults, now);
      ASSERT_EQ(got, sent.substr(0, got.size()));
      now += random() % 10 * 1ms;
    }
    pipe.end(StreamEnd::kFinished, {}, now);
    got += arrived(pipe, {}, now + 1h);
    ASSERT_EQ(got, sent);
    ASSERT_EQ(pipe.end_due({}, now + 1h), StreamEnd::kFinished);
  }
}

TEST(FaultyPipe, DoesTheSameDamageForTheSameSeed) {
  LinkFaults faults;
  faults.corrupt_per_mib = 50;
  faults.duplicate_per_mib = 10;
  const auto outcome = [&faults](std::uint64_t seed) {
    FaultyPipe pipe(seed);
    pipe.take(some_bytes(kMebibyte), faults, kStart);
    return arrived(pipe, faults, kStart);
  };
  EXPECT_TRUE(outcome(5) == outcome(5));
  EXPECT_TRUE(outcome(5) != outcome(6));
}

}  // namespace
}  // namespace shoal::faulty_pipe_test
