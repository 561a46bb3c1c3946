// Waits for a text that is away, and for one that answers late.
#include "runtime/pipeline/data_wait.h"

#include <gtest/gtest.h>

namespace shoal::data_wait_test {
namespace {

using namespace std::chrono_literals;

struct Waiting : testing::Test {
  Instant now = Instant{} + 1h;
  DataWait wait{1s};
  const Failure away = fail(Error::kIo, "the shard is away");
  const Failure late = fail(Error::kUnreachable, "the text does not answer");
};

TEST_F(Waiting, ATextThatIsAwayIsToldOnceAndReadAgainAfterThePause) {
  EXPECT_FALSE(wait.lasts(now));
  const auto event = wait.failed(away, 7, now);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, RunEventKind::kDataUnreadable);
  EXPECT_EQ(event->reason, "the shard is away");
  EXPECT_TRUE(wait.lasts(now + 999ms));
  EXPECT_FALSE(wait.lasts(now + 1s));
  EXPECT_FALSE(wait.failed(away, 7, now + 1s)) << "it was told";
  const auto again = wait.read(7);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->kind, RunEventKind::kDataReadAgain);
  EXPECT_FALSE(wait.lasts(now + 1s));
  EXPECT_FALSE(wait.read(7));
}

// A disk that syncs a checkpoint answers after a second.
TEST_F(Waiting, ALateAnswerIsAwaitedWithoutAWordUntilItLasts) {
  for (; now < Instant{} + 1h + DataWait::kLateTold; now += 100ms) {
    EXPECT_FALSE(wait.failed(late, 7, now));
    EXPECT_TRUE(wait.lasts(now));
    EXPECT_FALSE(wait.lasts(now + DataWait::kLateAgain)) << "it is asked again at once";
  }
  EXPECT_FALSE(wait.read(7)) << "nothing was told";
  EXPECT_FALSE(wait.failed(late, 7, now)) << "another one";
  EXPECT_TRUE(wait.failed(late, 7, now + DataWait::kLateTold));
  EXPECT_FALSE(wait.failed(late, 7, now + 2 * DataWait::kLateTold)) << "it was told";
  EXPECT_TRUE(wait.read(7));
}

}  // namespace
}  // namespace shoal::data_wait_test
