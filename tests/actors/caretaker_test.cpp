// The caretaker: a side actor that ends is there again within milliseconds; one that ends again and again is given up
// once, says why, and blocks nobody.
#include "actors/caretaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/actors/lone_actor.h"

namespace shoal::caretaker_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Caretaker : public testing::Test {
 protected:
  CaretakerActor start(AfterBudget after_budget = AfterBudget::kRest) {
    CaretakerSettings settings;
    settings.name = "metrics";
    settings.after_budget = after_budget;
    settings.router = lone.router();
    settings.start = [this] {
      if (cannot_start) return caf::actor();
      wards.push_back(lone.system().spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; }));
      return wards.back();
    };
    settings.end_process = [this](int status, const std::string&) { ended_with.push_back(status); };
    return lone.spawn(caretaker, std::move(settings));
  }
  ~Caretaker() override {
    for (const auto& ward : wards) lone.end(ward);
  }
  [[nodiscard]] std::vector<RunEvent> events(RunEventKind kind) const {
    std::vector<RunEvent> found;
    for (const RunEvent& event : lone.sent<RunEvent>()) {
      if (event.kind == kind) found.push_back(event);
    }
    return found;
  }

  LoneActor lone;
  std::vector<caf::actor> wards;
  std::vector<int> ended_with;
  bool cannot_start = false;
};

TEST_F(Caretaker, StartsAgainWhatEnds) {
  start();
  ASSERT_EQ(wards.size(), 1U);
  EXPECT_TRUE(events(RunEventKind::kRestarted).empty());
  lone.end(wards[0]);
  lone.advance(15ms);
  ASSERT_EQ(wards.size(), 2U);
  ASSERT_EQ(events(RunEventKind::kRestarted).size(), 1U);
  EXPECT_EQ(events(RunEventKind::kRestarted)[0].subject, "metrics");
  EXPECT_NE(events(RunEventKind::kRestarted)[0].reason, "");
}

// A side actor ends 20 times a second: the budget trips once, escalates once, says why, and it comes back after a rest.
TEST_F(Caretaker, AStormIsGivenUpOnceAndEndsWithTheWindow) {
  start();
  for (int i = 0; i < 20 * 50; ++i) {
    lone.end(wards.back());
    lone.advance(50ms);
  }
  EXPECT_EQ(wards.size(), 11U);
  ASSERT_EQ(events(RunEventKind::kEscalated).size(), 1U);
  EXPECT_THAT(events(RunEventKind::kEscalated)[0].reason, HasSubstr("10 times"));
  lone.advance(60s);
  EXPECT_EQ(wards.size(), 12U);
  EXPECT_TRUE(ended_with.empty());
}

TEST_F(Caretaker, MayEndTheProcessInstead) {
  start(AfterBudget::kEndProcess);
  for (int i = 0; i < 20; ++i) {
    lone.end(wards.back());
    lone.advance(3s);
  }
  EXPECT_EQ(ended_with, std::vector<int>{1});
  EXPECT_EQ(events(RunEventKind::kEscalated).size(), 1U);
}

TEST_F(Caretaker, WhatCannotBeStartedIsTriedAgain) {
  cannot_start = true;
  start();
  EXPECT_TRUE(wards.empty());
  cannot_start = false;
  lone.advance(15ms);
  EXPECT_EQ(wards.size(), 1U);
}

TEST_F(Caretaker, EndsAfterItsWard) {
  const auto actor = start();
  std::vector<std::string> ended;
  wards[0]->attach_functor([&] { ended.push_back("ward"); });
  caf::actor_cast<caf::actor>(actor)->attach_functor([&] { ended.push_back("caretaker"); });
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  lone.advance(1s);
  EXPECT_EQ(ended, (std::vector<std::string>{"ward", "caretaker"}));
  EXPECT_EQ(wards.size(), 1U);
}

TEST_F(Caretaker, TakesItsWardAlongWhenItIsKilled) {
  const auto actor = start();
  bool has_ended = false;
  wards[0]->attach_functor([&] { has_ended = true; });
  lone.end(actor);
  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace shoal::caretaker_test
