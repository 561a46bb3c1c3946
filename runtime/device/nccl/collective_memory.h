// Values of one sum as the library needs them: pointers that its device reads and writes, and a queue of that device.
//
//   place() ── the library queues its work on the stream ── queued() ──▶ is_done() until it is ──▶ take_sum()
//
// Nothing waits. What the device fails with is a Failure. One sum at a time, in one thread.
#pragma once

#include <cstddef>
#include <memory>

#include "messages/tensor_blob.h"
#include "runtime/base/error.h"
#include "runtime/device/nccl/nccl_library.h"

namespace shoal {

struct PlacedValues {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  void* stream = nullptr;
};

class CollectiveMemory {
 public:
  CollectiveMemory() = default;
  CollectiveMemory(const CollectiveMemory&) = delete;
  CollectiveMemory& operator=(const CollectiveMemory&) = delete;
  virtual ~CollectiveMemory() = default;

  // int64 or float32. The contribution is kept, and never written; the sum goes to memory beside it.
  [[nodiscard]] virtual Result<PlacedValues> place(const TensorBlob& contribution) = 0;
  // The library has queued the sum.
  [[nodiscard]] virtual Status queued() = 0;
  [[nodiscard]] virtual Result<bool> is_done() = 0;
  [[nodiscard]] virtual TensorBlob take_sum() = 0;
  // The sum was aborted: nothing writes to its memory any more.
  virtual void give_up() = 0;
};

// Host memory, by the streams of a library that sums it (ensured).
[[nodiscard]] std::unique_ptr<CollectiveMemory> make_host_memory(std::shared_ptr<const NcclLibrary> library);

}  // namespace shoal
