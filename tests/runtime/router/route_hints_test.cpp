// Tests what a router remembers of joins and of fetched states: no more than of those who are there.
#include "runtime/router/route_hints.h"

#include <gtest/gtest.h>

namespace shoal::route_hints_test {
namespace {

constexpr LinkId kLink{3};

Join join_of(std::uint64_t nonce) {
  Join join;
  join.nonce = nonce;
  return join;
}

FetchState fetch_of(Incarnation replica) {
  FetchState fetch;
  fetch.replica = replica;
  return fetch;
}

LinkIdentity node(std::uint64_t process) { return {ProcessRole::kNode, ProcessIncarnation{process}, "node"}; }

TEST(RouteHints, SayWhereAReplicaFetchesItsStateUntilTheJournalSaysIt) {
  RouteHints hints;
  hints.read(kLink, node(5), fetch_of(Incarnation{12}));
  EXPECT_EQ(hints.process_of(Incarnation{12}), ProcessIncarnation{5});
  EXPECT_FALSE(hints.process_of(Incarnation{13}));
  hints.added(Incarnation{12});
  EXPECT_FALSE(hints.process_of(Incarnation{12}));
}

TEST(RouteHints, SayWhereAReplicaIsThatSavesItsState) {
  RouteHints hints;
  SaveShard shard;
  shard.replica = Incarnation{12};
  hints.read(kLink, node(5), shard);
  EXPECT_EQ(hints.process_of(Incarnation{12}), ProcessIncarnation{5}) << "storage asks for more of it";
}

TEST(RouteHints, S7NobodyElseIsAskedForTheShardOfAReplicaThatSaves) {
  RouteHints hints;
  SaveShard shard;
  shard.replica = Incarnation{12};
  for (const std::uint64_t process : {5U, 6U}) hints.read(kLink, node(process), shard);
  EXPECT_EQ(hints.process_of(Incarnation{12}), ProcessIncarnation{5});
  hints.keep_those([](ProcessIncarnation process) { return process == ProcessIncarnation{6}; });
  hints.read(kLink, node(6), shard);
  EXPECT_EQ(hints.process_of(Incarnation{12}), ProcessIncarnation{6});
}

TEST(RouteHints, SayWhichLinkTheNewestJoinCameBy) {
  RouteHints hints;
  hints.read(LinkId{1}, node(5), join_of(77));
  hints.read(LinkId{2}, node(5), join_of(77));
  EXPECT_EQ(hints.link_of_join(77), LinkId{2});
  hints.link_ended(LinkId{1});
  EXPECT_EQ(hints.link_of_join(77), LinkId{2}) << "that was the older one";
  hints.link_ended(LinkId{2});
  EXPECT_FALSE(hints.link_of_join(77));
}

// It would be a route to nowhere.
TEST(RouteHints, AProcessWithoutANumberFetchesNothing) {
  RouteHints hints;
  hints.read(kLink, {ProcessRole::kNode, std::nullopt, "newcomer"}, fetch_of(Incarnation{12}));
  EXPECT_EQ(hints.size(), 0U);
}

TEST(RouteHints, S6NothingStaysOfProcessesThatHaveLeft) {
  RouteHints hints;
  for (std::uint64_t life = 1; life <= 100; ++life) {  // a worker that is killed, joins and fetches its state again
    hints.read(LinkId{life}, node(life), join_of(1000 + life));
    hints.read(LinkId{life}, node(life), join_of(1000 + life));
    hints.read(LinkId{life}, node(life), fetch_of(Incarnation{life}));
    hints.link_ended(LinkId{life - 1});
    hints.keep_those([&](ProcessIncarnation process) { return process == ProcessIncarnation{life}; });
  }
  EXPECT_EQ(hints.size(), 2U);
  EXPECT_EQ(hints.link_of_join(1100), LinkId{100});
  EXPECT_EQ(hints.process_of(Incarnation{100}), ProcessIncarnation{100});
}

}  // namespace
}  // namespace shoal::route_hints_test
