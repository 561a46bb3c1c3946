// Tests what a sum is made by, from what its members say.
#include "runtime/sync/collective/collective_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace shoal::collective_choice_test {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Incarnation kFirst{11};
constexpr Incarnation kSecond{12};
constexpr Incarnation kThird{13};
constexpr Instant kNow = Instant{} + std::chrono::hours(1);

Epoch epoch(std::uint32_t counter) { return Epoch{Incarnation{9}, counter}; }

CollectiveOffer offer(const std::string& device, std::uint32_t communicator = 0, std::uint32_t size = 0) {
  return {"nccl 2.28.9", device, communicator == 0 ? Epoch{} : epoch(communicator), size};
}

CollectiveOffers pair(std::uint32_t communicator = 0, std::uint32_t size = 0) {
  return {{kFirst, offer("a", communicator, size)}, {kSecond, offer("b", communicator, size)}};
}

TEST(CollectiveChoice, MakesACommunicatorThenKeepsIt) {
  CollectiveChoice choice;
  const SumChoice made = choice.choose(epoch(4), pair(), kNow);
  EXPECT_EQ(made.communicator, epoch(4));
  EXPECT_THAT(made.reason, HasSubstr("by nccl 2.28.9"));
  EXPECT_EQ(choice.choose(epoch(6), pair(4, 2), kNow).communicator, epoch(4));
}

TEST(CollectiveChoice, MakesAnotherWhereOneLacksItOrItHasOthers) {
  CollectiveChoice choice;
  auto offers = pair(4, 2);
  offers[kSecond]->communicator = {};
  EXPECT_EQ(choice.choose(epoch(6), offers, kNow).communicator, epoch(6));
  offers[kSecond]->communicator = epoch(5);
  EXPECT_EQ(choice.choose(epoch(6), offers, kNow).communicator, epoch(6));
  EXPECT_EQ(choice.choose(epoch(6), pair(4, 3), kNow).communicator, epoch(6)) << "a member has left";
  auto joined = pair(4, 2);
  joined[kThird] = offer("c");
  EXPECT_EQ(choice.choose(epoch(6), joined, kNow).communicator, epoch(6));
  EXPECT_EQ(choice.choose(epoch(6), pair(4, 2), kNow).communicator, epoch(4)) << "control";
}

TEST(CollectiveChoice, TakesTheRingWhereAMemberLacksWhatItNeeds) {
  CollectiveChoice choice;
  auto offers = pair();
  offers[kThird] = std::nullopt;
  EXPECT_EQ(choice.choose(epoch(4), offers, kNow).communicator, std::nullopt);
  EXPECT_THAT(choice.choose(epoch(4), offers, kNow).reason,
              HasSubstr("ring: replica 13 sums by its connections alone"));
  offers[kThird] = offer("a");
  EXPECT_THAT(choice.choose(epoch(4), offers, kNow).reason, HasSubstr("replicas 11 and 13 share one device"));
  offers[kThird] = offer("c");
  offers[kThird]->library = "nccl 2.27.3";
  EXPECT_THAT(choice.choose(epoch(4), offers, kNow).reason,
              HasSubstr("replica 13 has nccl 2.27.3, and replica 11 nccl"));
  offers[kThird] = offer("c");
  EXPECT_EQ(choice.choose(epoch(4), offers, kNow).communicator, epoch(4)) << "control";
}

TEST(CollectiveChoice, SaysWhatMembersSayThatOfferNothing) {
  CollectiveChoice choice;
  const auto reason = [&choice](const CollectiveOffers& offers) {
    const SumChoice chosen = choice.choose(epoch(4), offers, kNow);
    EXPECT_EQ(chosen.communicator, std::nullopt);
    return chosen.reason;
  };
  const CollectiveOffers nobody = {{kFirst, std::nullopt}, {kSecond, std::nullopt}};
  choice.hear_lack(kSecond, "no GPU");
  EXPECT_EQ(reason(nobody), "sums go over the ring: replica 11 sums by its connections alone");
  choice.hear_lack(kFirst, "no library");
  EXPECT_EQ(reason(nobody), "sums go over the ring: replica 11: no library");
  choice.hear_lack(kFirst, "no GPU");
  EXPECT_EQ(reason(nobody), "sums go over the ring: no GPU") << "all say the same";
  const CollectiveOffers shared = {{kFirst, offer("a")}, {kSecond, offer("a")}, {kThird, std::nullopt}};
  EXPECT_EQ(reason(shared), "sums go over the ring: replica 13 sums by its connections alone") << "no device first";
  EXPECT_EQ(choice.choose(epoch(4), pair(), kNow).reason, "sums are made by nccl 2.28.9") << "what they said is old";
}

TEST(CollectiveChoice, ForgetsWhatThoseSaidWhoAreNoMembersAnyMore) {
  CollectiveChoice choice;
  for (std::uint64_t member = 1; member <= 100; ++member) choice.hear_lack(Incarnation{member}, "no GPU");
  choice.keep_members([](Incarnation member) { return member == kFirst; });
  EXPECT_EQ(choice.lacks(), 1U);
  EXPECT_EQ(choice.choose(epoch(5), {{kSecond, std::nullopt}}, kNow).reason, "");
  EXPECT_NE(choice.choose(epoch(6), {{kFirst, std::nullopt}}, kNow).reason, "") << "control";
}

// Its values stay on its device then, and the path is the one that it has when others join.
TEST(CollectiveChoice, LetsAMemberThatIsAloneSumByTheLibraryToo) {
  CollectiveChoice choice;
  EXPECT_EQ(choice.choose(epoch(4), {{kFirst, offer("a")}}, kNow).communicator, epoch(4));
  EXPECT_EQ(choice.choose(epoch(6), {{kFirst, offer("a", 4, 1)}}, kNow).communicator, epoch(4));
  EXPECT_EQ(choice.choose(epoch(6), {{kFirst, offer("a", 4, 2)}}, kNow).communicator, epoch(6)) << "the other has left";
  EXPECT_EQ(choice.choose(epoch(6), {{kFirst, std::nullopt}}, kNow).communicator, std::nullopt) << "control";
  EXPECT_EQ(choice.choose(epoch(6), {}, kNow).communicator, std::nullopt);
}

TEST(CollectiveChoice, IsSilentWhereNobodyOffersAnything) {
  CollectiveChoice choice;
  const SumChoice ring = choice.choose(epoch(4), {{kFirst, std::nullopt}, {kSecond, std::nullopt}}, kNow);
  EXPECT_EQ(ring.communicator, std::nullopt);
  EXPECT_EQ(ring.reason, "");
}

// Returns how many sums in a row go over the ring now.
std::uint32_t ring_sums(CollectiveChoice& choice) {
  std::uint32_t count = 0;
  while (!choice.choose(epoch(4), pair(), kNow).communicator) ++count;
  return count;
}

TEST(CollectiveChoice, AvoidsALibraryThatFailsForLongerAndLonger) {
  CollectiveChoice choice;
  EXPECT_EQ(ring_sums(choice), 0U);
  for (const std::uint32_t expected : {1U, 2U, 4U, 8U, 16U, 32U, 64U, 64U}) {
    choice.came_to_nothing(kNow, Duration::zero());
    EXPECT_EQ(ring_sums(choice), expected);
  }
  EXPECT_EQ(kRingSumsMax, 64U);
  choice.came_whole();
  choice.came_to_nothing(kNow, Duration::zero());
  EXPECT_EQ(ring_sums(choice), 1U);
}

// Few sums may be many seconds: a try of half a minute is worth a pause of half an hour.
TEST(CollectiveChoice, AfterANewCommunicatorInVainAllGoesOverTheRingForFiftyTimesAsLong) {
  CollectiveChoice choice;
  EXPECT_TRUE(choice.choose(epoch(4), pair(), kNow).communicator);
  choice.came_to_nothing(kNow, seconds(30));
  for (int sum = 0; sum < 100; ++sum) {
    EXPECT_FALSE(choice.choose(epoch(4), pair(), kNow + seconds(15 * sum)).communicator) << sum;
  }
  EXPECT_EQ(choice.choose(epoch(5), pair(), kNow + seconds(1500)).communicator, epoch(5));
}

// A member of a kept one may have died; those that stay make another, which comes together.
TEST(CollectiveChoice, AfterAKeptCommunicatorInVainAnotherIsMadeSoon) {
  CollectiveChoice choice;
  EXPECT_EQ(choice.choose(epoch(6), pair(4, 2), kNow).communicator, epoch(4));
  choice.came_to_nothing(kNow, seconds(30));
  EXPECT_FALSE(choice.choose(epoch(7), pair(), kNow).communicator);
  EXPECT_EQ(choice.choose(epoch(8), pair(), kNow).communicator, epoch(8));
}

TEST(CollectiveChoice, IsMorePatientWithACommunicatorAfterOneInVain) {
  CollectiveChoice choice;
  EXPECT_EQ(choice.patience(seconds(30)), seconds(30));
  Instant now = kNow;
  for (const int expected : {60, 120, 240, 240, 240}) {
    const Duration took = choice.patience(seconds(30));
    while (!choice.choose(epoch(4), pair(), now).communicator) now += seconds(60);
    now += took;
    choice.came_to_nothing(now, took);
    EXPECT_EQ(choice.patience(seconds(30)), seconds(expected));
  }
  while (!choice.choose(epoch(4), pair(), now).communicator) now += seconds(60);
  choice.came_whole();
  EXPECT_EQ(choice.patience(seconds(30)), seconds(240)) << "it needed so long";
  choice.came_to_nothing(now, seconds(1));
  EXPECT_EQ(choice.patience(seconds(30)), seconds(30)) << "of an error nobody need wait longer";
}

// A kept communicator is chosen for exactly its own members; and whatever they hold, all are told the same.
TEST(CollectiveChoice, NeverChoosesACommunicatorThatAMemberLacks) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    CollectiveChoice choice;
    CollectiveOffers offers;
    const std::uint64_t members = 1 + random() % 4;
    for (std::uint64_t member = 0; member < members; ++member) {
      const auto size = static_cast<std::uint32_t>(members - random() % 2);
      offers[Incarnation{member + 1}] = offer(std::to_string(member), static_cast<std::uint32_t>(random() % 3), size);
    }
    const auto chosen = choice.choose(epoch(7), offers, kNow).communicator;
    ASSERT_TRUE(chosen) << "seed " << seed;
    const bool all_hold = std::ranges::all_of(
        offers, [&](const auto& entry) { return entry.second->communicator == offers.begin()->second->communicator; });
    const bool is_kept = *chosen != epoch(7);
    ASSERT_TRUE(!is_kept || (all_hold && offers.begin()->second->size == members)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shoal::collective_choice_test
