// Queues over streams of a device that is not a thread's first one: on which devices this process comes to have a
// context. The device is a fake one, known to torch as PrivateUse1, with CUDA's rule: every call but those that are
// made to be harmless makes a context on the current device of its thread.
#include "runtime/device/queue/stream_queue.h"

#include <gtest/gtest.h>

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

c10::Stream stream_on(const c10::Device& device) { return c10::Stream(c10::Stream::UNSAFE, device, 7); }

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
  [[nodiscard]] c10::Stream getStream(c10::Device device) const override { return stream_on(device); }
  [[nodiscard]] c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*is_urgent*/) const override {
    contexts.make(current);
    return stream_on(device);
  }
  [[nodiscard]] c10::Stream exchangeStream(c10::Stream stream) const override { return stream_on(stream.device()); }
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

}  // namespace
}  // namespace shoal::stream_queue_test
