// Tells in words what became of one microbatch.
#include "runtime/trace/report/story/story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::story_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Story, TellsWhatBecameOfAMicrobatch) {
  const auto told = tell_microbatch(TraceBench({3, 4}).trace(), {StepId{1}, MicrobatchId{3}});
  ASSERT_TRUE(told.ok()) << told.failure().message;
  std::size_t at = 0;
  for (const char* const part :
       {"microbatch 3 of step 1, branch 0", "planned: stage/0/1 in node2, then stage/1/1 in node4",
        "Forward (4.0 KiB) leaves spawner for stage/0/1 in node2", "Forward arrives in node2",
        "stage/0/1 in node2 starts forward", "stage/0/1 in node2 ends forward",
        "Forward (4.0 KiB) leaves node2 for stage/1/1 in node4", "stage/1/1 in node4 ends loss",
        "stage/1/1 in node4 accumulates it: 1024 tokens", "Backward (4.0 KiB) leaves node4",
        "stage/0/1 in node2 starts backward", "stage/0/1 in node2 accumulates it",
        "Backward arrives in spawner for the data loader", "sync_group/0, epoch 21.2: Prepare",
        "step 1 is committed (position 8), stage 0 counts it for stage/0/1 in node2, stage 1 counts it for stage/1/1 "
        "in node4"}) {
    const auto found = told->find(part, at);
    ASSERT_NE(found, std::string::npos) << part << "\nnot after character " << at << " of\n" << *told;
    at = found;
  }
  EXPECT_EQ(told->find("microbatch 2"), std::string::npos);
}

TEST(Story, SaysWhoDied) {
  TraceBench bench({3, 4});
  const std::int64_t begun = bench.event("node2", of_step(TraceKind::kStart, 1)).time_ns;
  bench.cut("node2", begun + 1);
  const auto told = tell_microbatch(bench.trace(), {StepId{1}, MicrobatchId{1}});
  ASSERT_TRUE(told.ok());
  EXPECT_THAT(*told, HasSubstr("node2 says nothing more: it was killed"));
}

// A replica that joins reads the journal from its beginning.
TEST(Story, TellsOfTheJournalWhatWasWrittenMeanwhile) {
  TraceBench bench({3, 4});
  const std::int64_t during = bench.event("node1", of_step(TraceKind::kStart, 1)).time_ns;
  TraceEvent old = bench.event("node1", of_kind(TraceKind::kView));
  old.time_ns = during;
  bench.add("node1", old);
  TraceEvent quarantine = old;
  quarantine.set_detail("Quarantine");
  const std::uint64_t position = bench.append(quarantine, during);
  const auto told = tell_microbatch(bench.trace(), {StepId{1}, MicrobatchId{1}});
  ASSERT_TRUE(told.ok());
  EXPECT_THAT(*told, Not(HasSubstr("AddReplica")));
  EXPECT_THAT(*told, HasSubstr("(position " + std::to_string(position) + ")")) << "the control";
}

TEST(Story, OfWhatIsNotThereIsAnError) {
  EXPECT_FALSE(tell_microbatch(TraceBench({2, 2}).trace(), {StepId{7}, MicrobatchId{0}}).ok());
  const auto unknown =
      tell_microbatch(TraceBench({2, 2, TraceLevel::kLifecycle}).trace(), {StepId{1}, MicrobatchId{0}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.failure().message, HasSubstr("trace.level=all"));
  EXPECT_TRUE(parse_microbatch("12/3").ok());
  for (const char* const bad : {"", "12", "12/", "/3", "12/3x", "a/b", "12-3", "-1/2", "12/99999999999"}) {
    EXPECT_FALSE(parse_microbatch(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace shoal::story_test
