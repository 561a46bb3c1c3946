// Marks are events without timing; a stream follows them without the host.
#include "runtime/device/queue/stream_queue.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

class StreamMark final : public DeviceMark {
 public:
  explicit StreamMark(const c10::Stream& stream) : event_(stream.device_type()) { event_.record(stream); }
  [[nodiscard]] bool is_reached() const override { return event_.query(); }
  void wait() const override { event_.synchronize(); }
  void hold(const c10::Stream& stream) const { event_.block(stream); }

 private:
  c10::Event event_;
};

class StreamTurn final : public DeviceQueue::Turn {
 public:
  explicit StreamTurn(const c10::Stream& stream) : guard_(stream) {}

 private:
  c10::StreamGuard guard_;
};

class StreamQueue final : public DeviceQueue {
 public:
  StreamQueue(at::Device device, GraphRecorder recorder)
      : stream_(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device)), recorder_(recorder) {}

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
