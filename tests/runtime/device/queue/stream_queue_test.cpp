// Queues over streams of a device that is not a thread's first one: on which devices this process comes to have a
// context. The device is a fake one, known to torch as PrivateUse1, with CUDA's rule: every call but those that are
// made to be harmless makes a context on the current device of its thread. Its streams are given out in turn, and its
// graphs count the threads that are in them.
#include "runtime/device/queue/stream_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace shoal::stream_queue_test {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
constexpr c10::DeviceIndex kSecond = 1;

// Devices that have a context of this process.
class Contexts {
 public:
  void make(c10::DeviceIndex device) {
    const std::lock_guard lock(mutex_);
    devices_.insert(device);
  }
  [[nodiscard]] bool has(c10::DeviceIndex device) {
    const std::lock_guard lock(mutex_);
    return devices_.contains(device);
  }
  [[nodiscard]] std::set<c10::DeviceIndex> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(devices_, {});
  }

 private:
  std::mutex mutex_;
  std::set<c10::DeviceIndex> devices_;
};

Contexts contexts;
thread_local c10::DeviceIndex current = 0;
int destroyed = 0;  // read after the threads that write it

void set_device(c10::DeviceIndex device) {
  contexts.make(device);
  current = device;
}

// As torch has them, of each priority.
constexpr c10::StreamId kStreams = 32;
constexpr c10::StreamId kFirstUrgent = 100;
std::array<std::atomic<c10::StreamId>, 2> given{};  // of each priority
thread_local c10::StreamId in_use = 0;              // by what its thread queues

c10::Stream stream_on(const c10::Device& device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, device, id);
}

// Does as c10 does for CUDA: only uncheckedSetDevice() leaves a thread on a device without making a context there.
struct FakeDevices final : public c10::impl::DeviceGuardImplInterface {
  [[nodiscard]] c10::DeviceType type() const override { return kType; }
  [[nodiscard]] c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before(kType, current);
    set_device(device.index());
    return before;
  }
  [[nodiscard]] c10::Device getDevice() const override { return {kType, current}; }
  void setDevice(c10::Device device) const override { set_device(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current = device.index(); }
  [[nodiscard]] c10::Stream getStream(c10::Device device) const override { return stream_on(device, in_use); }
  [[nodiscard]] c10::Stream getStreamFromGlobalPool(c10::Device device, bool is_urgent) const override {
    contexts.make(current);
    const c10::StreamId in_turn = given[is_urgent ? 1 : 0]++ % kStreams;
    return stream_on(device, is_urgent ? kFirstUrgent + in_turn : 1 + in_turn);
  }
  [[nodiscard]] c10::Stream exchangeStream(c10::Stream stream) const override {
    return stream_on(stream.device(), std::exchange(in_use, stream.id()));
  }
  [[nodiscard]] c10::DeviceIndex deviceCount() const noexcept override { return 2; }
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex /*device*/,
              c10::EventFlag /*flag*/) const override {
    const c10::DeviceIndex before = current;
    set_device(stream.device_index());
    *event = &destroyed;
    set_device(before);
  }
  [[nodiscard]] bool queryEvent(void* /*event*/) const override {
    contexts.make(current);
    return true;
  }
  void synchronizeEvent(void* /*event*/) const override { contexts.make(current); }
  void destroyEvent(void* /*event*/, c10::DeviceIndex device) const noexcept override {
    const c10::DeviceIndex before = current;
    set_device(device);
    ++destroyed;
    set_device(before);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, FakeDevices)

std::shared_ptr<const DeviceMark> mark_of(DeviceQueue& queue) {
  const auto turn = queue.enter();
  return queue.mark();
}

// In a thread that never chose a device.
template <class Work>
void elsewhere(Work work) {
  std::thread([&work] {
    work();
    EXPECT_EQ(current, 0) << "the thread has its device back";
  }).join();
}

TEST(StreamQueue, NoThreadThatAsksOrDropsAMarkMakesAContextOfAnotherDevice) {
  const auto only = std::set<c10::DeviceIndex>{kSecond};
  static_cast<void>(contexts.take());
  destroyed = 0;
  const auto queue = make_stream_queue({kType, kSecond});
  EXPECT_EQ(contexts.take(), only) << "the first stream of the process";
  auto mark = mark_of(*queue);
  elsewhere([&mark] { EXPECT_TRUE(mark->is_reached()); });
  EXPECT_EQ(contexts.take(), only) << "asked";
  elsewhere([&mark] { mark->wait(); });
  EXPECT_EQ(contexts.take(), only) << "waited for";
  elsewhere([&mark] { mark.reset(); });
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(contexts.take(), only) << "dropped";
}

// The control: what c10 itself does of an event that such a thread drops.
TEST(StreamQueue, AnEventThatIsDroppedWithoutItsDeviceMakesAContextOfTheFirst) {
  static_cast<void>(contexts.take());
  elsewhere([] { FakeDevices().destroyEvent(&destroyed, kSecond); });
  EXPECT_TRUE(contexts.has(0));
}

c10::StreamId stream_of(DeviceQueue& queue) {
  const auto turn = queue.enter();
  return in_use;
}
bool is_urgent(c10::StreamId stream) { return stream >= kFirstUrgent; }

// Restarts of stages in one process: each takes a stream to compute in, and one for its copies.
TEST(StreamQueue, NoTwoThatLiveHaveOneStream) {
  const auto held = make_stream_queue({kType, kSecond});
  const auto held_copies = held->beside();
  for (int restart = 0; restart < 40; ++restart) {
    const auto queue = make_stream_queue({kType, kSecond});
    const auto copies = queue->beside();
    EXPECT_NE(stream_of(*queue), stream_of(*held)) << restart;
    EXPECT_NE(stream_of(*copies), stream_of(*held_copies)) << restart;
  }
}

// The control: torch's pool comes round to the stream that is held.
TEST(StreamQueue, ThePoolGivesOutAStreamAgainThatIsInUse) {
  const auto held = make_stream_queue({kType, kSecond});
  std::set<c10::StreamId> given_out;
  for (int i = 0; i < 40; ++i) given_out.insert(FakeDevices().getStreamFromGlobalPool({kType, kSecond}, false).id());
  EXPECT_TRUE(given_out.contains(stream_of(*held)));
}

TEST(StreamQueue, CopiesMeetNoQueueThatComputes) {
  for (int i = 0; i < 40; ++i) {
    const auto queue = make_stream_queue({kType, kSecond});
    EXPECT_FALSE(is_urgent(stream_of(*queue)));
    EXPECT_TRUE(is_urgent(stream_of(*queue->beside())));
    EXPECT_TRUE(is_urgent(stream_of(*queue->beside()->beside()))) << "of copies";
  }
}

// All streams of the pool are in use: one more shares, and the next one takes what came free.
TEST(StreamQueue, WhereEveryStreamIsInUseAQueueSharesOne) {
  std::vector<std::shared_ptr<DeviceQueue>> queues;
  std::set<c10::StreamId> streams;
  for (c10::StreamId i = 0; i < kStreams; ++i) {
    queues.push_back(make_stream_queue({kType, kSecond}));
    streams.insert(stream_of(*queues.back()));
  }
  EXPECT_EQ(streams.size(), queues.size());
  const auto other_device = make_stream_queue({kType, 0});
  auto more = make_stream_queue({kType, kSecond});
  EXPECT_TRUE(streams.contains(stream_of(*more)));
  const c10::StreamId shared = stream_of(*more);
  more.reset();
  const auto free = std::ranges::find_if(queues, [&](const auto& one) { return stream_of(*one) != shared; });
  const c10::StreamId came_free = stream_of(**free);
  free->reset();
  EXPECT_EQ(stream_of(*make_stream_queue({kType, kSecond})), came_free)
      << "and not the shared one, which one still has";
}

// Threads that are within torch's graphs at once. Each stays until another is there too, or until it gives up: not
// before all threads of the test have come to where they ask to be let in.
class Visits {
 public:
  explicit Visits(std::chrono::milliseconds patience) : patience_(patience) {}

  void arrive() {
    const std::lock_guard lock(mutex_);
    ++arrived_;
    changed_.notify_all();
  }
  void visit() {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return arrived_ >= 2; });
    changed_.wait_for(lock, patience_, [this] { return most_ >= 2; });
    --inside_;
  }
  [[nodiscard]] int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  int inside_ = 0;
  int most_ = 0;
};

constexpr std::chrono::milliseconds kShort{50};     // they are kept apart
constexpr std::chrono::milliseconds kLong{60'000};  // they come together

Visits* visits = nullptr;  // none: nobody counts
std::atomic<c10::DeviceIndex> dropped_on = -1;

void visit() {
  if (visits != nullptr) visits->visit();
}

class FakeGraph final : public DeviceGraph {
 public:
  FakeGraph() = default;
  ~FakeGraph() override {
    visit();
    dropped_on = current;
  }
  void replay() override { visit(); }
  [[nodiscard]] const std::vector<at::Tensor>& results() const override { return results_; }

 private:
  std::vector<at::Tensor> results_;
};

std::unique_ptr<DeviceGraph> record_visit(const DeviceGraph::Work& work) {
  visit();
  static_cast<void>(work());
  return std::make_unique<FakeGraph>();
}

// A stage of the process, which records.
struct Stage {
  std::shared_ptr<DeviceQueue> queue = make_stream_queue({kType, kSecond}, record_visit);
  std::unique_ptr<DeviceGraph> graph;

  void record() {
    const auto turn = queue->enter();
    graph = queue->record([] { return std::vector<at::Tensor>(); });
  }
  void replay() {
    const auto turn = queue->enter();
    graph->replay();
  }
};

// Does both at once, each in a thread of its own. Returns how many were in torch's graphs together.
int most_inside(std::chrono::milliseconds patience, const std::function<void()>& one,
                const std::function<void()>& other) {
  Visits counted(patience);
  visits = &counted;
  std::vector<std::thread> threads;
  for (const auto* work : {&one, &other}) {
    threads.emplace_back([&counted, work] {
      counted.arrive();
      (*work)();
    });
  }
  for (std::thread& thread : threads) thread.join();
  visits = nullptr;
  return counted.most();
}

// Torch's generator of a device notes the graphs that are recorded on it, and says which of all its threads records.
TEST(StreamQueue, WhileAStageRecordsNoOtherRecordsDropsOrReplays) {
  Stage one;
  Stage other;
  const auto record = [&one] { one.record(); };
  EXPECT_EQ(most_inside(kShort, record, [&other] { other.record(); }), 1);
  EXPECT_EQ(most_inside(kShort, record, [&other] { other.replay(); }), 1);
  one.graph.reset();
  EXPECT_EQ(most_inside(kShort, record, [&other] { other.graph.reset(); }), 1);
}

TEST(StreamQueue, GraphsAreDroppedOneAtATimeOnTheirDevice) {
  Stage one;
  Stage other;
  one.record();
  other.record();
  static_cast<void>(contexts.take());
  EXPECT_EQ(most_inside(
                kShort, [&one] { one.graph.reset(); }, [&other] { other.graph.reset(); }),
            1);
  EXPECT_EQ(dropped_on, kSecond);
  EXPECT_EQ(contexts.take(), std::set<c10::DeviceIndex>{kSecond});
}

// The control: torch itself keeps nobody out.
TEST(StreamQueue, ABareRecorderLetsTwoIn) {
  const auto record = [] { static_cast<void>(record_visit([] { return std::vector<at::Tensor>(); })); };
  EXPECT_EQ(most_inside(kLong, record, record), 2);
}

// Replays of two stages are queued at once: a launch may wait for its device.
TEST(StreamQueue, ReplaysKeepNobodyOut) {
  Stage one;
  Stage other;
  one.record();
  other.record();
  EXPECT_EQ(most_inside(
                kLong, [&one] { one.replay(); }, [&other] { other.replay(); }),
            2);
}

// A recording that fails leaves nobody locked out.
TEST(StreamQueue, ARecordingThatFailsIsFollowedByAnother) {
  Stage stage;
  const auto turn = stage.queue->enter();
  const auto fails = []() -> std::vector<at::Tensor> { throw std::runtime_error("a planted failure"); };
  EXPECT_THROW(static_cast<void>(stage.queue->record(fails)), std::runtime_error);
  EXPECT_NE(stage.queue->record([] { return std::vector<at::Tensor>(); }), nullptr);
}

}  // namespace
}  // namespace shoal::stream_queue_test
