// Fills trace files that have a bound, and reads what they say of the rest.
#include "runtime/trace/trace_room.h"

#include <gtest/gtest.h>

#include "runtime/trace/trace_blocks.h"
#include "runtime/trace/tracer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/support/manual_clock.h"

namespace shoal::trace_room_test {
namespace {

TEST(TraceRoom, TakesWhatLeavesRoomForTheLastWords) {
  TraceRoom room;
  EXPECT_TRUE(room.takes(std::uint64_t{1} << 40U, 1 << 20U)) << "any number unless it is told";
  room.set_bytes_max(1000);
  EXPECT_TRUE(room.takes(0, 1000 - TraceRoom::kLastBytes));
  EXPECT_FALSE(room.takes(0, 1000 - TraceRoom::kLastBytes + 1));
  EXPECT_FALSE(room.takes(0, 1)) << "a hole would follow";
  for (const std::uint64_t there : {std::uint64_t{999}, std::uint64_t{1000}, std::uint64_t{5000}}) {
    TraceRoom too_late;
    too_late.set_bytes_max(1000);
    EXPECT_FALSE(too_late.takes(there, 0)) << there;
  }
}

TEST(TraceRoom, TellsALossAtOnceAndOnceMoreAtTheEnd) {
  TraceRoom room;
  room.told_loss();
  room.told_end();
  EXPECT_TRUE(room.is_loss_due() && room.takes_end()) << "while there is room, again and again";
  room.set_bytes_max(0);
  EXPECT_FALSE(room.takes(0, 1));
  EXPECT_TRUE(room.is_loss_due());
  room.told_loss();
  EXPECT_FALSE(room.is_loss_due());
  EXPECT_TRUE(room.takes_end());
  room.told_end();
  EXPECT_FALSE(room.is_loss_due() || room.takes_end());
}

constexpr std::uint64_t kRoom = 8192;

class BoundedProcess {
 public:
  explicit BoundedProcess(Scratch& scratch) : path_((scratch.path() / "trace" / "node1.trace").string()) {}

  [[nodiscard]] TraceDrain drain() const { return {tracer_, path_, "node1"}; }
  void record(TraceDrain& drain, int events) const {
    for (int i = 0; i < events; ++i) ActorTrace(tracer_, "a").record(TraceKind::kFault, {}, 1);
    EXPECT_TRUE(drain.flush().ok());
  }
  [[nodiscard]] std::vector<TraceLife> lives() const { return read_trace_file(path_).value(); }
  [[nodiscard]] std::uint64_t size() const { return std::filesystem::file_size(path_); }

 private:
  std::shared_ptr<Tracer> tracer_ =
      std::make_shared<Tracer>(TracerSettings{TraceLevel::kAll, 64, 0, {}}, std::make_shared<ManualClock>());
  std::string path_;
};

TEST(TraceRoom, AFullFileSaysSoAtOnceAndGrowsNoMore) {  // S-6
  Scratch scratch;
  const BoundedProcess process(scratch);
  TraceDrain drain = process.drain();
  drain.set_bytes_max(kRoom);
  for (int flush = 0; flush < 100 && !drain.is_full(); ++flush) process.record(drain, 10);
  ASSERT_TRUE(drain.is_full());
  const TraceLife full = process.lives().at(0);
  EXPECT_EQ(full.events.size(), 60U);
  EXPECT_EQ(full.dropped, 10U);
  EXPECT_TRUE(full.lacks_end);
  EXPECT_FALSE(full.is_whole) << "it may live on";
  const std::uint64_t size = process.size();
  for (int flush = 0; flush < 100; ++flush) process.record(drain, 10);
  EXPECT_EQ(process.size(), size);
  for (int end = 0; end < 20; ++end) EXPECT_TRUE(drain.flush_end().ok());
  const TraceLife ended = process.lives().at(0);
  EXPECT_EQ(ended.events, full.events);
  EXPECT_EQ(ended.dropped, 1010U);
  EXPECT_TRUE(ended.is_whole && ended.lacks_end);
  EXPECT_LE(process.size(), kRoom);
}

TEST(TraceRoom, AFullFileTakesNoFurtherLife) {
  Scratch scratch;
  for (int life = 0; life < 3; ++life) {
    const BoundedProcess process(scratch);
    TraceDrain drain = process.drain();
    drain.set_bytes_max(kRoom);
    for (int flush = 0; flush < 1000; ++flush) process.record(drain, 1);
    EXPECT_TRUE(drain.is_full());
    EXPECT_TRUE(drain.flush_end().ok());
    EXPECT_EQ(process.lives().size(), 1U);
    EXPECT_LE(process.size(), kRoom);
  }
}

TEST(TraceRoom, AFileWithoutABoundTakesEverything) {  // the control
  Scratch scratch;
  const BoundedProcess process(scratch);
  TraceDrain drain = process.drain();
  for (int flush = 0; flush < 100; ++flush) process.record(drain, 10);
  EXPECT_GT(process.size(), kRoom);
  EXPECT_EQ(process.lives().at(0).events.size(), 1000U);
}

}  // namespace
}  // namespace shoal::trace_room_test
