// A device with a queue of work of its own, as one stage sees it: kernels and copies in the order of the calls.
//
//   enter() ── torch's calls of this thread are queued ── mark() ──▶ DeviceMark, reached when all before it is done
//
// Invariant: nothing here waits but DeviceMark::wait(). Memory that the device copies from or to is host_memory(),
// which torch keeps until the copy is done; of a queue that records, the thread that records gives it back. Implemented
// over streams (stream_queue.h), and by tests on the processor.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/executor/late_stage_executor.h"

struct CUstream_st;

namespace shoal {

// Work of a queue that was recorded once, and is queued again as a whole: the same kernels, over the same memory.
class DeviceGraph {
 public:
  using Work = std::function<std::vector<at::Tensor>()>;

  DeviceGraph() = default;
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;
  virtual ~DeviceGraph() = default;

  // Within a turn of the queue that recorded it.
  virtual void replay() = 0;
  // Returns the tensors that the work gave back, at the addresses of the recording: of no meaning before the first
  // replay, and written over by each.
  [[nodiscard]] virtual const std::vector<at::Tensor>& results() const = 0;
};

class DeviceQueue {
 public:
  // While it lives, what its thread computes goes to the queue.
  class Turn {
   public:
    Turn() = default;
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    virtual ~Turn() = default;
  };

  DeviceQueue() = default;
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;
  virtual ~DeviceQueue() = default;

  [[nodiscard]] virtual at::Device device() const = 0;
  // The stream that kernels of ours are launched on, as CUDA's handle; none where they run on the processor.
  [[nodiscard]] virtual CUstream_st* stream() const { return nullptr; }
  [[nodiscard]] virtual std::unique_ptr<Turn> enter() = 0;
  [[nodiscard]] virtual bool can_record() const { return false; }
  // Within a turn, where it can: what `work` queues is recorded and not done. The work waits for nothing; memory that
  // it allocates is the graph's. No mark is set meanwhile, and no host memory of this queue given back.
  [[nodiscard]] virtual std::unique_ptr<DeviceGraph> record(const DeviceGraph::Work& /*work*/) { return nullptr; }
  // Within a turn: behind all that was queued.
  [[nodiscard]] virtual std::shared_ptr<const DeviceMark> mark() = 0;
  // Within a turn: what is queued from now on begins when the mark, of any queue of this kind, is reached.
  virtual void follow(const DeviceMark& mark) = 0;
  // A queue beside this one for copies to the host, which need not wait for what was queued here later.
  [[nodiscard]] virtual std::shared_ptr<DeviceQueue> beside() const = 0;
  // Host memory, uninitialised, that copies to and from the device do not wait for.
  [[nodiscard]] virtual at::Tensor host_memory(at::IntArrayRef sizes, at::ScalarType dtype) const = 0;
};

}  // namespace shoal
