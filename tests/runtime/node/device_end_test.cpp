// The last words of a process whose device failed: the reason, and who is suspected.
#include "runtime/node/device_end.h"

#include <gtest/gtest.h>

#include "runtime/base/compose.h"
#include "runtime/base/machine/memory_lack.h"

namespace shoal::device_end_test {
namespace {

constexpr Incarnation kGuilty{4};
constexpr Incarnation kBeside{5};

SpawnStage guilty() {
  SpawnStage order;
  order.stage = StageId{1};
  order.replica = kGuilty;
  return order;
}

constexpr const char* kFault = "device cuda:0: the device failed: an illegal address";

// A stage computes microbatch 3 of step 7.
void note_work(WorkNote& note) { note.begin({RunId{1}, StageId{1}, kGuilty, StepId{7}, MicrobatchId{3}}); }
// One beside it computes another.
void note_work_beside(WorkNote& note) { note.begin({RunId{1}, StageId{2}, kBeside, StepId{7}, MicrobatchId{2}}); }

TEST(DeviceEnd, TheMicrobatchThatMetTheFaultIsSuspectedWhereNoOtherIsComputed) {
  WorkNote note;
  note_work(note);
  note_work_beside(note);
  note.end(kBeside);
  const StageEnded ended = end_by_device(guilty(), kFault, note);
  EXPECT_EQ(ended, (StageEnded{StageId{1}, kGuilty, kFault, ComputedMicrobatch{StepId{7}, MicrobatchId{3}}}));
}

// Both streams of the device fail at once: which stage's watch looks first says nothing.
TEST(DeviceEnd, WhereSeveralStagesComputeNoneIsSuspected) {
  WorkNote note;
  note_work(note);
  note_work_beside(note);
  EXPECT_EQ(end_by_device(guilty(), kFault, note), (StageEnded{StageId{1}, kGuilty, kFault, {}}));
  EXPECT_EQ(note.take(kBeside), std::nullopt) << "nor is anything left behind for the next life";
}

TEST(DeviceEnd, ALackOfMemoryIsNoEvidence) {
  WorkNote note;
  note_work(note);
  const std::string reason = compose("the device has no memory left (", kNoMoreMemory, ")");
  EXPECT_EQ(end_by_device(guilty(), reason, note).computing, std::nullopt);
  EXPECT_EQ(note.take(kGuilty), std::nullopt);
}

TEST(DeviceEnd, WithoutAMicrobatchNoneIsSuspected) {
  WorkNote note;
  EXPECT_EQ(end_by_device(guilty(), "the device hangs", note).computing, std::nullopt);
}

}  // namespace
}  // namespace shoal::device_end_test
