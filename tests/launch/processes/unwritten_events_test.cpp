// Tests what one spawner leaves the next one to say.
#include "launch/processes/unwritten_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "runtime/base/file.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::unwritten_events_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr WallTime kNow{std::chrono::seconds(1'764'000'000)};

class UnwrittenEvents : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> lines() const {
    const auto text = read_file(run_.metrics());
    std::vector<std::string> found;
    std::istringstream rest(text ? *text : std::string());
    for (std::string line; std::getline(rest, line);) found.push_back(line);
    return found;
  }
  void go_on(const StartPoint& start) const { ASSERT_TRUE(tell_unwritten(run_, start, kNow).ok()); }
  static StartPoint after(std::uint64_t steps) { return {steps, steps, true, "abc"}; }

  const Scratch scratch_;
  const RunDirectory run_{scratch_.path()};
  const std::string deaf_ =
      with_time(to_json_line(RunEvent{RunEventKind::kEscalated, "router/spawner", "no answer for 4 s", 7}), kNow);
};

TEST_F(UnwrittenEvents, NothingLeftIsNothingTold) {
  go_on({});
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(UnwrittenEvents, WordsThatWereLeftAreToldOnceAndInTheirOrder) {
  ASSERT_TRUE(
      leave_unwritten(run_, RunEvent{RunEventKind::kEscalated, "router/spawner", "no answer for 4 s", 7}, kNow).ok());
  ASSERT_TRUE(leave_unwritten(run_, RunEvent{RunEventKind::kEscalated, "router/spawner", "again", 9}, kNow).ok());
  EXPECT_THAT(lines(), IsEmpty()) << "who writes metrics.jsonl may still live";
  for (int start = 0; start < 2; ++start) {
    go_on({});
    EXPECT_THAT(lines(), ElementsAre(deaf_, HasSubstr("again")));
  }
}

TEST_F(UnwrittenEvents, ACheckpointThatNoLineTellsOfIsTold) {
  for (int start = 0; start < 2; ++start) {
    go_on(after(20));
    ASSERT_THAT(lines(), ElementsAre(HasSubstr(R"("event":"checkpoint","subject":"step_20")")));
  }
  go_on(after(40));
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("step_20"), HasSubstr("step_40")));
}

TEST_F(UnwrittenEvents, ACheckpointThatWasToldOrThatIsTheBeginningIsNot) {
  const std::string told = to_json_line(RunEvent{RunEventKind::kCheckpoint, "step_20", "512 bytes in 0.1 s", 20});
  (void)scratch_.file("metrics.jsonl", told + "\n");
  go_on(after(20));
  go_on(after(0));
  go_on({});
  EXPECT_THAT(lines(), ElementsAre(told));
}

// A metrics actor tells it so. 100 tokens a second, and a failure two seconds later.
TEST_F(UnwrittenEvents, AFailureIsToldWithTheSummaryOfTheLinesBeforeIt) {
  StepRecord step;
  step.tokens = 100;
  step.step_ms = 1000;
  const std::string started =
      with_time(to_json_line(RunEvent{RunEventKind::kStarted, "run", "a person begins it", 0}), kNow);
  const std::string trained = with_time(to_json_line(step), kNow + std::chrono::seconds(1));
  (void)scratch_.file("metrics.jsonl", started + "\n" + trained + "\n");
  const RunEvent failed{RunEventKind::kFailed, "run", "the journal cannot be read", 1};
  ASSERT_TRUE(leave_unwritten(run_, failed, kNow + std::chrono::seconds(3)).ok());
  ASSERT_TRUE(tell_left(run_).ok());
  const auto told = lines();
  ASSERT_EQ(told.size(), 4U);
  EXPECT_THAT(told[2], HasSubstr(R"({"event":"summary","steps":1,"starts":1,"life":{"seconds":3.0,"steps":1,)"));
  EXPECT_THAT(told[3], HasSubstr(R"({"event":"failed","subject":"run","reason":"the journal cannot be read")"));
  ASSERT_TRUE(leave_unwritten(run_, failed, kNow + std::chrono::seconds(3)).ok());
  go_on({});
  EXPECT_EQ(lines(), told) << "its metrics actor had said it meanwhile";
}

TEST_F(UnwrittenEvents, AWordThatWasCutShortIsLeftOut) {
  (void)scratch_.file("untold.jsonl", deaf_ + "\n" + deaf_.substr(0, 20));
  go_on({});
  EXPECT_THAT(lines(), ElementsAre(deaf_));
}

}  // namespace
}  // namespace shoal::unwritten_events_test
