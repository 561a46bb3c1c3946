// When what a stage lacks is asked for.
#include "runtime/sync/missing_question.h"

#include <gtest/gtest.h>

namespace shoal::missing_question_test {
namespace {

using namespace std::chrono_literals;

const Instant kStart = Instant{} + 1h;

MissingQuestion make_question() {
  MissingQuestion missing;
  missing.begin({MicrobatchId{2}, MicrobatchId{5}}, 2s);
  return missing;
}

TEST(MissingQuestion, IsAskedAgainAfterLongerAndLongerPauses) {
  MissingQuestion missing = make_question();
  missing.asked(kStart);
  EXPECT_FALSE(missing.is_due(kStart + 2s - 1ms));
  EXPECT_TRUE(missing.is_due(kStart + 2s));
  missing.lengthen();
  missing.asked(kStart + 2s);
  EXPECT_FALSE(missing.is_due(kStart + 4s));
  EXPECT_TRUE(missing.is_due(kStart + 6s));
}

TEST(MissingQuestion, P17aWaitsForAZeroAMomentAndKeepsItsFirstPause) {
  MissingQuestion missing = make_question();
  missing.await_zero(kStart + 250ms);
  EXPECT_TRUE(missing.awaits_zero());
  EXPECT_FALSE(missing.is_due(kStart));
  EXPECT_TRUE(missing.is_due(kStart + 250ms));
  missing.lengthen();
  missing.asked(kStart + 250ms);
  EXPECT_FALSE(missing.awaits_zero());
  EXPECT_TRUE(missing.is_due(kStart + 250ms + 2s));
}

TEST(MissingQuestion, WaitsForNoZeroOfAnEpochThatIsOver) {
  MissingQuestion missing = make_question();
  missing.await_zero(kStart + 250ms);
  missing.await_nothing();
  EXPECT_FALSE(missing.awaits_zero());
}

TEST(MissingQuestion, IsOverWhenNothingIsLackingAnyMore) {
  MissingQuestion missing = make_question();
  missing.asked(kStart);
  missing.leave_out({MicrobatchId{5}});
  EXPECT_EQ(missing.microbatches(), std::vector<MicrobatchId>{MicrobatchId{2}});
  missing.leave_out({MicrobatchId{2}});
  EXPECT_FALSE(missing.is_due(kStart + 1h));
  MissingQuestion forgotten = make_question();
  forgotten.forget();
  EXPECT_FALSE(forgotten.is_due(kStart + 1h));
}

}  // namespace
}  // namespace shoal::missing_question_test
