// A communicator's life between members, over the tests' library: bits, failures, drops, hangs, the death of a peer.
#include "runtime/device/nccl/nccl_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/sync/reduction.h"
#include "tests/runtime/device/nccl/nccl_bench.h"
#include "tests/runtime/sync/reduction_swarm.h"

namespace shoal::nccl_session_test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kValues = 50'000;  // several chunks of the tests' library

// Returns what the ring makes of the same contributions.
TensorBlob sum_of_ring(const std::vector<TensorBlob>& contributions) {
  ReductionPlan plan;
  plan.members = static_cast<std::uint32_t>(contributions.size());
  plan.bucket_bytes = 4096;
  ReductionSwarm ring(plan, contributions);
  ring.settle();
  return ring.at(0).sum();
}

TEST(NcclSession, SumsIntegersToTheBitsOfTheRing) {
  const PlantedFolder folder;
  for (const std::uint32_t count : {2U, 3U, 5U}) {
    const auto contributions = random_integers(count, kValues, count);
    NcclMembers members(count);
    members.begin(1, 1, contributions);
    ASSERT_TRUE(members.settle());
    const TensorBlob expected = sum_of_ring(contributions);
    for (std::uint32_t rank = 0; rank < count; ++rank) EXPECT_EQ(members.take_sum(rank), expected);
    EXPECT_NE(expected, sum_of_ring(random_integers(count, kValues, count + 1))) << "control";
  }
}

TEST(NcclSession, GivesAllMembersTheSameFloats) {
  const PlantedFolder folder;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<TensorBlob> contributions;
  for (int member = 0; member < 3; ++member) {
    std::vector<float> values(1001);
    for (float& value : values) value = normal(random);
    contributions.push_back(blob_of(values));
  }
  NcclMembers members(3);
  members.begin(1, 1, contributions);
  ASSERT_TRUE(members.settle());
  const TensorBlob first = members.take_sum(0);
  const TensorBlob ring = sum_of_ring(contributions);
  ASSERT_EQ(first.element_count(), 1001);
  for (int i = 0; i < 1001; ++i) EXPECT_NEAR(first.as<float>()[i], ring.as<float>()[i], 1e-5);
  EXPECT_EQ(members.take_sum(1), first);
  EXPECT_EQ(members.take_sum(2), first);
}

TEST(NcclSession, KeepsItsCommunicatorForLaterSums) {
  const PlantedFolder folder;
  NcclMembers members(2);
  for (const std::uint32_t epoch : {1U, 4U, 7U}) {
    const auto contributions = random_integers(2, kValues, epoch);
    members.begin(epoch, 1, contributions);
    ASSERT_TRUE(members.settle());
    EXPECT_EQ(members.take_sum(0), sum_of_ring(contributions));
    EXPECT_EQ(members.take_sum(1), sum_of_ring(contributions));
  }
  EXPECT_EQ(folder.count("communicator"), 1);
  EXPECT_EQ(folder.count("sum"), 3);
}

TEST(NcclSession, SaysThatItLacksTheCommunicator) {
  const PlantedFolder folder;
  NcclMembers members(2);
  members.begin(4, 1, random_integers(2, 10, 1));
  EXPECT_THAT(members.take_failure(0), HasSubstr("has no such communicator"));
  EXPECT_THAT(members.take_failure(1), HasSubstr("has no such communicator"));
  members.begin(5, 5, random_integers(2, 10, 1));
  ASSERT_TRUE(members.settle());
  EXPECT_TRUE(members.take_sum(0).has_value()) << "control";
}

TEST(NcclSession, TellsWhatFailsAndGivesItsCommunicatorUp) {
  const PlantedFolder folder;
  NcclMembers members(2);
  std::uint32_t epoch = 1;
  for (const char* fault : {"init_fails", "sum_fails"}) {
    planted::plant(fault);
    members.begin(epoch, epoch, random_integers(2, kValues, 1));
    ASSERT_TRUE(members.settle());
    EXPECT_THAT(members.take_failure(0), HasSubstr("unhandled system error (2), of the tests' library")) << fault;
    EXPECT_FALSE(members.at(0).has_communicator());
    planted::remove(fault);
    static_cast<void>(members.take_failure(1));
    ++epoch;
    members.begin(epoch, epoch, random_integers(2, kValues, 1));
    ASSERT_TRUE(members.settle());
    EXPECT_TRUE(members.take_sum(0).has_value());
    EXPECT_TRUE(members.take_sum(1).has_value());
    ++epoch;
  }
}

// The members that stay get an error, as with the death of one; a smaller communicator does without it.
TEST(NcclSession, DropsASumInItsMiddle) {
  const PlantedFolder folder;
  NcclMembers members(3);
  planted::plant("chunk_ms", 2);
  members.begin(1, 1, random_integers(3, 40 * kValues, 1));
  ASSERT_TRUE(comes_true([&] {
    members.poll();
    return folder.count("sum") == 1;
  }));
  EXPECT_TRUE(members.at(2).take(CollectiveDrop{}).empty());
  EXPECT_FALSE(members.at(2).is_busy());
  ASSERT_TRUE(comes_true([&] {
    members.poll();
    return !members.at(0).is_busy() && !members.at(1).is_busy();
  }));
  EXPECT_THAT(members.take_failure(0), HasSubstr("remote process exited (6)"));
  EXPECT_THAT(members.take_failure(1), HasSubstr("remote process exited (6)"));
  EXPECT_FALSE(members.take_sum(2).has_value());
  planted::remove("chunk_ms");
  const auto contributions = random_integers(3, kValues, 2);
  members.begin(2, 2, contributions);
  ASSERT_TRUE(members.settle());
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(members.take_sum(rank), sum_of_ring(contributions));
}

TEST(NcclSession, ASumThatHangsIsDroppedAndAnotherCommunicatorMade) {
  const PlantedFolder folder;
  NcclMembers members(2);
  planted::plant("sum_hangs");
  members.begin(1, 1, random_integers(2, kValues, 1));
  ASSERT_TRUE(comes_true([&] {
    members.poll();
    return folder.count("sum") == 1;
  }));
  for (int look = 0; look < 1000; ++look) members.poll();
  EXPECT_TRUE(members.at(0).is_busy());
  planted::remove("sum_hangs");
  const auto contributions = random_integers(2, kValues, 2);
  members.begin(2, 2, contributions);  // what was under way is dropped
  ASSERT_TRUE(members.settle());
  EXPECT_EQ(members.take_sum(1), sum_of_ring(contributions));
  EXPECT_EQ(folder.count("communicator"), 2);
}

// A member whose process gives up its communicators by `joins`, and for whom nobody else ever comes.
std::vector<CollectiveNews> join_alone(NcclSession& session, std::uint32_t epoch, std::uint32_t size = 2) {
  return session.take(
      {CollectiveSum{order_of(epoch), order_of(epoch).epoch, 0, size, {}, random_integers(1, 10, 1)[0]}});
}

TEST(NcclSession, MakesNoCommunicatorAfterTooManyThatNeverCameTogether) {
  const PlantedFolder folder;
  const auto library = tests_library();
  const auto joins = std::make_shared<GivenUpJoins>();
  NcclSession session(library, make_host_memory(library), joins);
  for (std::uint32_t other = 2; other < kGivenUpJoinsMax; ++other) ASSERT_TRUE(joins->begin()) << "of other stages";
  for (const std::uint32_t epoch : {1U, 2U}) {
    const auto news = join_alone(session, epoch);
    ASSERT_EQ(news.size(), 1U);
    EXPECT_TRUE(std::holds_alternative<CollectiveIdMade>(news[0]));
    EXPECT_TRUE(session.is_busy());
    static_cast<void>(session.take(CollectiveDrop{}));
  }
  const auto news = join_alone(session, 3);
  ASSERT_EQ(news.size(), 1U) << "no id is made, whose thread would be left behind as well";
  const auto* failed = std::get_if<CollectiveFailed>(&news[0]);
  ASSERT_NE(failed, nullptr);
  EXPECT_TRUE(failed->is_for_good);
  EXPECT_EQ(failed->order, order_of(3));
  EXPECT_THAT(failed->reason, HasSubstr("64 communicators of this process never came together"));
  EXPECT_FALSE(session.is_busy());
}

TEST(NcclSession, DoesNotCountTheCommunicatorsThatCameTogether) {
  const PlantedFolder folder;
  const auto library = tests_library();
  const auto joins = std::make_shared<GivenUpJoins>();
  NcclSession session(library, make_host_memory(library), joins);
  for (std::uint32_t other = 1; other < kGivenUpJoinsMax; ++other) ASSERT_TRUE(joins->begin());
  for (std::uint32_t epoch = 1; epoch < 5; ++epoch) {
    std::vector<CollectiveNews> news = join_alone(session, epoch, 1);
    ASSERT_TRUE(comes_true([&] {
      for (CollectiveNews& one : session.poll()) news.push_back(std::move(one));
      return !session.is_busy();
    }));
    EXPECT_TRUE(std::holds_alternative<CollectiveSummed>(news.back())) << epoch;
  }
}

// The last member is another process. It ends when it is killed, or after a minute.
pid_t start_member(const std::string& id, const TensorBlob& contribution) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const auto library = tests_library();
  NcclSession session(library, make_host_memory(library));
  const CollectiveSum sum{order_of(1), order_of(1).epoch, 1, 2, id, contribution};
  static_cast<void>(session.take(sum));
  static_cast<void>(comes_true([&] { return session.poll().size() == 1; }));
  ::_exit(0);
}

TEST(NcclSession, HearsOfTheDeathOfAProcess) {
  const PlantedFolder folder;
  const auto contributions = random_integers(2, kValues, 1);
  for (const bool dies : {false, true}) {
    if (dies) planted::plant("sum_hangs");
    const auto library = tests_library();
    NcclId id{};
    ASSERT_EQ(library->call.get_unique_id(&id), kNcclSuccess);
    const std::string text(id.bytes.data(), id.bytes.size());
    const pid_t child = start_member(text, contributions[1]);  // before this process has another thread
    NcclSession session(library, make_host_memory(library));
    std::vector<CollectiveNews> news =
        session.take(CollectiveSum{order_of(1), order_of(1).epoch, 0, 2, text, contributions[0]});
    const long sums = dies ? 2 : 1;
    const auto poll = [&] {
      for (CollectiveNews& one : session.poll()) news.push_back(std::move(one));
    };
    ASSERT_TRUE(comes_true([&] {
      poll();
      return folder.count("sum") == sums;
    }));
    if (dies) ::kill(child, SIGKILL);
    if (dies) ::waitpid(child, nullptr, 0);
    planted::remove("sum_hangs");
    ASSERT_TRUE(comes_true([&] {
      poll();
      return !news.empty();
    }));
    if (!dies) ::waitpid(child, nullptr, 0);
    EXPECT_EQ(std::holds_alternative<CollectiveFailed>(news[0]), dies);
  }
}

}  // namespace
}  // namespace shoal::nccl_session_test
