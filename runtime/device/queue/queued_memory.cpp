// Torch's calls are queued like any others; the library's are between two marks of the same stream.
#include "runtime/device/queue/queued_memory.h"

#include <exception>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include "runtime/device/queue/device_fault.h"
#include "runtime/device/queue/queued_tensor.h"

namespace shoal {
namespace {

class QueuedMemory final : public CollectiveMemory {
 public:
  explicit QueuedMemory(std::shared_ptr<DeviceQueue> queue) : queue_(std::move(queue)), copies_(queue_->beside()) {
    const at::Device device = queue_->device();
    if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  }

  [[nodiscard]] Result<PlacedValues> place(const TensorBlob& contribution) override {
    return guarded([&]() -> Result<PlacedValues> {
      const at::NoGradGuard no_graph;
      const auto turn = queue_->enter();
      contribution_ = contribution;
      const at::Tensor there = values_in_place(*queue_, contribution);
      from_ = there.defined() ? there : sent_to(*queue_, contribution);
      to_ = at::empty_like(from_);
      return PlacedValues{from_.const_data_ptr(), to_.mutable_data_ptr(), static_cast<std::size_t>(from_.numel()),
                          queue_->stream()};
    });
  }
  [[nodiscard]] Status queued() override {
    return guarded([&]() -> Status {
      const auto turn = queue_->enter();
      mark_ = queue_->mark();
      return Done{};
    });
  }
  [[nodiscard]] Result<bool> is_done() override {
    return guarded([&]() -> Result<bool> { return mark_->is_reached(); });
  }
  [[nodiscard]] TensorBlob take_sum() override {
    TensorBlob sum = resident_blob(to_, mark_, copies_);
    give_up();
    return sum;
  }
  void give_up() override {
    contribution_ = {};
    from_.reset();
    to_.reset();
    mark_.reset();
  }

 private:
  // Torch's exceptions end here: the sum fails, and a device that is of no use says so at its stage's next call.
  template <class Call>
  [[nodiscard]] static auto guarded(const Call& call) -> decltype(call()) {
    try {
      return call();
    } catch (const c10::Error& problem) {
      const auto fault = device_fault_of(std::current_exception());
      return fail(Error::kInternal, fault ? *fault : std::string(problem.what_without_backtrace()));
    }
  }

  std::shared_ptr<DeviceQueue> queue_;
  std::shared_ptr<DeviceQueue> copies_;
  TensorBlob contribution_;
  at::Tensor from_;
  at::Tensor to_;
  std::shared_ptr<const DeviceMark> mark_;
};

}  // namespace

std::unique_ptr<CollectiveMemory> make_queued_memory(std::shared_ptr<DeviceQueue> queue) {
  return std::make_unique<QueuedMemory>(std::move(queue));
}

}  // namespace shoal
