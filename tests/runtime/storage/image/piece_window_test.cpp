// Which pieces are asked for, and when one counts as lost.
#include "runtime/storage/image/piece_window.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/bounds/knobs.h"

namespace shoal::piece_window_test {
namespace {

using namespace std::chrono_literals;

Instant start() { return Instant{} + 1h; }

std::vector<std::uint64_t> all_due(PieceWindow& window, Instant now) {
  std::vector<std::uint64_t> offsets;
  while (const auto offset = window.due(now)) offsets.push_back(*offset);
  return offsets;
}

using Offsets = std::vector<std::uint64_t>;

TEST(PieceWindow, AsksForSoManyPiecesAtATimeUntilAllAreThere) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 2);
  PieceWindow window(10, 45, start());
  EXPECT_TRUE(window.takes(0, start())) << "the first one has come, and is not taken yet";
  EXPECT_EQ(all_due(window, start()), Offsets{10});
  window.took(10, start());
  EXPECT_EQ(all_due(window, start()), Offsets{20});
  EXPECT_TRUE(all_due(window, start()).empty());
  for (const auto& [held, due] : {std::pair<std::uint64_t, Offsets>{20, {30}}, {30, {40}}, {40, {}}}) {
    EXPECT_TRUE(window.takes(held - 10, start()));
    window.took(10, start());
    EXPECT_EQ(window.held(), held);
    EXPECT_EQ(all_due(window, start()), due);
  }
  EXPECT_FALSE(window.is_whole());
  window.took(5, start());
  EXPECT_TRUE(window.is_whole());
  EXPECT_FALSE(window.takes(45, start()));
  EXPECT_TRUE(all_due(window, start() + 1h).empty());
}

TEST(PieceWindow, AsksAgainForWhatDoesNotComeAndWaitsLongerEachTime) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 2);
  PieceWindow window(10, 100, start());
  window.took(10, start());
  EXPECT_EQ(all_due(window, start()), (Offsets{10, 20}));
  EXPECT_TRUE(all_due(window, start() + PieceWindow::kLost - 1ms).empty());
  EXPECT_EQ(all_due(window, start() + PieceWindow::kLost), (Offsets{10, 20}));
  EXPECT_TRUE(all_due(window, start() + 3 * PieceWindow::kLost - 1ms).empty()) << "twice as long";
  EXPECT_EQ(all_due(window, start() + 3 * PieceWindow::kLost), (Offsets{10, 20}));
}

// Those before it were lost with a link; what had been sent after them still comes, one after the other.
TEST(PieceWindow, APieceBeforeItsTurnTellsOnceThatThoseBeforeItWereLost) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 4);
  PieceWindow window(10, 100, start());
  window.took(10, start());
  EXPECT_EQ(all_due(window, start()), (Offsets{10, 20, 30, 40}));
  EXPECT_FALSE(window.takes(30, start() + 1s));
  EXPECT_EQ(all_due(window, start() + 1s), (Offsets{10, 20, 30, 40})) << "at once";
  EXPECT_FALSE(window.takes(40, start() + 2s));
  EXPECT_FALSE(window.takes(0, start() + 2s)) << "a second time";
  EXPECT_TRUE(all_due(window, start() + 2s).empty()) << "of the same loss";
  EXPECT_FALSE(window.takes(20, start() + 3s));
  EXPECT_FALSE(all_due(window, start() + 3s).empty()) << "what was sent again was lost, too";
  EXPECT_TRUE(window.takes(10, start() + 4s));
  window.took(10, start() + 4s);
  EXPECT_EQ(all_due(window, start() + 4s), Offsets{50});
  EXPECT_FALSE(window.takes(50, start() + 5s));
  EXPECT_EQ(all_due(window, start() + 5s), (Offsets{20, 30, 40, 50})) << "another loss";
}

TEST(PieceWindow, KnowsForHowLongNothingCameHoweverOftenItAsked) {
  PieceWindow window(10, 100, start());
  window.took(10, start());
  for (auto now = start(); now < start() + 5min; now += 1s) (void)all_due(window, now);
  EXPECT_EQ(window.silence(start() + 5min), 5min);
  window.took(10, start() + 5min);
  (void)all_due(window, start() + 5min);
  EXPECT_FALSE(all_due(window, start() + 5min + PieceWindow::kLost).empty()) << "as patient as at first";
}

TEST(PieceWindow, APieceThatIsSlowIsNotLost) {
  Knobs knobs;
  knobs.set("storage.pieces_asked_for", 2);
  PieceWindow window(10, 100, start());
  window.took(10, start());
  (void)all_due(window, start());
  for (auto now = start(); now < start() + 10min; now += 1s) {
    window.arriving(now);
    EXPECT_TRUE(all_due(window, now).empty());
  }
}

}  // namespace
}  // namespace shoal::piece_window_test
