// What a step's line says of the devices that computed it.
#include <gtest/gtest.h>

#include "runtime/trace/metrics/metrics_core.h"

namespace shoal::metrics_devices_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kRate = 1'000'000'000;

// Stage 0 with replicas 1 and 2, stage 1 with replica 3, in processes of their own on a machine of 4 cores; steps of
// 100 tokens and a second, of a model with a million multiply-adds a token.
class MeasuredRun {
 public:
  MeasuredRun() {
    MetricsConfig config{4, 100, 4};
    config.multiply_adds = 3e6;
    core_ = MetricsCore(config);
    core_.begin({}, WrittenLines{}, Instant{});
    for (const std::uint64_t replica : {1U, 2U, 3U}) {
      journal(AddReplica{stage_of(replica), ReplicaId{}, Incarnation{replica}, ProcessIncarnation{10 + replica}, 0});
    }
  }
  std::vector<MetricsOutput> commit(std::uint64_t step) {
    Commit commit;
    commit.step = StepId{step};
    commit.token_count = 100;
    commit.step_ms = 1000;
    return journal(commit);
  }
  // Busy for a tenth of a second times its number.
  std::vector<MetricsOutput> report(std::uint64_t step, std::uint64_t replica, std::uint64_t rate = kRate) {
    ReplicaReport report;
    report.step = StepId{step};
    report.stage = stage_of(replica);
    report.replica = Incarnation{replica};
    report.use = {replica * 100'000, 1'000'000, 0, replica, 0, 1, {rate, 4, 77}};
    return core_.on(report);
  }
  std::vector<MetricsOutput> journal(JournalBody body) {
    return core_.on({JournalPosition{++position_}, {}, Term{1}, std::move(body)}, Instant{} + 1s);
  }
  static StageId stage_of(std::uint64_t replica) { return StageId{replica == 3 ? 1U : 0U}; }

 private:
  MetricsCore core_{MetricsConfig{}};
  std::uint64_t position_ = 0;
};

TEST(MetricsDevices, AreThoseOfEachReplicaAndTheirPeakTogether) {
  MeasuredRun run;
  (void)run.commit(0);
  (void)run.report(0, 3);
  (void)run.report(0, 1);
  const auto out = run.report(0, 2);
  ASSERT_EQ(out.size(), 1U);
  const auto& record = std::get<StepRecord>(out[0]);
  ASSERT_EQ(record.devices.size(), 2U);
  ASSERT_EQ(record.devices[0].size(), 2U);
  EXPECT_EQ(record.devices[0][0].busy_us, 100'000U);
  EXPECT_EQ(record.devices[0][1].memory_bytes, 2U);
  EXPECT_EQ(record.devices[1].at(0).busy_us, 300'000U);
  ASSERT_TRUE(record.mfu);
  EXPECT_DOUBLE_EQ(*record.mfu, 3 * 1e6 * 100 / (3 * 1e9)) << "100 tokens a second, by three threads";
}

TEST(MetricsDevices, HaveNoMfuWhereAPeakIsNotKnown) {
  MeasuredRun run;
  (void)run.commit(0);
  (void)run.report(0, 1);
  (void)run.report(0, 2, 0);  // a paced device
  const auto paced = run.report(0, 3);
  EXPECT_EQ(std::get<StepRecord>(paced.at(0)).mfu, std::nullopt);
  (void)run.commit(1);
  (void)run.report(1, 1);
  (void)run.report(1, 3);
  const auto removed = run.journal(RemoveReplica{StageId{0}, Incarnation{2}, "silent"});
  ASSERT_EQ(removed.size(), 2U);
  const auto& record = std::get<StepRecord>(removed[0]);
  EXPECT_EQ(record.mfu, std::nullopt) << "it computed, and nobody knows how fast it can be";
  EXPECT_EQ(record.devices[0][1].over_us, 0U) << "nothing is known of it";
  EXPECT_EQ(record.devices[0][0].over_us, 1'000'000U);
}

TEST(MetricsDevices, AreNotThereWhereNobodyReported) {
  MeasuredRun run;
  (void)run.commit(0);
  (void)run.commit(1);
  const auto out = run.commit(2);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_TRUE(std::get<StepRecord>(out[0]).devices.empty());
  EXPECT_EQ(std::get<StepRecord>(out[0]).mfu, std::nullopt);
}

}  // namespace
}  // namespace shoal::metrics_devices_test
