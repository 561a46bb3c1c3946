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

// A stage that computes microbatch 3 of step 7, and one beside it.
void note_work(WorkNote& note) {
  note.begin({RunId{1}, StageId{1}, kGuilty, StepId{7}, MicrobatchId{3}});
  note.begin({RunId{1}, StageId{2}, kBeside, StepId{7}, MicrobatchId{2}});
}

TEST(DeviceEnd, TheMicrobatchThatMetTheFaultIsSuspectedAndNoOther) {
  WorkNote note;
  note_work(note);
  const StageEnded ended = end_by_device(guilty(), "device cuda:0: the device failed: an illegal address", note);
  EXPECT_EQ(ended, (StageEnded{StageId{1}, kGuilty, "device cuda:0: the device failed: an illegal address",
                               ComputedMicrobatch{StepId{7}, MicrobatchId{3}}}));
  EXPECT_EQ(note.take(kBeside), std::nullopt);
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
