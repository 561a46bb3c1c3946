// The duty that tells routers of each other and of refused certificates.
#include <gtest/gtest.h>

#include "runtime/cluster/duties/introductions.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::introductions_test {
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

// Storage closes its link to whoever is named no more, and the end of its log comes over that link.
TEST_F(IntroductionDutyTest, NamesWhoeverLeftForAMomentLonger) {
  const auto goes = [&](std::uint64_t process, const Departure& how) {
    truth.roster.processes.lose(ProcessIncarnation{process});
    (void)duty.on(ProcessGone{ProcessIncarnation{process}, "", ProcessRole::kNode, "", how}, now);
    return sent<Peers>(duty.on(PeersChanged{}, now)).at(0).peers;
  };
  const ProcessIncarnation leaver = truth.roster.processes.alive("node2").at(0);
  const auto parting = goes(leaver.value, kLeft);
  ASSERT_EQ(parting.size(), 2U);
  EXPECT_EQ(parting[1].process, leaver);
  EXPECT_EQ(parting[1].name, "node2");
  EXPECT_EQ(goes(truth.roster.processes.alive("node1").at(0).value, kWasLost).size(), 1U)
      << "the dead are closed at once";
  now += std::chrono::seconds(3);
  const auto later = sent<Peers>(duty.on(TickCame{}, now));
  ASSERT_FALSE(later.empty());
  EXPECT_TRUE(later[0].peers.empty());
}

TEST_F(IntroductionDutyTest, TellsNobodyWhileMembersComeBack) {
  truth.phase = RunPhase::kReturning;
  EXPECT_TRUE(duty.on(PeersChanged{}, now).all().empty());
}

// A member that is not back would lose its links to the others; but nobody else is to take its number meanwhile.
TEST_F(IntroductionDutyTest, S7KeepsTheNumbersOfThoseThatComeBackAtTheSpawnersRouter) {
  const Peer away{ProcessIncarnation{11}, ProcessRole::kNode, "node11", {}};
  truth.roster.processes.await({away, {ProcessIncarnation{12}, ProcessRole::kStorage, "storage", {}}});
  truth.phase = RunPhase::kReturning;
  IntroductionDuty taken_over{truth};
  const auto letters = asked<Letter>(taken_over.on(TermBegins{}, now));
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].to.process, kSpawnerProcess);
  EXPECT_EQ(std::get<Peers>(letters[0].body).peers.size(), 4U);
  join("storage", ProcessRole::kStorage);
  EXPECT_EQ(sent<Peers>(taken_over.on(PeersChanged{}, now)).at(0).peers.size(), 4U) << "in the place of the old one";
  truth.phase = RunPhase::kTraining;
  const auto lists = sent<Peers>(taken_over.on(PeersChanged{}, now));
  ASSERT_EQ(lists.size(), 4U);
  EXPECT_EQ(std::ranges::count(lists[0].peers, away), 1) << "one that comes back at this moment keeps its link";
  EXPECT_EQ(lists[1].peers.size(), 3U) << "nobody else waits for who is away";
  now += std::chrono::seconds(10);
  EXPECT_EQ(std::ranges::count(sent<Peers>(taken_over.on(TickCame{}, now)).at(0).peers, away), 0);
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
}  // namespace shoal::introductions_test
