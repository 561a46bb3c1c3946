// Marks are events without timing; a stream follows them without the host.
#include "runtime/device/queue/stream_queue.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <optional>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// Marks are asked and dropped by threads that never chose a device, and so have the first one: a call of CUDA may make
// a context on a thread's device, and c10 puts an event's thread back to it by such a call. Each context costs half a
// GiB of that device. A DeviceGuard puts a thread back without one.
class StreamMark final : public DeviceMark {
 public:
  explicit StreamMark(const c10::Stream& stream) : device_(stream.device()), event_(stream.device_type()) {
    event_->record(stream);
  }
  ~StreamMark() override {
    try {
      const c10::DeviceGuard guard(device_);
      event_.reset();
    } catch (...) {
      event_.reset();  // the device has failed, and its process ends
    }
  }
  [[nodiscard]] bool is_reached() const override {
    const c10::DeviceGuard guard(device_);
    return event_->query();
  }
  void wait() const override {
    const c10::DeviceGuard guard(device_);
    event_->synchronize();
  }
  void hold(const c10::Stream& stream) const { event_->block(stream); }

 private:
  at::Device device_;
  std::optional<c10::Event> event_;
};

// Torch asks the current device for its streams' priorities when a process takes its first one.
[[nodiscard]] c10::Stream stream_of(at::Device device) {
  const c10::DeviceGuard guard(device);
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

class StreamTurn final : public DeviceQueue::Turn {
 public:
  explicit StreamTurn(const c10::Stream& stream) : guard_(stream) {}

 private:
  c10::StreamGuard guard_;
};

class StreamQueue final : public DeviceQueue {
 public:
  StreamQueue(at::Device device, GraphRecorder recorder) : stream_(stream_of(device)), recorder_(recorder) {}

  [[nodiscard]] at::Device device() const override { return stream_.device(); }
  [[nodiscard]] CUstream_st* stream() const override { return static_cast<CUstream_st*>(stream_.native_handle()); }
  [[nodiscard]] std::unique_ptr<Turn> enter() override { return std::make_unique<StreamTurn>(stream_); }
  [[nodiscard]] bool can_record() const override { return recorder_ != nullptr; }
  [[nodiscard]] std::unique_ptr<DeviceGraph> record(const DeviceGraph::Work& work) override { return recorder_(work); }
  [[nodiscard]] std::shared_ptr<const DeviceMark> mark() override { return std::make_shared<StreamMark>(stream_); }
  void follow(const DeviceMark& mark) override {
    const auto* of_a_stream = dynamic_cast<const StreamMark*>(&mark);
    ENSURE(of_a_stream != nullptr, "a stream follows marks of streams");
    of_a_stream->hold(stream_);
  }
  [[nodiscard]] std::shared_ptr<DeviceQueue> beside() const override {
    return std::make_shared<StreamQueue>(stream_.device(), nullptr);
  }
  [[nodiscard]] at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType dtype) const override {
    const c10::DeviceGuard guard(device());  // torch asks events that were set when other memory went back
    return at::empty(sizes, at::TensorOptions().dtype(dtype).pinned_memory(true));
  }

 private:
  c10::Stream stream_;
  GraphRecorder recorder_;
};

}  // namespace

std::shared_ptr<DeviceQueue> make_stream_queue(at::Device device, GraphRecorder recorder) {
  return std::make_shared<StreamQueue>(device, recorder);
}

void settle_arithmetic(Reduction reduction, bool has_cudnn_attention) {
  at::Context& torch = at::globalContext();
  torch.setAllowBF16ReductionCuBLAS(false, true);  // sums of float32, split over k in an order of the shape alone
  torch.setFloat32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL, at::Float32Precision::IEEE);
  torch.setDeterministicFillUninitializedMemory(false);  // nothing here reads what it has not written
  torch.setDeterministicAlgorithms(reduction == Reduction::kExact, false);
  if (torch.userEnabledCuDNNSDP() != has_cudnn_attention) torch.setSDPUseCuDNN(has_cudnn_attention);
}

}  // namespace shoal
