// Tests when an order that nobody answered is given again: it may wait for a spawner, and is never carried out twice.
#include "launch/processes/live_run.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The spawner is gone, and its keeper is there: no connection was made.
Silence while_it_starts_again() { return {seconds(1), milliseconds(2), false, false, true}; }

TEST(LiveRun, ASpawnerThatIsBeingStartedAgainIsWaitedFor) {
  Silence silence = while_it_starts_again();
  EXPECT_TRUE(is_asked_again(silence));
  silence.since_first = kAskFor - milliseconds(1);
  EXPECT_TRUE(is_asked_again(silence));
  silence.since_first = kAskFor;
  EXPECT_FALSE(is_asked_again(silence)) << "not for ever";
}

TEST(LiveRun, NobodyWaitsForASpawnerThatNobodyStartsAgain) {
  Silence silence = while_it_starts_again();
  silence.is_spawner_kept = false;
  EXPECT_FALSE(is_asked_again(silence));
  silence.is_spawner_alive = true;
  EXPECT_TRUE(is_asked_again(silence)) << "its control actor may be starting again";
}

TEST(LiveRun, WhatMayBeUnderWayIsNotOrderedTwice) {
  Silence silence{seconds(1), milliseconds(2), true, true, true};
  EXPECT_TRUE(is_asked_again(silence)) << "answered at once: who is meant is not there";
  silence.is_spawner_alive = false;
  EXPECT_FALSE(is_asked_again(silence)) << "it may have ended by this very order";
  silence.is_spawner_alive = true;
  silence.of_this = kQuickly;
  EXPECT_FALSE(is_asked_again(silence));
  silence.was_asked = false;
  EXPECT_TRUE(is_asked_again(silence)) << "the control: nothing was asked";
}

}  // namespace
}  // namespace shoal
