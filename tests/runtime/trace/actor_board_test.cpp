// The board of a process: what actors and the router write is what is listed; a name that comes again was restarted.
#include "runtime/trace/actor_board.h"

#include <gtest/gtest.h>

#include <thread>

namespace shoal::actor_board_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = Instant{} + 1h;

TEST(ActorBoard, ListsWhatWasHeard) {
  ActorBoard board;
  const auto stage = board.enter("stage/1/0", 17);
  const auto router = board.enter("router");
  stage->heard("Forward", kNow - 250ms);
  stage->waiting(3);
  const auto lines = board.list(kNow);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], (ActorHealth{"router", 0, "running", 0, 0, "", 0}));
  EXPECT_EQ(lines[1], (ActorHealth{"stage/1/0", 17, "running", 3, 0, "Forward", 250}));
}

TEST(ActorBoard, WhoEndedIsDownAndWhoComesAgainWasRestarted) {
  ActorBoard board;
  auto tracer = board.enter("tracer");
  tracer.reset();
  EXPECT_EQ(board.list(kNow)[0].state, "down");
  tracer = board.enter("tracer");
  const auto line = board.list(kNow)[0];
  EXPECT_EQ(line.state, "running");
  EXPECT_EQ(line.restarts, 1U);
  board.forget("tracer");
  EXPECT_TRUE(board.list(kNow).empty());
}

TEST(ActorBoard, ShowsWhatIsNotedBesideTheActorsUntilItIsForgotten) {
  ActorBoard board;
  board.note("keeper", "silent");
  board.note("keeper", "silent");
  EXPECT_EQ(board.list(kNow), (std::vector<ActorHealth>{{"keeper", 0, "silent", 0, 0, "", 0}}));
  board.forget("keeper");
  EXPECT_TRUE(board.list(kNow).empty());
}

TEST(ActorBoard, WithoutABoardThePulseIsNobodys) {
  const auto pulse = enter(nullptr, "stage/0/0", 1);
  ASSERT_TRUE(pulse);
  pulse->heard("Forward", kNow);
}

TEST(ActorBoard, IsWrittenAndReadByManyThreads) {
  ActorBoard board;
  const auto pulse = board.enter("router");
  std::thread writer([&] {
    for (std::uint32_t count = 1; count <= 20000; ++count) {
      pulse->heard(count % 2 == 0 ? "Forward" : "Backward", kNow);
      pulse->waiting(count);
    }
  });
  for (int i = 0; i < 200; ++i) {
    const auto line = board.list(kNow).at(0);
    EXPECT_TRUE(line.last_message.empty() || line.last_message == "Forward" || line.last_message == "Backward");
  }
  writer.join();
  EXPECT_EQ(board.list(kNow)[0].mailbox, 20000U);
}

}  // namespace
}  // namespace shoal::actor_board_test
