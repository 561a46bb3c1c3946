// What the tables of a summary say.
#include "runtime/trace/report/summary/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "runtime/base/compose.h"
#include "runtime/trace/report/endings.h"
#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::summary_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Summary, CountsWorkLettersAndParts) {
  TraceBench bench({3, 4});
  bench.life("node3").dropped = 5;
  const std::string text = summary_text(bench.trace());
  for (const char* const part : {"3 steps committed", "stage/1/0 in node3: loss", "Forward", "reduce: to the last vote",
                                 "the spawner's", "in order", "share of its time"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Summary, SaysThatItKnowsOfNoArrivalWithoutATrace) {
  TraceBench bench({3, 4});
  EXPECT_THAT(summary_text(bench.trace()), Not(HasSubstr("never arrived)"))) << "all arrived";
  bench.drop("node3", of_kind(TraceKind::kReceive));
  EXPECT_THAT(summary_text(bench.trace()),
              HasSubstr("  (letters to processes whose traces are not here count as never arrived)\n"));
}

void happens(TraceBench& bench, TraceKind kind, const std::string& detail, Branch branch = {}) {
  TraceEvent event;
  event.kind = kind;
  event.actor = bench.name_of("spawner", "supervisor");
  event.cause.branch = branch;
  event.time_ns = bench.now_ns();
  event.set_detail(detail);
  bench.add("spawner", event);
}

// A spawner that is killed while the run goes back to a checkpoint leaves it to the next one.
TEST(Summary, CountsARollBackThatWasBegunTwiceOnce) {
  TraceBench bench;
  for (const std::uint32_t branch : {0U, 0U, 1U}) {
    happens(bench, TraceKind::kRollBack, "rolled_back run", Branch{branch});
  }
  const std::string text = summary_text(bench.trace());
  EXPECT_THAT(text, HasSubstr("  roll-back 2\n"));
  EXPECT_THAT(text, HasSubstr("roll-back, rolled_back run, begun again\n"));
}

TEST(Summary, DoesNotLoseWhatMattersAmongLinksThatComeUp) {
  TraceBench bench;
  for (int i = 0; i < 50; ++i) happens(bench, TraceKind::kLink, i % 2 == 0 ? "up" : "lane up");
  happens(bench, TraceKind::kLink, "lost: it was closed");
  happens(bench, TraceKind::kFault, "process_lost node2");
  const std::string text = summary_text(bench.trace());
  EXPECT_THAT(text, HasSubstr("  fault 1, link 1\n"));
  EXPECT_THAT(text, HasSubstr("link, lost: it was closed\n"));
  EXPECT_THAT(text, HasSubstr("fault, process_lost node2\n"));
  EXPECT_THAT(text, Not(HasSubstr("lane up")));
}

TEST(Summary, CountsWhatHappenedByKind) {
  TraceBench bench;
  const std::string before = summary_text(bench.trace());
  EXPECT_THAT(before, HasSubstr("DROPS\n  nothing\n"));
  for (int i = 0; i < 3; ++i) happens(bench, TraceKind::kDrop, "Forward");
  for (int i = 0; i < 2; ++i) happens(bench, TraceKind::kRestart, "stage/0/0");
  happens(bench, TraceKind::kLink, "lost: it was reset");
  happens(bench, TraceKind::kNote, "joined");
  const std::string text = summary_text(bench.trace());
  EXPECT_THAT(text, HasSubstr("DROPS\n  drop 3, link 1, restart 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("drop, Forward"))) << "they are counted alone";
}

TEST(Summary, TakesALetterThatWasDroppedForArrived) {
  TraceBench bench({1, 2});
  bench.event("node3", of_kind(TraceKind::kReceive)).kind = TraceKind::kDrop;
  EXPECT_THAT(summary_text(bench.trace()), Not(HasSubstr("never arrived)")));
  bench.drop("node3", of_kind(TraceKind::kDrop));
  EXPECT_THAT(summary_text(bench.trace()), HasSubstr("never arrived)")) << "the control";
}

// The share is that of the time between its first event and its last.
TEST(Summary, TellsWhatShareOfItsTimeAnActorWorked) {
  TraceBench bench({1, 1});
  TraceEvent idle = bench.event("node3", of_kind(TraceKind::kStart));
  idle.kind = TraceKind::kNote;
  for (const std::int64_t time_ns : {1'000'000'000, 0}) {
    idle.time_ns = time_ns;
    bench.add("node3", idle);
  }
  EXPECT_THAT(summary_text(bench.trace()),
              HasSubstr("loss           1   0.001 s   1.000 ms   1.000 ms               0.1 %"));
}

TEST(Summary, TellsTheFirstFortyOfWhatHappened) {
  TraceBench bench;
  for (int i = 0; i < 40; ++i) happens(bench, TraceKind::kFault, compose("number ", i));
  EXPECT_THAT(summary_text(bench.trace()), Not(HasSubstr(" more\n")));
  for (int i = 40; i < 53; ++i) happens(bench, TraceKind::kFault, compose("number ", i));
  const std::string text = summary_text(bench.trace());
  EXPECT_THAT(text, HasSubstr("  fault 53\n"));
  EXPECT_THAT(text, HasSubstr("fault, number 39\n  ... and 13 more\n"));
  EXPECT_THAT(text, Not(HasSubstr("number 40")));
}

TEST(Summary, SaysWhichLevelTracesSteps) {
  EXPECT_THAT(summary_text(TraceBench({.level = TraceLevel::kLifecycle}).trace()),
              HasSubstr("STEPS\n  (steps are traced with trace.level=all)\n"));
  EXPECT_THAT(summary_text(TraceBench({.steps = 1}).trace()), HasSubstr("  (no two whole steps in a row)\n"));
}

// node2 is asked to leave and closes its links; what a link lost before is told.
TEST(Summary, CallsALeaveByItsName) {
  TraceBench bench;
  happens(bench, TraceKind::kLink, "lost: it was reset");
  bench.life("spawner").events.back().time_ns = 1;
  const std::string before = summary_text(bench.trace());
  EXPECT_THAT(before, Not(HasSubstr("left, as asked")));
  happens(bench, TraceKind::kNote, "left node2");
  happens(bench, TraceKind::kLink, "lost: the peer closed it");
  const std::string text = summary_text(bench.trace());
  EXPECT_THAT(text, HasSubstr("left, as asked"));
  EXPECT_THAT(text, Not(HasSubstr("the peer closed it")));
}

// What a process that was killed leaves looks as if it had been closed.
TEST(Summary, TellsOfALinkThatWasClosedByAProcessThatWasKilled) {
  TraceBench bench({12, 4});
  bench.cut("node2", bench.now_ns() / 4);
  happens(bench, TraceKind::kLink, "lost: the peer closed it");
  EXPECT_THAT(summary_text(bench.trace()), HasSubstr("DROPS\n  nothing\n")) << "the control: the run ends";
  bench.life("spawner").events.back().time_ns = bench.life("node2").events.back().time_ns;
  EXPECT_THAT(summary_text(bench.trace()), HasSubstr("link, lost: the peer closed it\n"));
}

// The last events of a process on another machine may be lost with its link.
TEST(Summary, CallsALeaveByItsNameThoughTheEndOfItsTraceIsLost) {
  TraceBench bench;
  bench.cut("node2", bench.now_ns());
  EXPECT_THAT(summary_text(bench.trace()), HasSubstr("cut off\n"));
  EXPECT_EQ(std::ranges::count(life_ends(bench.trace()), LifeEnd::kCutOff), 1);
  happens(bench, TraceKind::kNote, "left node2");
  EXPECT_THAT(summary_text(bench.trace()), HasSubstr("left, as asked"));
  EXPECT_EQ(std::ranges::count(life_ends(bench.trace()), LifeEnd::kCutOff), 0);
}

TEST(Summary, TakesWhoeverStillSpokeWhenTheRunEndedForOrderly) {
  TraceBench bench;
  bench.cut("node2", bench.now_ns());
  bench.cut("node1", bench.now_ns() / 2);
  EXPECT_EQ(std::ranges::count(life_ends(bench.trace()), LifeEnd::kCutOff), 2);
  happens(bench, TraceKind::kView, "FinishRun");
  const RunTrace trace = bench.trace();
  const auto ends = life_ends(trace);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const bool is_killed = trace.lives[i].name == "node1" && trace.lives[i].end_ns + kPartingNs < bench.now_ns();
    EXPECT_EQ(ends[i] == LifeEnd::kCutOff, is_killed) << trace.lives[i].name;
  }
}

// Files are read one after another.
TEST(Summary, KnowsTheEndsOfLivesFromEventsInAnyOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    TraceBench bench;
    for (const char* const name : {"node1", "node2", "node3"}) {
      bench.cut(name, 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bench.now_ns())));
    }
    for (int i = 0; i < 3; ++i) {
      happens(bench, TraceKind::kNote, compose("left node", 1 + random() % 4));
      bench.life("spawner").events.back().time_ns -= static_cast<std::int64_t>(random() % 600'000'000);
      happens(bench, TraceKind::kView, "FinishRun");
      bench.life("spawner").events.back().time_ns -= static_cast<std::int64_t>(random() % 600'000'000);
    }
    RunTrace trace = bench.trace();
    const auto expected = life_ends(trace);
    std::ranges::shuffle(trace.events, random);
    EXPECT_EQ(life_ends(trace), expected);
  }
}

// Nobody knows what came after the last event that had room.
TEST(Summary, DoesNotCallAProcessDeadWhoseTraceIsFull) {
  TraceBench bench;
  bench.cut("node2", bench.now_ns() / 2);
  EXPECT_EQ(std::ranges::count(life_ends(bench.trace()), LifeEnd::kCutOff), 1);
  bench.life("node2").lacks_end = true;
  EXPECT_EQ(std::ranges::count(life_ends(bench.trace()), LifeEnd::kCutOff), 0);
  EXPECT_EQ(std::ranges::count(life_ends(bench.trace()), LifeEnd::kNotTold), 1);
  EXPECT_THAT(summary_text(bench.trace()), HasSubstr("not known"));
  happens(bench, TraceKind::kNote, "left node2");
  bench.life("spawner").events.back().time_ns += 3'600'000'000'000;
  EXPECT_EQ(std::ranges::count(life_ends(bench.trace()), LifeEnd::kNotTold), 0) << "somebody said so, an hour later";
  bench.life("node3").lacks_end = true;
  EXPECT_EQ(std::ranges::count(life_ends(bench.trace()), LifeEnd::kNotTold), 0) << "its end had room";
}

}  // namespace
}  // namespace shoal::summary_test
