// Marks are events without timing; a stream follows them without the host. What torch has one of for all threads of a
// process, the order of its streams and the list of its graphs, is behind a lock here.
#include "runtime/device/queue/stream_queue.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

constexpr int kStreamsOfPool = 32;  // that torch has of a device and a priority

enum class StreamUse : std::uint8_t { kComputing, kCopies };

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

// Streams of this process's queues. Torch gives out those of a pool in turn, so that the thirty-third is the first one
// again, which a queue may still have: work of one stage would wait behind another's, and a stage that records would
// find foreign work in its stream. So a queue takes the next one while another has it; where all are taken, it shares.
// Queues for copies take theirs from the pool of the urgent ones, where no queue computes.
class TakenStreams {
 public:
  [[nodiscard]] c10::Stream take(at::Device device, StreamUse use) {
    // Torch asks the current device for its streams' priorities when a process takes its first one.
    const c10::DeviceGuard guard(device);
    const c10::impl::VirtualGuardImpl streams(device.type());
    const auto next = [&] { return streams.getStreamFromGlobalPool(device, use == StreamUse::kCopies); };
    const std::lock_guard lock(mutex_);
    c10::Stream stream = next();
    for (int tried = 1; tried < kStreamsOfPool && is_taken(stream); ++tried) stream = next();
    taken_.push_back(stream);
    return stream;
  }
  void give_back(const c10::Stream& stream) {
    const std::lock_guard lock(mutex_);
    taken_.erase(std::ranges::find(taken_, stream));
  }

 private:
  [[nodiscard]] bool is_taken(const c10::Stream& stream) const {
    return std::ranges::find(taken_, stream) != taken_.end();
  }

  std::mutex mutex_;
  std::vector<c10::Stream> taken_;  // as often as queues have it
};

// Stays when the process ends: threads that live on may have queues.
[[nodiscard]] TakenStreams& taken_streams() {
  static TakenStreams& streams = *new TakenStreams;
  return streams;
}

// A queue's own, as long as it lives.
class OwnStream {
 public:
  OwnStream(at::Device device, StreamUse use) : stream_(taken_streams().take(device, use)) {}
  ~OwnStream() { taken_streams().give_back(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  [[nodiscard]] const c10::Stream& operator*() const { return stream_; }

 private:
  c10::Stream stream_;
};

// Torch's generator of a device keeps the graphs that are recorded on it in a set without a lock, and refuses replays
// of other threads while one of them records. So whoever records, or drops a graph, is alone in the process; replays
// keep each other out of nothing, for a launch may wait for its device.
[[nodiscard]] std::shared_mutex& graphs_mutex() {
  static std::shared_mutex& mutex = *new std::shared_mutex;  // stays when the process ends
  return mutex;
}

// A graph of torch's that any thread may drop, whatever the others do meanwhile.
class StreamGraph final : public DeviceGraph {
 public:
  StreamGraph(at::Device device, std::unique_ptr<DeviceGraph> graph) : device_(device), graph_(std::move(graph)) {}
  ~StreamGraph() override {
    const std::lock_guard alone(graphs_mutex());
    try {
      const c10::DeviceGuard guard(device_);
      graph_.reset();
    } catch (...) {
      graph_.reset();  // the device has failed, and its process ends
    }
  }
  void replay() override {
    const std::shared_lock with_others(graphs_mutex());
    graph_->replay();
  }
  [[nodiscard]] const std::vector<at::Tensor>& results() const override { return graph_->results(); }

 private:
  at::Device device_;
  std::unique_ptr<DeviceGraph> graph_;
};

class StreamTurn final : public DeviceQueue::Turn {
 public:
  explicit StreamTurn(const c10::Stream& stream) : guard_(stream) {}

 private:
  c10::StreamGuard guard_;
};

class StreamQueue final : public DeviceQueue {
 public:
  StreamQueue(at::Device device, StreamUse use, GraphRecorder recorder) : stream_(device, use), recorder_(recorder) {}

  [[nodiscard]] at::Device device() const override { return (*stream_).device(); }
  [[nodiscard]] CUstream_st* stream() const override { return static_cast<CUstream_st*>((*stream_).native_handle()); }
  [[nodiscard]] std::unique_ptr<Turn> enter() override { return std::make_unique<StreamTurn>(*stream_); }
  [[nodiscard]] bool can_record() const override { return recorder_ != nullptr; }
  [[nodiscard]] std::unique_ptr<DeviceGraph> record(const DeviceGraph::Work& work) override {
    const std::lock_guard alone(graphs_mutex());
    return std::make_unique<StreamGraph>(device(), recorder_(work));
  }
  [[nodiscard]] std::shared_ptr<const DeviceMark> mark() override { return std::make_shared<StreamMark>(*stream_); }
  void follow(const DeviceMark& mark) override {
    const auto* of_a_stream = dynamic_cast<const StreamMark*>(&mark);
    ENSURE(of_a_stream != nullptr, "a stream follows marks of streams");
    of_a_stream->hold(*stream_);
  }
  [[nodiscard]] std::shared_ptr<DeviceQueue> beside() const override {
    return std::make_shared<StreamQueue>(device(), StreamUse::kCopies, nullptr);
  }
  [[nodiscard]] at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType dtype) const override {
    const c10::DeviceGuard guard(device());  // torch asks events that were set when other memory went back
    return at::empty(sizes, at::TensorOptions().dtype(dtype).pinned_memory(true));
  }

 private:
  OwnStream stream_;
  GraphRecorder recorder_;
};

}  // namespace

std::shared_ptr<DeviceQueue> make_stream_queue(at::Device device, GraphRecorder recorder) {
  return std::make_shared<StreamQueue>(device, StreamUse::kComputing, recorder);
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
