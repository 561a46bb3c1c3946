// Jobs that end later than messages come: what is heard meanwhile, what waits, and in which order.
#include "runtime/pipeline/jobs_under_way.h"

#include <gmock/gmock.h>

#include "tests/support/member_bench.h"

namespace shoal::jobs_under_way_test {
namespace {

using ::testing::ElementsAre;

// A member of the last stage whose device ends jobs when the test says so.
[[nodiscard]] std::unique_ptr<Bench> make_late_member() {
  auto bench = make_member(kB0);
  bench->is_late = [] { return true; };
  return bench;
}

[[nodiscard]] std::vector<std::uint32_t> answered(Bench& bench) {
  std::vector<std::uint32_t> all;
  for (const Backward& reply : bench.take<Backward>()) all.push_back(reply.cause.microbatch.value);
  return all;
}

TEST(JobsUnderWay, EachTakesTheTimeFromTheEndOfTheOneBefore) {
  const Instant start = ReplicaBench::start();
  JobsUnderWay jobs;
  jobs.begin(JobKind::kStreamed, Activity::kForward, start);
  jobs.begin(JobKind::kStreamed, Activity::kBackward, start + std::chrono::milliseconds(1));
  EXPECT_EQ(jobs.activity(), Activity::kForward);
  EXPECT_EQ(jobs.end(start + std::chrono::milliseconds(4)), std::chrono::milliseconds(4));
  EXPECT_EQ(jobs.activity(), Activity::kBackward);
  EXPECT_EQ(jobs.end(start + std::chrono::milliseconds(9)), std::chrono::milliseconds(5));
  EXPECT_TRUE(jobs.is_empty());
}

TEST(JobsUnderWay, AnExclusiveOneIsAlone) {
  JobsUnderWay jobs;
  jobs.begin(JobKind::kExclusive, Activity::kReduce, ReplicaBench::start());
  EXPECT_FALSE(jobs.has_room());
  EXPECT_FALSE(jobs.may_hear<Forward>());
  EXPECT_THROW(jobs.begin(JobKind::kStreamed, Activity::kForward, ReplicaBench::start()), std::logic_error);
}

TEST(Replica, GivesItsDeviceSoManyJobsAtATime) {
  auto setup = setup_of(kB0);
  setup.microbatch_count = 2 * static_cast<std::uint32_t>(kJobsUnderWayMax);
  Bench bench(setup);
  for (const Incarnation replica : {kA0, kA1, kB0, kB1}) bench.admit(replica);
  bench.is_late = [] { return true; };
  for (std::uint32_t at = 0; at < setup.microbatch_count; ++at) bench.give(forward_to(kB0, at));
  bench.run_all();
  EXPECT_EQ(bench.jobs.size(), kJobsUnderWayMax);
  bench.end_job();
  bench.run_all();
  EXPECT_EQ(bench.jobs.size(), kJobsUnderWayMax) << "the next one, in the place of the one that ended";
}

TEST(Replica, HearsTheDataOfThePipelineWhileItsDeviceComputes) {
  auto b0 = make_late_member();
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->give(forward_to(kB0, 1));
  b0->run_all();
  ASSERT_EQ(b0->jobs.size(), 2U) << "both are under way";
  EXPECT_THAT(answered(*b0), ElementsAre());
  b0->end_jobs();
  EXPECT_THAT(answered(*b0), ElementsAre(0, 1));
}

TEST(Replica, P8AnOrderWaitsForTheJobsUnderWayAndWhatTheyComputedIsInTheManifest) {
  auto b0 = make_late_member();
  for (const std::uint32_t at : {0U, 1U}) b0->give(forward_to(kB0, at));
  b0->run_all();
  b0->prepare(1);
  EXPECT_EQ(b0->core.phase(), Phase::kOpen);
  EXPECT_TRUE(b0->take<Manifest>().empty());
  b0->end_job();
  EXPECT_TRUE(b0->take<Manifest>().empty()) << "the second is under way still";
  b0->end_jobs();
  EXPECT_EQ(b0->core.phase(), Phase::kFrozen);
  EXPECT_THAT(b0->manifest(), ElementsAre(0, 1));
}

TEST(Replica, NothingOvertakesWhatWaitsAndNoJobBeginsBeforeIt) {
  auto b0 = make_late_member();
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->prepare(1);
  b0->give(forward_to(kB0, 1));  // behind the Prepare: a frozen replica refuses it
  EXPECT_FALSE(b0->core.has_job());
  b0->run_all();
  EXPECT_EQ(b0->jobs.size(), 1U);
  b0->end_jobs();
  EXPECT_THAT(b0->manifest(), ElementsAre(0));
  const auto refused = b0->take<Refusal>();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].reason, RefusalReason::kFrozen);
}

TEST(Replica, APartOfAnEndedEpochThatWaitedIsStale) {
  auto b0 = make_late_member();
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->prepare(1);
  b0->open(2);
  b0->give(Reduce{b0->order(1), {kB0}, 40});
  b0->end_jobs();
  EXPECT_EQ(b0->core.phase(), Phase::kOpen);
  EXPECT_EQ(b0->core.counters().stale_orders, 1U) << "they were heard in their order";
}

TEST(Replica, ATickWaitsToo) {
  auto b0 = make_late_member();
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  EXPECT_FALSE(b0->core.admits(HeldTick{}));
  EXPECT_THROW((void)b0->core.tick(b0->now), std::logic_error) << "whoever does not ask is told";
}

}  // namespace
}  // namespace shoal::jobs_under_way_test
