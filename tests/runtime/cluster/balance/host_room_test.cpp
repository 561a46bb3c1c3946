// Memory of the machines beneath the workers is counted once for each machine, however many nodes are on it.
#include "runtime/cluster/balance/host_room.h"

#include <gtest/gtest.h>

namespace shoal::host_room_test {
namespace {

Worker worker(std::uint64_t process, const std::string& node, std::uint64_t host_bytes, bool is_gpu = true) {
  Worker one{ProcessIncarnation{process}, node};
  one.offer.is_gpu = is_gpu;
  one.offer.host_bytes = host_bytes;
  return one;
}

TEST(HostRoom, IsSharedByTheWorkersOfANode) {
  HostRoom room({worker(1, "a", 10), worker(2, "a", 10), worker(3, "b", 10)});
  room.take(0, 7);
  EXPECT_EQ(room.left(1), 3U);
  EXPECT_EQ(room.left(2), 10U) << "another machine";
  EXPECT_TRUE(room.holds(1, 3));
  EXPECT_FALSE(room.holds(1, 4));
  EXPECT_TRUE(room.holds(0, 9, 7)) << "its own goes";
  EXPECT_FALSE(room.holds(0, 11, 7));
  room.give_back(0, 7);
  EXPECT_EQ(room.left(1), 10U);
  EXPECT_TRUE(room.share(0, 1));
  EXPECT_FALSE(room.share(1, 2));
}

Worker on_machine(std::uint64_t machine, Worker one) {
  one.offer.machine = machine;
  return one;
}

TEST(HostRoom, IsSharedByTheNodesOfAMachine) {
  HostRoom room({on_machine(7, worker(1, "a", 10)), on_machine(7, worker(2, "b", 10)),
                 on_machine(8, worker(3, "c", 10)), worker(4, "d", 10), worker(5, "e", 10)});
  room.take(0, 7);
  EXPECT_EQ(room.left(1), 3U);
  EXPECT_TRUE(room.share(0, 1));
  EXPECT_EQ(room.left(2), 10U) << "another machine";
  EXPECT_FALSE(room.share(0, 2));
  room.take(3, 7);
  EXPECT_EQ(room.left(4), 10U) << "an identity that nobody knows is nobody else's";
  EXPECT_FALSE(room.share(3, 4));
  EXPECT_EQ(room.takers({0, 1, 2, 3, 4}, {3, 99}), 4U) << "one of the first two, and each of the others";
}

TEST(HostRoom, IsTheLeastThatAWorkerOfTheNodeStated) {
  const HostRoom room({worker(1, "a", 10), worker(2, "a", 8), worker(3, "b", 0), worker(4, "b", 5)});
  EXPECT_EQ(room.left(0), 8U);
  EXPECT_EQ(room.left(2), 5U) << "who states nothing does not decide";
}

TEST(HostRoom, HasNoBoundWhereNobodyStatedOne) {
  HostRoom room({worker(1, "a", 0)});
  const std::uint64_t all = room.left(0);
  room.take(0, 100);
  EXPECT_EQ(room.left(0), all);
  EXPECT_TRUE(room.holds(0, all));
  room.give_back(0, 100);
  EXPECT_EQ(room.left(0), all);
}

TEST(HostRoom, CountsTheWorkersThatCouldTakeOneEach) {
  const HostRoom room({worker(1, "a", 10), worker(2, "a", 10), worker(3, "a", 10), worker(4, "b", 10)});
  EXPECT_EQ(room.takers({0, 1, 2, 3}, {5, 99}), 3U) << "two on a, one on b";
  EXPECT_EQ(room.takers({0, 1, 2, 3}, {3, 99}), 4U) << "no more than there are";
  EXPECT_EQ(room.takers({0, 1, 2, 3}, {11, 1}), 0U);
  const HostRoom mixed({worker(1, "a", 10), worker(2, "a", 10, false), worker(3, "a", 10, false)});
  EXPECT_EQ(mixed.takers({0, 1, 2}, {8, 2}), 2U) << "those first that take less";
  EXPECT_EQ(mixed.takers({0, 1, 2}, {2, 8}), 2U);
}

}  // namespace
}  // namespace shoal::host_room_test
