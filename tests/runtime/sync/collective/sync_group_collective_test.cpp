// A group whose members offer to sum on their devices (P-18b): which Reduce it gives, and what a failure changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sync/sync_group.h"
#include "tests/support/sent_letters.h"

namespace shoal::sync_group_collective_test {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr StageId kStage{0};
constexpr Incarnation kGroup{50};

// Members 11 and 12, two microbatches.
class Bench {
 public:
  Bench() : core(config()) {
    for (const std::uint64_t replica : {11, 12}) {
      read(AddReplica{kStage, ReplicaId{0}, Incarnation{replica}, ProcessIncarnation{replica}, 0});
    }
    read(AppointGroup{kStage, kGroup});
  }

  void read(JournalBody body) {
    take(core.follow({JournalPosition{core.view().position().value + 1}, {}, Term{1}, std::move(body)}, now));
  }
  void take(SyncGroupEffects effects) {
    for (Letter& letter : effects.letters) sent.push_back(std::move(letter));
  }
  template <class Message>
  void hear(const Message& message) {
    take(core.hear(message, now));
  }
  void tick(seconds later) {
    now += later;
    take(core.tick(now));
  }
  OrderId order() const { return {RunId{9}, {}, Term{1}, kStage, core.step(), core.epoch()}; }
  // Brings the step to its Reduce, with these offers.
  Reduce reduce(const std::optional<CollectiveOffer>& first, const std::optional<CollectiveOffer>& second) {
    sent.clear();
    hear(AllAnswered{{}, core.step()});
    for (const std::uint64_t member : {11, 12}) {
      Manifest manifest{
          order(), Incarnation{member}, {{MicrobatchId{static_cast<std::uint32_t>(member - 11)}, 100, 1, {}}}};
      manifest.collective = member == 11 ? first : second;
      hear(manifest);
    }
    const auto reduces = bodies_of<Reduce>(sent);
    EXPECT_EQ(reduces.size(), 2U);
    return reduces.empty() ? Reduce{} : reduces.front();
  }
  void reduced() {
    for (const std::uint64_t member : {11, 12}) hear(Reduced{order(), Incarnation{member}, 77, {}});
  }
  void commit() {
    Commit entry;
    entry.step = core.step();
    entry.stages.push_back({kStage, core.epoch(), 77, {}});
    read(entry);
  }
  [[nodiscard]] std::vector<RunEvent> events() const { return bodies_of<RunEvent>(sent); }

  Instant now = Instant{} + std::chrono::hours(1);
  SyncGroupCore core;
  std::vector<Letter> sent;

 private:
  static SyncGroupConfig config() {
    SyncGroupConfig config{RunId{9}, Term{1}, kStage, kGroup, 2};
    config.look_max = std::chrono::hours(9);  // time goes in leaps here
    return config;
  }
};

CollectiveOffer offer(const std::string& device, const Epoch& communicator = {}) {
  return {"nccl 2.28.9", device, communicator, communicator == Epoch{} ? 0U : 2U};
}

TEST(SyncGroupCollective, ItsReduceNamesTheCommunicator) {
  Bench bench;
  const Reduce made = bench.reduce(offer("a"), offer("b"));
  EXPECT_EQ(made.communicator, made.order.epoch);
  EXPECT_THAT(bench.events().at(0).reason, HasSubstr("sums are made by nccl 2.28.9"));
  bench.reduced();
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kVoted);
  bench.commit();
  const Reduce kept = bench.reduce(offer("a", made.order.epoch), offer("b", made.order.epoch));
  EXPECT_NE(kept.order.epoch, made.order.epoch);
  EXPECT_EQ(kept.communicator, made.order.epoch);
  EXPECT_TRUE(bench.events().empty()) << "it is no news";
}

TEST(SyncGroupCollective, WhereOneOffersNothingTheStageTakesTheRing) {
  Bench bench;
  EXPECT_EQ(bench.reduce(offer("a"), std::nullopt).communicator, std::nullopt);
  EXPECT_THAT(bench.events().at(0).reason, HasSubstr("replica 12 sums by its connections alone"));
}

// A member that offers nothing says why before its manifest, in each epoch anew.
void say_why(Bench& bench, const std::vector<std::pair<std::uint64_t, std::string>>& lacks) {
  for (const auto& [member, why] : lacks) {
    Progress news{bench.order(), Incarnation{member}, 1};
    news.failure = why;
    bench.hear(news);
  }
}

std::vector<std::string> told(const Bench& bench) {
  std::vector<std::string> reasons;
  for (const RunEvent& event : bench.events()) {
    EXPECT_EQ(event.kind, RunEventKind::kSumsChosen);
    EXPECT_EQ(event.subject, "sync_group/0");
    reasons.push_back(event.reason);
  }
  return reasons;
}

TEST(SyncGroupCollective, WhyNobodyOffersAnythingIsToldOnce) {
  const std::vector<std::pair<std::uint64_t, std::string>> no_gpus = {{11, "no GPU"}, {12, "no GPU"}};
  Bench bench;
  say_why(bench, no_gpus);
  EXPECT_EQ(bench.reduce(std::nullopt, std::nullopt).communicator, std::nullopt);
  EXPECT_THAT(told(bench), ElementsAre("sums go over the ring: no GPU"));
  for (int step = 0; step < 3; ++step) {
    bench.reduced();
    bench.commit();
    say_why(bench, no_gpus);
    static_cast<void>(bench.reduce(std::nullopt, std::nullopt));
    EXPECT_THAT(told(bench), IsEmpty()) << "it is no news";
  }
  bench.reduced();
  bench.commit();
  say_why(bench, {{11, "no GPU"}, {12, "no library"}});
  static_cast<void>(bench.reduce(std::nullopt, std::nullopt));
  EXPECT_THAT(told(bench), ElementsAre("sums go over the ring: replica 11: no GPU"));
}

// The first member that is replaced by another without a GPU changes nothing that a person could read.
TEST(SyncGroupCollective, AReplacementWithTheSameLackIsNoNews) {
  Bench bench;
  say_why(bench, {{11, "no GPU"}, {12, "no GPU"}});
  static_cast<void>(bench.reduce(std::nullopt, std::nullopt));
  bench.reduced();
  bench.commit();
  bench.sent.clear();
  bench.read(RemoveReplica{kStage, Incarnation{11}, "gone"});
  Manifest all{bench.order(), Incarnation{12}, {{MicrobatchId{0}, 100, 1, {}}, {MicrobatchId{1}, 100, 1, {}}}};
  say_why(bench, {{12, "no GPU"}});
  bench.hear(AllAnswered{{}, bench.core.step()});
  bench.tick(seconds(60));
  all.order = bench.order();
  bench.hear(all);
  EXPECT_EQ(bodies_of<Reduce>(bench.sent).size(), 1U);
  EXPECT_THAT(bench.events(), IsEmpty());
}

TEST(SyncGroupCollective, WhyOneOffersNothingIsToldOfThatOne) {
  Bench bench;
  say_why(bench, {{12, "no GPU"}});
  EXPECT_EQ(bench.reduce(offer("a"), std::nullopt).communicator, std::nullopt);
  EXPECT_THAT(told(bench), ElementsAre("sums go over the ring: replica 12: no GPU"));
}

TEST(SyncGroupCollective, ARunThatWantsTheRingHearsNothing) {
  Bench bench;
  EXPECT_EQ(bench.reduce(std::nullopt, std::nullopt).communicator, std::nullopt);
  EXPECT_THAT(told(bench), IsEmpty());
}

TEST(SyncGroupCollective, AFailureOpensAtOnceAndTheNextSumTakesTheRing) {
  Bench bench;
  const Reduce made = bench.reduce(offer("a"), offer("b"));
  Progress news{made.order, Incarnation{12}, 1};
  news.failure = "remote process exited";
  Progress late = news;
  --late.order.epoch.counter;
  bench.hear(late);
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kReducing) << "of an epoch that is over";
  bench.hear(news);
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing) << "it was opened, and is asked for again";
  EXPECT_GT(bench.core.epoch(), made.order.epoch);
  EXPECT_THAT(bench.events().back().reason, HasSubstr("replica 12: remote process exited"));
  EXPECT_EQ(bench.reduce(offer("a"), offer("b")).communicator, std::nullopt);
  bench.reduced();
  bench.commit();
  EXPECT_TRUE(bench.reduce(offer("a"), offer("b")).communicator);
}

TEST(SyncGroupCollective, ASumThatStandsStillIsGivenUpAndANewCommunicatorIsGivenTime) {
  Bench bench;
  static_cast<void>(bench.reduce(offer("a"), offer("b")));
  bench.reduced();
  bench.commit();
  static_cast<void>(bench.reduce(offer("a"), offer("b")));  // both have lost it: a new one
  bench.tick(seconds(20));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kReducing);
  bench.tick(seconds(15));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing);
  static_cast<void>(bench.reduce(offer("a"), offer("b")));  // by the ring, whose patience is short by now
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kReducing);
  bench.tick(seconds(20));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing) << "control";
}

// Its communicators do not come together in half a minute: another is tried after a long while, and given longer.
TEST(SyncGroupCollective, ACommunicatorInVainCostsTheRunLittleAndTheNextIsGivenLonger) {
  Bench bench;
  static_cast<void>(bench.reduce(offer("a"), offer("b")));
  bench.tick(seconds(31));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing);
  int steps = 0;
  Reduce next;
  for (; steps < 2000; ++steps) {
    next = bench.reduce(offer("a"), offer("b"));
    if (next.communicator) break;
    bench.reduced();
    bench.commit();
    bench.now += seconds(1);
  }
  EXPECT_GE(steps, 50 * 31 - 1);
  ASSERT_TRUE(next.communicator);
  bench.tick(seconds(50));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kReducing) << "it took more than 30 s before";
  bench.tick(seconds(15));
  EXPECT_EQ(bench.core.phase(), SyncGroupCore::Phase::kPreparing) << "control";
}

}  // namespace
}  // namespace shoal::sync_group_collective_test
