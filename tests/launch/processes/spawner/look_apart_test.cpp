// Looks at a disk that answers, refuses, throws or hangs; the end of a process beside one that hangs.
#include "launch/processes/spawner/look_apart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <new>
#include <optional>
#include <thread>

namespace shoal::look_apart_test {
namespace {

using testing::HasSubstr;

constexpr std::chrono::minutes kLong{1};

// Returns what is told of such a look.
Result<StartPoint> told_of(std::function<Result<StartPoint>()> look) {
  auto told = std::make_shared<std::promise<Result<StartPoint>>>();
  auto answer = told->get_future();
  look_apart(std::move(look), [told](Result<StartPoint> start) { told->set_value(std::move(start)); });
  if (answer.wait_for(kLong) != std::future_status::ready) return fail(Error::kUnreachable, "nothing was told");
  return answer.get();
}

TEST(LookApart, TellsWhatWasFound) {
  EXPECT_EQ(told_of([] { return StartPoint{7, 7, true, "abc"}; })->version, 7U);
  const auto none = told_of([] { return fail(Error::kInvalidData, "all are damaged"); });
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.failure().error, Error::kInvalidData);
}

TEST(LookApart, IsNotWhereItIsAskedFor) {
  std::optional<std::thread::id> where;
  ASSERT_TRUE(told_of([&]() -> Result<StartPoint> {
                where = std::this_thread::get_id();
                return StartPoint{};
              }).ok());
  EXPECT_NE(where, std::this_thread::get_id());
}

// It may pass, as a lack of memory does.
TEST(LookApart, TellsAnExceptionAsAFailureOfTheDisk) {
  const auto failed = told_of([]() -> Result<StartPoint> { throw std::bad_alloc(); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.failure().error, Error::kIo);
  EXPECT_THAT(failed.failure().message, HasSubstr("bad_alloc"));
}

// Its answer comes when the disk does.
TEST(LookApart, HoldsUpNobodyWhileTheDiskHangs) {
  std::promise<void> go_on;
  std::promise<std::uint64_t> told;
  const auto gate = go_on.get_future().share();
  look_apart(
      [gate]() -> Result<StartPoint> {
        gate.wait();
        return StartPoint{3, 3, true, "abc"};
      },
      [&told](const Result<StartPoint>& start) { told.set_value(start->version); });
  auto answer = told.get_future();
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(told_of([] { return StartPoint{5, 5, true, "abc"}; })->version, 5U) << "another one may go beside it";
  go_on.set_value();
  ASSERT_EQ(answer.wait_for(kLong), std::future_status::ready);
  EXPECT_EQ(answer.get(), 3U);
}

[[noreturn]] void end_beside(bool hangs) {
  constexpr int kByExit = 8;
  const auto look = [hangs]() -> Result<StartPoint> {
    while (hangs) ::pause();
    return StartPoint{};
  };
  if (hangs) look_apart(look, [](const Result<StartPoint>&) {});
  std::atexit([] { ::_exit(kByExit); });
  end_beside_look(7);
  std::exit(0);
}

TEST(LookApartDeathTest, OfADiskThatHangsIsLeftAtTheEndOfTheProcess) {
  EXPECT_EXIT(end_beside(true), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(end_beside(false), testing::ExitedWithCode(8), "") << "the control: nothing goes on";
}

}  // namespace
}  // namespace shoal::look_apart_test
