// The duty that tells routers of each other and of refused certificates.
#include <gtest/gtest.h>

#include "runtime/cluster/duties/introductions.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal {
namespace {

struct IntroductionDutyTest : testing::Test, DutyBench {
  IntroductionDutyTest() {
    join("node1");
    join("node2");
    (void)duty.on(TermBegins{}, now);
  }
  IntroductionDuty duty{truth};
};

TEST_F(IntroductionDutyTest, TellsTheSpawnerAndEverybodyWhoIsInUnderARisingNumber) {
  EXPECT_EQ(sent<Peers>(duty.on(PeersChanged{}, now)).size(), 3U);
  const auto again = sent<Peers>(duty.on(PeersChanged{}, now));
  EXPECT_EQ(again[0].serial, 2U);
  EXPECT_EQ(again[0].peers.size(), 2U);
}

TEST_F(IntroductionDutyTest, TellsNobodyWhileMembersComeBack) {
  truth.phase = RunPhase::kReturning;
  EXPECT_TRUE(duty.on(PeersChanged{}, now).all().empty());
}

TEST_F(IntroductionDutyTest, SaysItAgainEveryWhile) {
  EXPECT_TRUE(duty.on(TickCame{}, now).all().empty());
  now += std::chrono::seconds(10);
  EXPECT_EQ(sent<Peers>(duty.on(TickCame{}, now)).size(), 3U);
  EXPECT_TRUE(duty.on(TickCame{}, now).all().empty());
}

TEST_F(IntroductionDutyTest, SendsRefusedCertificatesToEverybodyAndToWhoeverIsWelcomed) {
  EXPECT_TRUE(duty.on(Welcomed{ProcessIncarnation{1}}, now).all().empty());
  Revocations list;
  list.version = 4;
  EXPECT_EQ(sent<Revocations>(duty.on(list, now)).size(), 2U);
  EXPECT_EQ(duty.revoked_version(), 4U);
  EXPECT_EQ(sent<Revocations>(duty.on(Welcomed{ProcessIncarnation{1}}, now)).size(), 1U);
}

}  // namespace
}  // namespace shoal
