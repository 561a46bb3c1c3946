// A queue on the processor, for tests: it computes at once, and its marks are reached when the test says so.
// Whoever waits for a mark reaches it, and is counted.
//
// It has CUDA's rule of recordings, too: an event that was set within one, by a mark or by host memory that goes back
// to torch, is part of the graph, and to ask for it is an error. Torch asks when host memory is allocated next.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <vector>

#include "runtime/device/queue/device_queue.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace shoal {

struct FakeCapture {
  std::atomic<bool> is_recording{false};
  std::atomic<bool> has_memory{false};  // that went back meanwhile
};

[[noreturn]] inline void ask_of_captured() { throw std::runtime_error("CUDA error: invalid argument"); }

class FakeMark final : public DeviceMark {
 public:
  FakeMark(std::shared_ptr<std::atomic<int>> waits, bool is_captured)
      : waits_(std::move(waits)), is_captured_(is_captured) {}
  [[nodiscard]] bool is_reached() const override {
    if (is_captured_) ask_of_captured();
    return is_reached_;
  }
  void wait() const override {
    if (is_captured_) ask_of_captured();
    ++*waits_;
    is_reached_ = true;
  }
  void reach() { is_reached_ = true; }

 private:
  std::shared_ptr<std::atomic<int>> waits_;
  bool is_captured_;
  mutable std::atomic<bool> is_reached_{false};
};

class FakeQueue : public DeviceQueue {
 public:
  [[nodiscard]] at::Device device() const override { return at::kCPU; }
  [[nodiscard]] std::unique_ptr<Turn> enter() override { return std::make_unique<Turn>(); }
  [[nodiscard]] std::shared_ptr<const DeviceMark> mark() override {
    auto mark = std::make_shared<FakeMark>(waits, capture->is_recording);
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
    if (capture->has_memory) ask_of_captured();
    const at::Tensor memory = at::empty(sizes, dtype);
    const auto give_back = [memory, to = capture](void* /*data*/) {
      if (to->is_recording) to->has_memory = true;
    };
    return at::from_blob(memory.mutable_data_ptr(), sizes, give_back, dtype);
  }

  void reach_all() {
    for (const auto& mark : marks) mark->reach();
  }

  std::shared_ptr<std::atomic<int>> waits = std::make_shared<std::atomic<int>>(0);
  std::vector<std::shared_ptr<FakeMark>> marks;
  std::shared_ptr<FakeCapture> capture = std::make_shared<FakeCapture>();
  int followed = 0;
  bool keeps_up = false;  // every mark is reached at once
};

}  // namespace shoal
