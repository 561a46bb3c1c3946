// What a router remembers of who joins and who fetches a state: no more than of those who are there.
// The rest of what it remembers is tested with the router itself.
#include <gtest/gtest.h>

#include <map>

#include "actors/router/router.h"

namespace shoal {
namespace {

TEST(RouteHints, S6NothingStaysOfProcessesThatHaveLeft) {
  RouteHints hints;
  for (std::uint64_t life = 1; life <= 100; ++life) {  // a worker that is killed, joins and fetches its state again
    hints.joins(1000 + life, LinkId{life});
    hints.joins(1000 + life, LinkId{life});
    hints.fetches(Incarnation{life}, ProcessIncarnation{life});
    hints.link_ended(LinkId{life - 1});
    hints.keep_those([&](ProcessIncarnation process) { return process == ProcessIncarnation{life}; });
  }
  EXPECT_EQ(hints.joining, (std::map<std::uint64_t, LinkId>{{1100, LinkId{100}}}));
  EXPECT_EQ(hints.fetching, (std::map<Incarnation, ProcessIncarnation>{{Incarnation{100}, ProcessIncarnation{100}}}));
}

}  // namespace
}  // namespace shoal
