// A queue on the processor, for tests: it computes at once, and its marks are reached when the test says so.
// Whoever waits for a mark reaches it, and is counted.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/device/queue/device_queue.h"

#include <ATen/ops/empty.h>

#include "runtime/base/check_after_torch.h"

namespace shoal {

class FakeMark final : public DeviceMark {
 public:
  explicit FakeMark(std::shared_ptr<std::atomic<int>> waits) : waits_(std::move(waits)) {}
  [[nodiscard]] bool is_reached() const override { return is_reached_; }
  void wait() const override {
    ++*waits_;
    is_reached_ = true;
  }
  void reach() { is_reached_ = true; }

 private:
  std::shared_ptr<std::atomic<int>> waits_;
  mutable std::atomic<bool> is_reached_{false};
};

class FakeQueue : public DeviceQueue {
 public:
  [[nodiscard]] at::Device device() const override { return at::kCPU; }
  [[nodiscard]] std::unique_ptr<Turn> enter() override { return std::make_unique<Turn>(); }
  [[nodiscard]] std::shared_ptr<const DeviceMark> mark() override {
    auto mark = std::make_shared<FakeMark>(waits);
    if (keeps_up) mark->reach();
    marks.push_back(mark);
    return mark;
  }
  void follow(const DeviceMark& mark) override {
    if (dynamic_cast<const FakeMark*>(&mark) == nullptr) report_bug(__FILE__, __LINE__, "follow", "a mark of its kind");
    ++followed;
  }
  [[nodiscard]] std::shared_ptr<DeviceQueue> beside() const override {
    auto other = std::make_shared<FakeQueue>();
    other->waits = waits;
    return other;
  }
  [[nodiscard]] at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType dtype) const override {
    return at::empty(sizes, dtype);
  }

  void reach_all() {
    for (const auto& mark : marks) mark->reach();
  }

  std::shared_ptr<std::atomic<int>> waits = std::make_shared<std::atomic<int>>(0);
  std::vector<std::shared_ptr<FakeMark>> marks;
  int followed = 0;
  bool keeps_up = false;  // every mark is reached at once
};

}  // namespace shoal
