// A good trace passes; every way in which a run can break an invariant is found, and named.
#include "runtime/trace/report/check/trace_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "runtime/base/compose.h"
#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::trace_check_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

auto broken(Rule rule, const std::string& text) {
  return Contains(AllOf(Field(&Violation::rule, rule), Field(&Violation::text, HasSubstr(text))));
}

std::string all_of(const CheckReport& report) {
  std::string text;
  for (const Violation& violation : report.violations) {
    text += std::string(name_of(violation.rule)) + ": " + violation.text + "\n";
  }
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

// Every check here is made twice: with all of the run in one window, and with a window for each step and each entry.
CheckReport check(const TraceBench& bench) {
  const RunTrace trace = bench.trace();
  CheckReport report = check_trace(trace);
  const CheckReport in_windows = check_trace(trace, 1);
  EXPECT_EQ(all_of(in_windows), all_of(report));
  EXPECT_EQ(in_windows.counts, report.counts);
  EXPECT_LT(in_windows.memory.events, report.memory.events);
  return report;
}

TEST(TraceCheck, AGoodTraceHolds) {
  const CheckReport report = check(TraceBench({5, 6}));
  EXPECT_TRUE(report.is_good()) << all_of(report);
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_EQ(report.counts.commits, 5U);
  EXPECT_EQ(report.counts.contributions, 5U * 2 * 6);
  EXPECT_EQ(report.counts.accumulations_seen, 5U * 2 * 6);
  EXPECT_EQ(report.counts.accumulations_excused, 0U);
}

TEST(TraceCheck, ATraceOfCommitsAloneSaysWhatItDoesNotKnow) {
  const CheckReport report = check(TraceBench({3, 4, TraceLevel::kLifecycle}));
  EXPECT_TRUE(report.is_good()) << all_of(report);
  EXPECT_EQ(report.counts.contributions, 3U * 2 * 4);
  EXPECT_EQ(report.counts.accumulations_seen, 0U);
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("not traced at trace.level all")));
}

TEST(TraceCheck, FindsAnAccumulationThatNeverHappened) {
  TraceBench bench;
  bench.drop("node2", of_step(TraceKind::kAccumulate, 1));
  EXPECT_THAT(
      check(bench).violations,
      ElementsAre(AllOf(Field(&Violation::rule, Rule::kExactlyOnce),
                        Field(&Violation::text,
                              "step 1 of branch 0 (position 8), stage 0: stage/0/1 (replica 12) is counted with "
                              "microbatch 1, which it never accumulated"))));
}

TEST(TraceCheck, FindsAMicrobatchThatWasAccumulatedTwice) {
  TraceBench bench;
  bench.add("node3", bench.event("node3", of_step(TraceKind::kAccumulate, 2), 1));
  EXPECT_THAT(check(bench).violations,
              broken(Rule::kExactlyOnce, "stage/1/0 (replica 13) accumulated microbatch 2 twice"));
}

TEST(TraceCheck, AZeroBeginsTheStepAgain) {
  TraceBench bench;
  const TraceEvent again = bench.event("node3", of_step(TraceKind::kAccumulate, 2), 1);
  auto& events = bench.life("node3").events;
  TraceEvent zero = again;
  zero.kind = TraceKind::kStart;
  zero.set_detail("zero");
  const auto last = std::ranges::find_if(events, of_step(TraceKind::kDigest, 2));
  const TraceEvent first = bench.event("node3", of_step(TraceKind::kAccumulate, 2), 0);
  std::vector<TraceEvent> replay = {zero, first, again};
  for (TraceEvent& event : replay) event.time_ns = last->time_ns - 1;
  events.insert(last, replay.begin(), replay.end());
  EXPECT_TRUE(check(bench).is_good()) << all_of(check(bench));
}

TEST(TraceCheck, FindsAMicrobatchThatTwoMembersContribute) {
  TraceBench bench;
  bench.event("spawner", of_step(TraceKind::kManifest, 1), 0).detail[0] = 0b0111;
  bench.event("spawner", of_step(TraceKind::kManifest, 1), 0).bytes = 3;
  const CheckReport report = check(bench);
  EXPECT_THAT(report.violations, broken(Rule::kExactlyOnce,
                                        "stage 0: microbatch 1 is counted twice, by stage/0/0 (replica 11) and by "
                                        "stage/0/1 (replica 12)"));
  EXPECT_THAT(report.violations,
              broken(Rule::kExactlyOnce, "is counted with microbatch 1, which it never accumulated"));
}

TEST(TraceCheck, FindsAMicrobatchThatAManifestListsTwice) {
  TraceBench bench;
  ++bench.event("spawner", of_step(TraceKind::kManifest, 1), 0).bytes;
  EXPECT_THAT(check(bench).violations,
              broken(Rule::kExactlyOnce, "(replica 11) lists 3 microbatches, of which 2 differ"));
}

TEST(TraceCheck, FindsAMicrobatchThatNobodyContributes) {
  TraceBench bench;
  bench.event("spawner", of_step(TraceKind::kManifest, 2), 3).detail[0] = 0b0010;
  bench.event("spawner", of_step(TraceKind::kManifest, 2), 3).bytes = 1;
  const CheckReport report = check(bench);
  EXPECT_THAT(report.violations, broken(Rule::kExactlyOnce, "stage 1: microbatch 3 counted by nobody"));
  EXPECT_THAT(report.violations,
              broken(Rule::kExactlyOnce, "accumulated microbatch 3, which the commit does not count"));
}

// A run whose step 2 counts microbatch 3 nowhere.
TraceBench without_a_microbatch() {
  TraceBench bench({3, 4, TraceLevel::kLifecycle});
  for (const std::size_t manifest : {1, 3}) {
    TraceEvent& event = bench.event("spawner", of_step(TraceKind::kManifest, 2), manifest);
    event.detail[0] = 0b0010;
    event.bytes = 1;
  }
  return bench;
}

void make_quarantine(TraceEvent& entry, std::uint64_t step, std::uint32_t microbatch) {
  entry.set_detail("Quarantine");
  entry.cause.step = StepId{step};
  entry.cause.microbatch = MicrobatchId{microbatch};
  entry.subject = 0;
}

// Puts a quarantine in the place of an entry before the commits: the second sync group's.
void quarantine_before(TraceBench& bench, std::uint64_t step, std::uint32_t microbatch) {
  for (const char* const life : {"spawner", "node1", "node2", "node3", "node4"}) {
    const auto is_it = [](const TraceEvent& one) { return one.cause.position.value == 6; };
    make_quarantine(bench.event(life, is_it), step, microbatch);
  }
}

TEST(TraceCheck, AQuarantinedMicrobatchIsNotMissed) {
  TraceBench bench = without_a_microbatch();
  EXPECT_FALSE(check(bench).is_good());
  quarantine_before(bench, 2, 3);
  EXPECT_TRUE(check(bench).is_good()) << all_of(check(bench));
}

TEST(TraceCheck, AnotherQuarantineExcusesNothing) {
  TraceBench of_another_step = without_a_microbatch();
  quarantine_before(of_another_step, 1, 3);
  EXPECT_THAT(check(of_another_step).violations, broken(Rule::kExactlyOnce, "step 2"));
  TraceBench of_another_microbatch = without_a_microbatch();
  quarantine_before(of_another_microbatch, 2, 1);
  EXPECT_THAT(check(of_another_microbatch).violations, broken(Rule::kExactlyOnce, "microbatch 3 counted by nobody"));
  TraceBench after_the_commit = without_a_microbatch();
  TraceEvent late = after_the_commit.event("spawner", of_kind(TraceKind::kView));
  make_quarantine(late, 2, 3);
  after_the_commit.append(late, after_the_commit.now_ns());
  EXPECT_THAT(check(after_the_commit).violations, broken(Rule::kExactlyOnce, "microbatch 3 counted by nobody"));
}

TEST(TraceCheck, FindsTwoCommitsOfOneStep) {
  TraceBench bench;
  TraceEvent commit = bench.event("spawner", of_step(TraceKind::kCommit, 2));
  bench.append(commit, bench.now_ns());
  EXPECT_THAT(check(bench).violations,
              broken(Rule::kOneCommit, "step 2 of branch 0 is committed twice: at positions 9 and 10"));
}

TEST(TraceCheck, FindsACommitThatOneReplicaReadsDifferently) {
  TraceBench bench;
  bench.event("node4", of_step(TraceKind::kCommit, 1)).bytes = 1;
  EXPECT_THAT(check(bench).violations,
              ElementsAre(AllOf(Field(&Violation::rule, Rule::kOneCommit),
                                Field(&Violation::text, AllOf(HasSubstr("journal position 8 is two things"),
                                                              HasSubstr("stage/1/1 (replica 14) in node4"))))));
}

TEST(TraceCheck, FindsAStepThatIsCommittedOutOfOrder) {
  TraceBench bench({3, 4, TraceLevel::kLifecycle});
  for (const char* const life : {"spawner", "node1", "node2", "node3", "node4"}) {
    bench.event(life, of_step(TraceKind::kCommit, 2)).cause.step = StepId{4};
  }
  EXPECT_THAT(check(bench).violations,
              broken(Rule::kOneCommit, "step 4 of branch 0 (position 9) is committed where step 2"));
}

// As after a disk that was full: the traces lack the entries of some steps. Each may have committed one.
TEST(TraceCheck, StepsOfEntriesThatAreInNoTraceMayHaveBeenCommitted) {
  const auto with_hole = [](std::uint64_t last_step) {
    TraceBench bench({3, 4, TraceLevel::kLifecycle});
    for (const char* const life : {"spawner", "node1", "node2", "node3", "node4"}) {
      bench.drop(life, of_step(TraceKind::kCommit, 1));
      bench.event(life, of_step(TraceKind::kCommit, 2)).cause.step = StepId{last_step};
    }
    return bench;
  };
  // Of the order of steps alone: the replicas themselves read on without a hole, which is another finding.
  const auto out_of_order = [&](std::uint64_t last_step) {
    std::vector<std::string> found;
    for (const Violation& one : check(with_hole(last_step)).violations) {
      if (one.rule == Rule::kOneCommit) found.push_back(one.text);
    }
    return found;
  };
  EXPECT_THAT(check(with_hole(2)).notes, testing::Contains(HasSubstr("journal positions 8 to 8 are in no trace")));
  EXPECT_THAT(out_of_order(2), testing::IsEmpty());
  EXPECT_THAT(out_of_order(1), testing::IsEmpty());
  EXPECT_THAT(out_of_order(3), ElementsAre(HasSubstr("step 3 of branch 0 (position 9) is committed where step 1 is")));
  EXPECT_THAT(out_of_order(0),
              testing::Contains(HasSubstr("step 0 of branch 0 (position 9) is committed where step 1 is")));
}

TEST(TraceCheck, FindsReplicasThatDiffer) {
  TraceBench bench;
  bench
      .event("node2",
             [](const TraceEvent& event) { return event.kind == TraceKind::kDigest && event.cause.step.value == 1; })
      .bytes ^= 1U;
  EXPECT_THAT(check(bench).violations,
              ElementsAre(AllOf(Field(&Violation::rule, Rule::kEqualDigests),
                                Field(&Violation::text, HasSubstr("stage 0, the state after 2 steps of branch 0")))));
}

constexpr std::uint64_t kFirstAfter = 31;

struct Restart {
  std::uint32_t stages = 2;
  std::uint64_t steps = 3;
  Branch branch{};
  std::uint64_t layout = 0;
  std::uint64_t other = 0;  // is added to the digests
};

// The next term's spawner removes every member and starts two replicas of each stage, after so many steps. They load
// what two stages held then, or what one stage of the whole model holds.
void go_on_with(TraceBench& bench, const Restart& restart) {
  TraceEvent entry;
  entry.cause.branch = restart.branch;
  entry.kind = TraceKind::kView;
  entry.cause.term = Term{2};
  entry.set_detail("RemoveReplica");
  for (std::uint64_t old = 0; old < 4; ++old) {
    entry.cause.hop = static_cast<std::uint32_t>(old / 2);
    entry.subject = kFirstReplica + old;
    bench.append(entry, bench.now_ns());
  }
  entry.cause.step = StepId{restart.steps};
  entry.set_detail("AddReplica");
  for (std::uint32_t index = 0; index < 2 * restart.stages; ++index) {
    entry.cause.hop = index / 2;
    entry.cause.attempt = index % 2;
    entry.subject = kFirstAfter + index;
    entry.bytes = index + 1;
    const std::string node = compose("node", index + 1);
    TraceEvent loaded = entry;
    loaded.kind = TraceKind::kDigest;
    loaded.set_detail("loaded");
    loaded.time_ns = bench.now_ns();
    loaded.actor = bench.name_of(node, compose("stage/", index / 2, "/", index % 2));
    loaded.incarnation = Incarnation{kFirstAfter + index};
    loaded.subject = restart.layout;
    loaded.bytes = (restart.stages == 2 ? 6990 + 10 * restart.steps + index / 2 : 555) + restart.other;
    bench.add(node, loaded);
    bench.append(entry, bench.now_ns());
  }
}

TraceEvent& loaded_by(TraceBench& bench, std::uint64_t replica) {
  const std::string node = compose("node", replica - kFirstAfter + 1);
  return bench.event(node, [replica](const TraceEvent& event) {
    return event.kind == TraceKind::kDigest && event.incarnation.value == replica;
  });
}

// The same number of stages with other tensors in them, or digests that another version made.
TEST(TraceCheck, AStateOfAnotherLayoutIsNotCompared) {
  for (const std::uint64_t layout : {0U, 9U}) {
    TraceBench bench;
    go_on_with(bench, {.stages = 2, .layout = layout, .other = 1000});
    const CheckReport report = check(bench);
    EXPECT_EQ(report.is_good(), layout != 0) << all_of(report);
  }
}

TEST(TraceCheck, AStageOfAnotherCutHoldsSomethingElse) {
  TraceBench bench;
  const auto before = check(bench).counts.digests_compared;
  go_on_with(bench, {.stages = 1});
  const CheckReport report = check(bench);
  EXPECT_TRUE(report.is_good()) << all_of(report);
  EXPECT_EQ(report.counts.digests_compared, before + 1) << "the two new ones with each other";
}

TEST(TraceCheck, FindsReplicasThatDifferAfterACutHasChanged) {
  TraceBench bench;
  go_on_with(bench, {.stages = 1});
  loaded_by(bench, kFirstAfter + 1).bytes ^= 1U;
  EXPECT_THAT(check(bench).violations,
              ElementsAre(AllOf(Field(&Violation::rule, Rule::kEqualDigests),
                                Field(&Violation::text, AllOf(HasSubstr("the state after 3 steps of branch 0"),
                                                              HasSubstr("(replica 31)"), HasSubstr("(replica 32)"))))));
}

TEST(TraceCheck, ComparesReplicasOfOneCutAcrossTerms) {
  TraceBench bench;
  go_on_with(bench, {});
  EXPECT_TRUE(check(bench).is_good()) << all_of(check(bench));
  loaded_by(bench, kFirstAfter + 3).bytes ^= 1U;
  EXPECT_THAT(check(bench).violations,
              ElementsAre(AllOf(Field(&Violation::rule, Rule::kEqualDigests),
                                Field(&Violation::text, AllOf(HasSubstr("stage 1, the state after 3 steps"),
                                                              HasSubstr("(replica 13)"), HasSubstr("(replica 34)"))))));
}

TEST(TraceCheck, FindsABranchThatBeginsWithAnotherState) {
  TraceBench bench;
  go_on_with(bench, {.steps = 2, .branch = Branch{1}});
  EXPECT_TRUE(check(bench).is_good()) << all_of(check(bench));
  loaded_by(bench, kFirstAfter).bytes ^= 1U;
  loaded_by(bench, kFirstAfter + 1).bytes ^= 1U;
  TraceEvent late = bench.event("spawner", of_kind(TraceKind::kView));  // joins when the branch has gone on
  late.cause.branch = Branch{1};
  late.cause.term = Term{2};
  late.cause.step = StepId{3};
  late.subject = 99;
  bench.append(late, bench.now_ns());
  EXPECT_THAT(check(bench).violations,
              ElementsAre(AllOf(Field(&Violation::rule, Rule::kEqualDigests),
                                Field(&Violation::text, HasSubstr("after 2 steps, which branch 1 begins with")))));
}

// Other sums in another order, a microbatch left out: what the branch before it came to is history.
TEST(TraceCheck, ABranchNeedNotRepeatTheStepsOfTheOneBeforeIt) {
  TraceBench bench;
  go_on_with(bench, {.steps = 2, .branch = Branch{1}});
  for (std::uint64_t replica = kFirstAfter; replica < kFirstAfter + 2; ++replica) {
    TraceEvent state = loaded_by(bench, replica);
    state.set_detail("state");
    state.bytes = 4321;
    bench.add(compose("node", replica - kFirstAfter + 1), state);
  }
  EXPECT_TRUE(check(bench).is_good()) << all_of(check(bench));
  bench.life("node2").events.back().bytes = 4322;
  EXPECT_THAT(check(bench).violations,
              ElementsAre(AllOf(Field(&Violation::rule, Rule::kEqualDigests),
                                Field(&Violation::text, HasSubstr("the state after 3 steps of branch 1")))));
}

TEST(TraceCheck, SaysWhichStepsAreInNoTrace) {
  TraceBench bench;  // of three steps
  go_on_with(bench, {.steps = 5, .branch = Branch{1}});
  EXPECT_TRUE(check(bench).is_good()) << all_of(check(bench));
  EXPECT_THAT(check(bench).notes, Contains(HasSubstr("steps 3 to 4 are in no trace")));
  TraceBench again;
  go_on_with(again, {.steps = 3, .branch = Branch{1}});
  EXPECT_THAT(check(again).notes, Not(Contains(HasSubstr("in no trace")))) << "the control";
}

TEST(TraceCheck, SaysWhoseDigestsItCouldNotCompare) {
  TraceBench bench;
  go_on_with(bench, {.stages = 1});
  loaded_by(bench, kFirstAfter + 1).incarnation = Incarnation{99};
  const CheckReport report = check(bench);
  EXPECT_TRUE(report.is_good()) << all_of(report);
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("no journal entry adds 1 replica that reported")));
}

TEST(TraceCheck, FindsASumThatIsNotTheCommittedOne) {
  TraceBench bench;
  TraceEvent sum = bench.event("node3", of_step(TraceKind::kDigest, 1));
  sum.set_detail("sum");
  sum.cause.attempt = 2;
  sum.subject = 22;
  sum.bytes = 901;
  bench.add("node3", sum);
  EXPECT_TRUE(check(bench).is_good()) << all_of(check(bench));
  bench.life("node3").events.back().bytes = 902;
  EXPECT_THAT(check(bench).violations, broken(Rule::kEqualDigests, "the sum of epoch 22.2"));
}

TEST(TraceCheck, FindsAContributionFromOutsideTheView) {
  TraceBench bench({3, 4, TraceLevel::kLifecycle});
  // The entry takes the place of the second sync group's appointment, before all commits.
  for (const char* const life : {"spawner", "node1", "node2", "node3", "node4"}) {
    TraceEvent& event = bench.event(life, [](const TraceEvent& one) { return one.cause.position.value == 6; });
    event.set_detail("RemoveReplica");
    event.subject = 14;
  }
  const CheckReport report = check(bench);
  EXPECT_THAT(report.violations,
              broken(Rule::kView, "stage 1 counts stage/1/1 (replica 14), which is not in the view"));
  EXPECT_EQ(report.violations.size(), 3U) << "once per commit: " << all_of(report);
}

TEST(TraceCheck, FindsAMemberWithoutAManifest) {
  TraceBench bench({3, 4, TraceLevel::kLifecycle});
  bench.drop("spawner", of_step(TraceKind::kManifest, 1), 2);
  const CheckReport report = check(bench);
  EXPECT_THAT(report.violations, broken(Rule::kView, "stage 1 has no manifest of its member stage/1/0 (replica 13)"));
  EXPECT_THAT(report.violations, broken(Rule::kExactlyOnce, "microbatches 0, 2 counted by nobody"));
}

TEST(TraceCheck, FindsAVoteOfAnotherGroupOrOfAnOlderView) {
  TraceBench bench;
  bench.event("spawner", of_step(TraceKind::kStageCommit, 1), 1).subject = 99;
  EXPECT_THAT(check(bench).violations, broken(Rule::kView, "the vote is of sync group 99, appointed is 22"));
  TraceBench stale;
  stale
      .event("spawner",
             [](const TraceEvent& event) {
               return event.kind == TraceKind::kPhase && event.detail_text() == "Prepared" &&
                      event.cause.step.value == 1;
             })
      .cause.position = JournalPosition{1};
  EXPECT_THAT(check(stale).violations,
              broken(Rule::kView, "the vote was begun at position 1, before the stage's view changed at position"));
}

TEST(TraceCheck, FindsWhatComesFromAnOlderTermOrBranch) {
  TraceBench bench;
  for (const char* const life : {"spawner", "node1", "node2", "node3", "node4"}) {
    bench.event(life, of_step(TraceKind::kCommit, 0)).cause.term = Term{2};
  }
  EXPECT_THAT(check(bench).violations, broken(Rule::kView, "is of term 1, branch 0, after an entry of term 2"));
  TraceBench branched;
  branched.event("node1", of_step(TraceKind::kAccumulate, 1)).cause.branch = Branch{3};
  EXPECT_THAT(check(branched).violations, broken(Rule::kView, "but it is a replica of branch 0"));
}

TEST(TraceCheck, FindsAReplicaThatSkipsAnEntry) {
  TraceBench bench;
  bench.drop("node1", of_step(TraceKind::kCommit, 1));
  EXPECT_THAT(check(bench).violations,
              broken(Rule::kView, "stage/0/0 (replica 11) in node1 follows position 9 after position 7"));
}

TEST(TraceCheck, FindsAQueueBeyondItsBound) {
  TraceBench bench;
  TraceEvent mark;
  mark.kind = TraceKind::kMark;
  mark.actor = bench.name_of("node1", "router");
  mark.bytes = 1024;
  mark.subject = 1024;
  mark.set_detail("letters ahead of journal");
  bench.add("node1", mark);
  EXPECT_TRUE(check(bench).is_good());
  bench.life("node1").events.back().bytes = 1025;
  EXPECT_THAT(check(bench).violations,
              ElementsAre(Violation{Rule::kBounds,
                                    "'letters ahead of journal' of router in node1 held 1025, its bound is 1024"}));
}

// The last manifest of step 2 that the spawner heard from node2.
std::int64_t manifest_heard_ns(TraceBench& bench) {
  return bench
      .event("spawner",
             [](const TraceEvent& event) {
               return event.kind == TraceKind::kReceive && event.detail_text() == "Manifest" && event.subject == 12 &&
                      event.cause.step.value == 2;
             })
      .time_ns;
}

TEST(TraceCheck, ExcusesWhatAKilledReplicaHadNoTimeToWrite) {
  TraceBench bench;
  const std::int64_t heard = manifest_heard_ns(bench);
  bench.cut("node2", heard - 60'000'000);
  const CheckReport report = check(bench);
  EXPECT_TRUE(report.is_good()) << all_of(report);
  EXPECT_GT(report.counts.accumulations_excused, 0U);
}

TEST(TraceCheck, DoesNotExcuseWhatAReplicaHadTimeToWrite) {
  TraceBench bench;
  const std::int64_t heard = manifest_heard_ns(bench);
  bench.cut("node2", heard - 60'000'000);
  // A sign of life a second later: a letter of node2 that another node got.
  TraceEvent letter;
  letter.kind = TraceKind::kReceive;
  letter.actor = bench.name_of("node1", "router");
  letter.span = std::uint64_t{2} << 40U | 99'999;
  letter.time_ns = heard + 1'000'000'000;
  bench.add("node1", letter);
  EXPECT_THAT(check(bench).violations,
              broken(Rule::kExactlyOnce, "which it never accumulated; its process lived on for 1.000 s"));
}

// A healthy node whose trace is as long as the run directory lets it be: others hear of it for hours.
TEST(TraceCheck, DoesNotAccuseAProcessWhoseTraceIsFull) {
  TraceBench bench;
  bench.cut("node2", manifest_heard_ns(bench) - 60'000'000);
  TraceEvent letter;
  letter.kind = TraceKind::kReceive;
  letter.actor = bench.name_of("node1", "router");
  letter.span = std::uint64_t{2} << 40U | 99'999;
  letter.time_ns = bench.now_ns() + 86'400'000'000'000;
  bench.add("node1", letter);
  ASSERT_FALSE(check(bench).is_good()) << "the control: it was killed";
  bench.life("node2").dropped = 3;
  bench.life("node2").lacks_end = true;
  const CheckReport report = check(bench);
  EXPECT_TRUE(report.is_good()) << all_of(report);
  EXPECT_THAT(report.notes, Contains(HasSubstr("the trace of node2 lacks 3 events or more at its end: the run "
                                               "directory's room for it")));
}

TEST(TraceCheck, ATraceThatIsFullIsNamedAtAnyLevel) {
  TraceBench bench({3, 4, TraceLevel::kLifecycle});
  const auto all = check(bench).counts.digests_compared;
  bench.cut("node2", bench.event("node2", of_step(TraceKind::kDigest, 1)).time_ns);
  bench.life("node2").dropped = 1;
  bench.life("node2").lacks_end = true;
  const CheckReport report = check(bench);
  EXPECT_TRUE(report.is_good()) << all_of(report);
  EXPECT_LT(report.counts.digests_compared, all);
  EXPECT_THAT(report.notes, Contains(HasSubstr("the trace of node2 lacks 1 event or more at its end")));
}

TEST(TraceCheck, DoesNotBelieveARingThatOverflowed) {
  TraceBench bench;
  bench.drop("node2", of_step(TraceKind::kAccumulate, 1));
  bench.life("node2").dropped = 1;
  const CheckReport report = check(bench);
  EXPECT_TRUE(report.is_good()) << all_of(report);
  EXPECT_THAT(report.notes, Contains(HasSubstr("the trace of node2 lacks 1 event: its ring or its disk was full")));
}

TEST(TraceCheck, ACommitWithoutItsManifestsIsNoProof) {
  TraceBench bench;
  const auto is_part = [](const TraceEvent& event) {
    const bool is_it = event.kind == TraceKind::kManifest || event.kind == TraceKind::kStageCommit;
    return is_it && event.cause.step.value == 2;
  };
  std::erase_if(bench.life("spawner").events, is_part);
  EXPECT_THAT(check(bench).violations, broken(Rule::kTrace, "is in no trace of the spawner"));
  bench.life("spawner").is_whole = false;
  const CheckReport report = check(bench);
  EXPECT_TRUE(report.is_good()) << "the last commit of a killed spawner: " << all_of(report);
  EXPECT_THAT(report.notes, Contains(HasSubstr("killed before it wrote that down")));
}

// The disk of its trace may have been full for a while.
TEST(TraceCheck, ASpawnerThatLostEventsLeavesCommitsUnchecked) {
  for (const TraceKind lost : {TraceKind::kManifest, TraceKind::kStageCommit}) {
    TraceBench bench;
    const auto is_lost = [lost](const TraceEvent& event) { return event.kind == lost && event.cause.step.value == 2; };
    auto& events = bench.life("spawner").events;
    events.erase(std::ranges::find_if(events, is_lost));
    EXPECT_FALSE(check(bench).is_good()) << "the control";
    bench.life("spawner").dropped = 1;
    const CheckReport report = check(bench);
    EXPECT_TRUE(report.is_good()) << all_of(report);
    EXPECT_THAT(report.notes, Contains(HasSubstr("lacks events")));
  }
}

// Every event of these kinds is needed: without it, or with another number in it, the trace is not good.
TEST(TraceCheck, NoticesAnyChangeOfWhatItChecks) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const BenchShape shape{2 + random() % 4, static_cast<std::uint32_t>(2 + random() % 7), TraceLevel::kAll};
    TraceBench bench(shape);
    ASSERT_TRUE(check(bench).is_good()) << all_of(check(bench));
    const std::uint64_t step = random() % shape.steps;
    const std::string node = node_of(kFirstReplica + random() % 4);
    const auto any = [&](TraceKind kind) { return of_step(kind, step); };
    switch (random() % 5) {
      case 0: bench.drop(node, any(TraceKind::kAccumulate)); break;
      case 1: bench.event("spawner", any(TraceKind::kManifest), random() % 4).subject = 11 + random() % 4 + 4; break;
      case 2: bench.event(node, any(TraceKind::kDigest), 0).bytes += 1 + random() % 9; break;
      case 3: bench.event(node, any(TraceKind::kCommit)).bytes += 1; break;
      default: {
        auto& detail = bench.event("spawner", any(TraceKind::kManifest), random() % 4).detail[0];
        detail = static_cast<char>(detail ^ static_cast<char>(1U << random() % shape.microbatches));
      }
    }
    EXPECT_FALSE(check(bench).is_good()) << "round " << round;
  }
}

}  // namespace
}  // namespace shoal::trace_check_test
