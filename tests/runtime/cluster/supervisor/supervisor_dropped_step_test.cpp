// Tests ends of a run whose step in progress cannot be made or recorded: what is committed is saved (P-35a). Where two
// sites are cut apart, a run that is not stopped goes on from there in one of them (P-29c).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/rounds_every.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_dropped_step_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

// Two steps are committed and not saved; storage is there.
struct TwoSteps {
  explicit TwoSteps(SupervisorConfig config = two_by_two()) : bench(std::move(config)) {
    bench.join(9, ProcessRole::kStorage);
    bench.train();
    bench.step();
    bench.step();
  }
  void lose_text() { bench.hear(RunEvent{RunEventKind::kDataUnreadable, "data_loader", "shard 2 is gone", 2}); }
  void stop() { bench.perform(bench.core.stop("SIGTERM", 75, bench.now)); }
  // Asks whether those that hold the state after that many steps were asked to save it.
  [[nodiscard]] bool is_asked_for(std::uint64_t steps) const {
    const auto orders = bench.all<SaveState>();
    return orders.size() == 2 && orders[0].step == steps && orders[1].step == steps;
  }
  [[nodiscard]] RunEvent last_event() const { return bench.all<RunEvent>().back(); }

  SupervisorBench bench;
};

struct AStoppedRun : testing::Test, TwoSteps {};

TEST_F(AStoppedRun, WithoutItsTextSavesWhatIsCommitted) {
  for (const bool is_stopped_first : {false, true}) {
    TwoSteps run;
    if (is_stopped_first) run.stop();
    run.lose_text();
    if (!is_stopped_first) run.stop();
    run.bench.later(100ms);
    run.bench.beat(3);
    EXPECT_TRUE(run.is_asked_for(2));
    EXPECT_THAT(run.bench.core.explain_waiting(run.bench.now), HasSubstr("saving the last checkpoint"));
    run.bench.step();
    EXPECT_EQ(run.bench.core.view().committed_steps(), 2U) << "nothing of the dropped step counts";
    run.bench.saved(2);
    EXPECT_EQ(run.last_event().kind, RunEventKind::kStopped);
    EXPECT_EQ(run.last_event().step, 2U);
    EXPECT_EQ(run.bench.exit_status(), 75);
    ASSERT_EQ(run.bench.told.size(), 1U);
    EXPECT_THAT(run.bench.told[0], HasSubstr("shard 2 is gone"));
  }
}

TEST_F(AStoppedRun, WhoseTextIsReadAgainMakesItsStep) {  // the control
  lose_text();
  bench.hear(RunEvent{RunEventKind::kDataReadAgain, "data_loader", "the text is read again", 2});
  stop();
  bench.beat(3);
  EXPECT_TRUE(bench.all<SaveState>().empty());
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty());
}

// The control: the next one cannot read either.
TEST_F(AStoppedRun, WhoseNextDataLoaderReadsMakesItsStep) {
  for (const bool is_read : {true, false}) {
    TwoSteps run;
    run.lose_text();
    run.bench.perform(run.bench.core.data_loader_ended("no answer", run.bench.now));
    run.stop();
    if (!is_read) run.lose_text();
    run.bench.beat(3);
    EXPECT_EQ(run.bench.all<SaveState>().empty(), is_read);
    run.bench.step();
    EXPECT_EQ(run.bench.core.view().committed_steps(), is_read ? 3U : 2U);
  }
}

TEST_F(AStoppedRun, WithoutItsTextThatIsSavedAlreadyEndsAtOnce) {
  bench.saved(2);
  lose_text();
  stop();
  EXPECT_EQ(last_event().kind, RunEventKind::kStopped);
  EXPECT_EQ(bench.exit_status(), 75);
}

struct AJournalThatRefuses : testing::Test, TwoSteps {};

TEST_F(AJournalThatRefuses, HasWhatIsCommittedSavedFirst) {
  bench.is_disk_full = true;
  bench.step();
  EXPECT_EQ(bench.core.phase(), SupervisorCore::Phase::kTraining);
  bench.beat(3);
  EXPECT_TRUE(is_asked_for(2));
  bench.step();
  bench.saved(2);
  EXPECT_EQ(bench.core.view().committed_steps(), 2U);
  EXPECT_EQ(last_event().kind, RunEventKind::kFailed);
  EXPECT_EQ(last_event().reason, "disk full; resume with: shoal train --resume runs/x");
  EXPECT_EQ(bench.exit_status(), 3);
}

TEST_F(AJournalThatRefuses, AndADiskThatDoesEndTheRunWithBothReasons) {
  bench.is_disk_full = true;
  bench.step();
  bench.beat(3);
  bench.hear(CheckpointFailed{{}, 2, "no space for its bytes"});
  EXPECT_THAT(last_event().reason, HasSubstr("disk full"));
  EXPECT_THAT(last_event().reason, HasSubstr("no space for its bytes"));
  EXPECT_EQ(bench.exit_status(), 3);
}

TEST_F(AJournalThatRefuses, AgainEndsTheRunAtOnce) {
  bench.is_disk_full = true;
  bench.step();
  bench.perform(bench.core.journal_failed("disk full", 3, bench.now));
  EXPECT_EQ(bench.exit_status(), 3);
}

// A round is due after so many steps.
[[nodiscard]] SupervisorConfig with_rounds(std::uint64_t period) {
  SupervisorConfig config = two_by_two();
  config.rounds = rounds_every(period);
  return config;
}

// Members at the boundary of a round would not answer, and the group would vote for it again.
TEST(AJournalThatRefusesARound, EndsTheRunAtOnce) {
  TwoSteps run(with_rounds(2));
  run.bench.is_disk_full = true;
  for (int vote_count = 0; vote_count < 2; ++vote_count) {
    Prepared vote = run.bench.vote_of(0);
    vote.order.round = {0, 1};
    vote.manifests.clear();
    vote.shares = {{run.bench.core.view().replicas_of(StageId{0})[0].incarnation, 20}};
    run.bench.hear(vote);
    EXPECT_EQ(run.bench.core.phase(), SupervisorCore::Phase::kEnding);
  }
  run.bench.beat(3);
  EXPECT_TRUE(run.bench.all<SaveState>().empty());
  EXPECT_TRUE(run.bench.told.empty()) << "nothing more is saved";
  EXPECT_EQ(run.last_event().reason, "disk full; resume with: shoal train --resume runs/x");
  EXPECT_EQ(run.bench.exit_status(), 3);
}

TEST(AJournalThatRefusesARound, HasWhatIsCommittedSavedBetweenTwoRounds) {  // the control
  TwoSteps run(with_rounds(3));
  run.bench.is_disk_full = true;
  run.bench.step();
  run.bench.beat(3);
  EXPECT_TRUE(run.is_asked_for(2));
}

using Workers = std::vector<ProcessIncarnation>;

// Two steps are committed and not saved. Two sites do not reach each other, and each has all replicas of one stage
// (P-29c).
struct Divided : testing::Test {
  Divided() {
    bench.join(9, ProcessRole::kStorage);
    bench.train();
    bench.step();
    bench.step();
    for (const std::uint32_t stage : {0U, 1U}) {
      sites[stage] = {bench.process_of(stage, 0), bench.process_of(stage, 1)};
    }
  }

  // Everybody lives, and says whom it does not reach.
  void live(int seconds) {
    for (int second = 0; second < seconds; ++second) {
      for (const ProcessIncarnation here : sites[0]) {
        for (const ProcessIncarnation there : sites[1]) bench.hear(PeerUnreachable{here, there, 3000});
      }
      bench.beat(1);
    }
  }
  // The processes that had to go are started again by their keepers.
  void come_back() {
    for (std::uint32_t site : {0U, 1U}) {
      for (ProcessIncarnation& process : sites[site]) {
        if (serves(process)) continue;
        const auto before = bench.all<Welcome>().size();
        bench.join(20 + 2 * site);
        ASSERT_GT(bench.all<Welcome>().size(), before);
        process = bench.all<Welcome>().back().process;
      }
    }
  }
  [[nodiscard]] bool serves(ProcessIncarnation process) const {
    for (const std::uint32_t stage : {0U, 1U}) {
      for (const ReplicaMember& member : bench.core.view().replicas_of(StageId{stage})) {
        if (member.process == process) return true;
      }
    }
    return false;
  }
  // Workers that were told to start a stage, in order.
  [[nodiscard]] Workers started() const {
    Workers found;
    for (const Letter& letter : bench.sent) {
      if (std::holds_alternative<SpawnStage>(letter.body)) found.push_back(letter.to.process);
    }
    return found;
  }

  SupervisorBench bench;
  std::map<std::uint32_t, Workers> sites;
};

TEST_F(Divided, SavesWhatIsCommittedAndStartsAgainInOneSite) {
  live(20);
  come_back();
  live(35);
  const auto before = static_cast<std::ptrdiff_t>(started().size());
  EXPECT_THAT(bench.looks, IsEmpty()) << "a link may come back within a minute";
  EXPECT_THAT(bench.all<SaveState>(), IsEmpty());
  live(30);
  const auto saves = bench.all<SaveState>();
  ASSERT_EQ(saves.size(), 2U);
  for (const SaveState& save : saves) EXPECT_EQ(save.step, 2U);
  ASSERT_EQ(bench.looks.size(), 1U);
  live(60);
  const Workers all = started();
  const std::set<ProcessIncarnation> asked(all.begin() + before, all.end());
  EXPECT_EQ(asked.size(), 2U);
  for (const std::uint32_t site : {0U, 1U}) {
    const auto here = [&](ProcessIncarnation process) { return std::ranges::count(sites[site], process) > 0; };
    const auto count = std::ranges::count_if(asked, here);
    EXPECT_TRUE(count == 0 || count == 2) << "both of one site";
  }
}

// The controls: too few are left for every stage; the run is stopped; the link comes back in time.
TEST_F(Divided, StandsWhereNoSiteCouldServeEveryStage) {
  live(200);
  EXPECT_THAT(bench.looks, IsEmpty());
}

TEST_F(Divided, GoesOnWhereTheyReachEachOtherAgain) {
  live(20);
  come_back();
  live(30);
  bench.beat(200);
  EXPECT_THAT(bench.looks, IsEmpty());
}

TEST_F(Divided, ThatIsStoppedEndsBehindWhatIsCommitted) {
  live(20);
  come_back();
  bench.perform(bench.core.stop("SIGTERM", 75, bench.now));
  live(100);
  EXPECT_THAT(bench.looks, IsEmpty());
  EXPECT_FALSE(bench.all<SaveState>().empty());
}

}  // namespace
}  // namespace shoal::supervisor_dropped_step_test
