// Tests how many microbatches may be in flight: by schedule, by key, and by what answers say of links.
#include "runtime/pipeline/schedule.h"

#include <limits>

#include <gtest/gtest.h>

namespace shoal::schedule_test {
namespace {

Config config_of(int stages, Schedule schedule, int credits) {
  Config config;
  config.batch.sequences = 64;
  config.batch.microbatch = 2;
  config.pipeline.stages = stages;
  config.pipeline.schedule = schedule;
  config.pipeline.credits = credits;
  return config;
}

std::vector<Hop> trail_of(float queue_ms, float compute_ms) {
  return {Hop{Incarnation{2}, queue_ms, compute_ms, 0}, Hop{Incarnation{1}, queue_ms, compute_ms, 0}};
}

std::uint32_t settled(double round_ms, const std::vector<Hop>& trail, std::uint32_t most = 20) {
  LinkCredits credits(3, most);
  for (int i = 0; i < 50; ++i) credits.answered(round_ms, trail);
  return credits.now();
}

TEST(Credits, AreTheSchedulesOrTheKeys) {
  EXPECT_EQ(credits_per_first_replica(config_of(2, Schedule::k1f1b, 0)), 3U);
  EXPECT_EQ(credits_at_most(config_of(2, Schedule::k1f1b, 0)), 6U);
  EXPECT_EQ(credits_at_most(config_of(20, Schedule::k1f1b, 0)), 32U) << "a step has no more";
  EXPECT_EQ(credits_at_most(config_of(2, Schedule::kAfab, 0)), 32U);
  EXPECT_EQ(credits_per_first_replica(config_of(2, Schedule::k1f1b, 4)), 4U);
  EXPECT_EQ(credits_at_most(config_of(2, Schedule::k1f1b, 4)), 4U);
}

TEST(Credits, OfAStageWithFewerReplicasAreMore) {
  EXPECT_EQ(credits_of_stage(3, 6, 2, 2), 3U);
  EXPECT_EQ(credits_of_stage(3, 6, 2, 3), 5U);
  EXPECT_EQ(credits_of_stage(3, 6, 1, 5), 6U);
  EXPECT_EQ(credits_of_stage(3, 3, 1, 5), 3U) << "what is set stays";
  EXPECT_EQ(credits_of_stage(3, 0, 1, 5), 3U);
}

TEST(LinkCredits, CountWhatIsOnLinks) {
  EXPECT_EQ(settled(1260, trail_of(0, 630)), 3U);
  EXPECT_EQ(settled(1660, trail_of(0, 630)), 5U) << "a part of one, and one more";
  EXPECT_EQ(settled(1660, trail_of(200, 630)), 3U) << "what queues took is no link's";
  EXPECT_EQ(settled(1360, trail_of(0, 630)), 4U) << "a small part: one more";
  EXPECT_EQ(settled(1275, trail_of(0, 630)), 3U) << "a tiny part is what the schedule's own credit is for";
  EXPECT_EQ(settled(25, trail_of(0, 5)), 3U) << "so is what a busy machine takes to hand letters over";
  EXPECT_EQ(settled(500, trail_of(0, 50)), 12U);
  EXPECT_EQ(settled(500, trail_of(0, 50), 6), 6U);
  EXPECT_EQ(settled(1e300, trail_of(0, 50), 6), 6U);
}

TEST(LinkCredits, FollowLinksThatChange) {
  LinkCredits credits(3, 6);
  for (int i = 0; i < 50; ++i) credits.answered(1660, trail_of(0, 630));
  EXPECT_EQ(credits.now(), 5U);
  credits.answered(1260, trail_of(0, 630));
  EXPECT_EQ(credits.now(), 3U);
  for (int step = 0; step < 2; ++step) {
    credits.begin_step();
    credits.answered(1660, trail_of(0, 630));
  }
  EXPECT_EQ(credits.now(), 5U) << "two steps without one that was quick";
}

// It hears of what came while it computed when it is done: all rounds but the first seem to be on links for so long.
TEST(LinkCredits, ARoundThatFoundReplicasIdleTellsOfLinks) {
  LinkCredits credits(3, 6);
  for (int step = 0; step < 3; ++step) {
    credits.begin_step();
    for (int i = 0; i < 50; ++i) {
      credits.answered(i == 0 ? 1262 : 1800, trail_of(0, 630));
      EXPECT_EQ(credits.now(), 3U);
    }
  }
}

TEST(LinkCredits, TheReplicaBehindTheSlowestLinkCounts) {
  LinkCredits credits(2, 10);
  for (int i = 0; i < 10; ++i) {
    credits.answered(100, {Hop{Incarnation{1}, 0, 100, 0}});
    credits.answered(300, {Hop{Incarnation{2}, 0, 100, 0}});
  }
  EXPECT_EQ(credits.now(), 5U);
  for (int step = 0; step < 2; ++step) {
    credits.begin_step();
    credits.answered(100, {Hop{Incarnation{1}, 0, 100, 0}});
  }
  EXPECT_EQ(credits.now(), 2U) << "it has gone";
}

TEST(LinkCredits, IgnoreWhatCannotBe) {
  LinkCredits credits(3, 6);
  credits.answered(std::numeric_limits<double>::quiet_NaN(), trail_of(0, 630));
  credits.answered(1000, {});
  credits.answered(-5, trail_of(0, 0));
  EXPECT_EQ(credits.now(), 3U);
}

}  // namespace
}  // namespace shoal::schedule_test
