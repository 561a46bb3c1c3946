// Tests what a process says of a keeper that is frozen: once at each change.
#include "runtime/base/time/keeper_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::keeper_notice_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Optional;

TEST(KeeperNotice, SaysOnceThatTheKeeperIsSilentAndOnceThatItLives) {
  KeeperNotice notice;
  EXPECT_FALSE(notice.look(std::nullopt, 7)) << "nothing has happened";
  EXPECT_THAT(notice.look(10s, 7), Optional(HasSubstr("(process 7) shows no sign of life for 10 s")));
  EXPECT_TRUE(notice.is_silent());
  EXPECT_FALSE(notice.look(11s, 7));
  EXPECT_THAT(notice.look(std::nullopt, 7), Optional(HasSubstr("lives again")));
  EXPECT_FALSE(notice.is_silent());
  EXPECT_TRUE(notice.look(12s, 7).has_value()) << "the next time is said, too";
}

TEST(KeeperNotice, NamesTheCommandThatWakesTheKeeper) {
  EXPECT_THAT(KeeperNotice().look(10s, 4711), Optional(HasSubstr("`kill -CONT 4711`")));
}

}  // namespace
}  // namespace shoal::keeper_notice_test
