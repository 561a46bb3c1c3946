// Fills trace files that have a bound, and reads what they say of the rest.
#include "runtime/trace/trace_room.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

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

// The journal needs what such a disk has left.
TEST(TraceRoom, AFileOnADiskThatIsNearlyFullSaysSoAndGivesTheRingBack) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "trace" / "node1.trace").string();
  const auto tracer = std::make_shared<Tracer>(TracerSettings{TraceLevel::kAll, 64, 0, ring_path_of(path)},
                                               std::make_shared<ManualClock>());
  TraceDrain drain(tracer, path, "node1");
  const ActorTrace actor(tracer, "a");
  for (int i = 0; i < 10; ++i) actor.record(TraceKind::kFault, {}, 1);
  ASSERT_TRUE(drain.flush().ok());
  EXPECT_FALSE(drain.is_full()) << "the control";
  EXPECT_TRUE(std::filesystem::exists(ring_path_of(path)));
  drain.leave_on_disk(std::numeric_limits<std::uint64_t>::max());
  for (int flush = 0; flush < 3; ++flush) {
    for (int i = 0; i < 10; ++i) actor.record(TraceKind::kFault, {}, 1);
    ASSERT_TRUE(drain.flush().ok());
    EXPECT_TRUE(drain.is_full());
    EXPECT_FALSE(std::filesystem::exists(ring_path_of(path)));
  }
  EXPECT_EQ(read_trace_file(path)->at(0).dropped, 10U);
  EXPECT_TRUE(drain.flush_end().ok());
  const TraceLife ended = read_trace_file(path)->at(0);
  EXPECT_EQ(ended.events.size(), 10U);
  EXPECT_EQ(ended.dropped, 30U);
  EXPECT_TRUE(ended.is_whole && ended.lacks_end);
}

TEST(TraceRoom, ARingIsClosedWhileOthersRecord) {
  const Scratch scratch;
  TraceRing ring(RingMemory::in_file((scratch.path() / "a.ring").string(), 64, {}));
  std::vector<std::jthread> actors;
  for (int actor = 0; actor < 4; ++actor) {
    actors.emplace_back([&ring](const std::stop_token& stop) {
      while (!stop.stop_requested()) ring.push(TraceEvent{});
    });
  }
  while (ring.dropped() == 0) std::this_thread::yield();
  ring.close();
  actors.clear();
  EXPECT_FALSE(ring.push(TraceEvent{}));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "a.ring"));
}

TEST(TraceRoom, AProcessMakesNoDirectoryOfARunThatIsAway) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "away" / "trace" / "node1.trace").string();
  const auto tracer = std::make_shared<Tracer>(TracerSettings{TraceLevel::kAll, 64, 0, ring_path_of(path)},
                                               std::make_shared<ManualClock>());
  TraceDrain drain(tracer, path, "node1");
  EXPECT_FALSE(drain.flush().ok());
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "away"));
  std::filesystem::create_directory(scratch.path() / "away");
  EXPECT_TRUE(drain.flush().ok()) << "it is back";
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
