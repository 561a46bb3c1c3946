// The words of the fault hook: what is read, and that anything else is a usage error which quotes it.
#include "runtime/executor/poison_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::poison_hook_test {
namespace {

using testing::HasSubstr;

TEST(PoisonHook, SaysHowAndWhichMicrobatchAtWhichStage) {
  EXPECT_EQ(*parse_poison("throw:7/3/1"), (Poison{Poison::How::kThrow, StepId{7}, MicrobatchId{3}, StageId{1}}));
  EXPECT_EQ(*parse_poison("abort:0/0/0"), (Poison{Poison::How::kAbort, StepId{0}, MicrobatchId{0}, StageId{0}}));
}

TEST(PoisonHook, InjuresADevice) {
  for (const auto& [word, injury] :
       {std::pair("address", DeviceInjury::kIllegalAddress), std::pair("memory", DeviceInjury::kOutOfMemory),
        std::pair("hang", DeviceInjury::kHang)}) {
    Poison expected{Poison::How::kInjury, StepId{7}, MicrobatchId{3}, StageId{1}};
    expected.injury = injury;
    EXPECT_EQ(*parse_poison(std::string(word) + ":7/3/1"), expected);
  }
}

TEST(PoisonHook, MayBeOfOneReplica) {
  Poison expected{Poison::How::kThrow, StepId{7}, MicrobatchId{3}, StageId{1}};
  expected.replica = Incarnation{4};
  EXPECT_EQ(*parse_poison("throw:7/3/1/4"), expected);
}

TEST(PoisonHook, OtherWordsAreRefused) {
  for (const std::string text : {"7/3/1", "throw", "throw:", "throw:7", "throw:7/3", "throw:7/3/", "throw:7/3/1/",
                                 "throw:7/3/x", "throw:-1/3/1", "throw:7.5/3/1", "stab:7/3/1", "throw:7/3/1/4/2",
                                 "throw:7/3/1/x", " throw:7/3/1", "throw:99999999999999999999/3/1", "abort:7,3,1"}) {
    const auto poison = parse_poison(text);
    ASSERT_FALSE(poison.ok()) << text;
    EXPECT_EQ(poison.failure().error, Error::kUsage);
    EXPECT_THAT(poison.failure().message, HasSubstr("SHOAL_POISON '" + text + "': expected throw:STEP/MB/STAGE"));
  }
}

}  // namespace
}  // namespace shoal::poison_hook_test
