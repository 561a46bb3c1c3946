// A computation of fixed shapes over fixed memory, which a queue records: many launches become one.
//
//   run 1   as any other: libraries settle their choices and allocate what they keep
//   run 2   recorded, then replayed
//   then    replayed
//
// Invariant: inputs are copied to where the recorded kernels read them, and results lie where these write them, the
// same addresses from the second run on. Whoever needs results beyond the next run copies them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/device/queue/device_queue.h"

namespace shoal {

class RecordedPass {
 public:
  using Tensors = std::vector<at::Tensor>;
  // It must compute the same from the same inputs, of tensors that lie where they are; nothing in it may wait.
  using Compute = std::function<Tensors(const Tensors& inputs)>;

  RecordedPass(DeviceQueue& queue, Compute compute) : queue_(queue), compute_(std::move(compute)) {}

  // Within a turn. inputs: on the device, of the first run's shapes and types (ENSURE).
  [[nodiscard]] const Tensors& run(const Tensors& inputs);

 private:
  void place(const Tensors& inputs);

  DeviceQueue& queue_;
  Compute compute_;
  Tensors inputs_;
  Tensors results_;  // of the first run alone
  std::unique_ptr<DeviceGraph> graph_;
};

}  // namespace shoal
