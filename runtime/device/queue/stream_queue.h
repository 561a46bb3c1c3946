// A queue over one of torch's streams. It calls what the module for GPUs has registered with torch, and no CUDA itself.
// One stream per stage, and one of high priority for its copies to the host, which no other queue of the process has:
// torch gives out 32 per device and priority in turn, and where all of these are taken, queues share.
// One thread of the process records, or drops a recording, at a time; none replays meanwhile.
// Whatever thread asks or drops a mark, no other device than the queue's gets a context of this process.
#pragma once

#include <memory>

#include "runtime/base/config.h"
#include "runtime/device/queue/device_queue.h"

namespace shoal {

// Records what `work` queues on the current stream. Torch's CPU part has no graphs: the module for GPUs has.
using GraphRecorder = std::unique_ptr<DeviceGraph> (*)(const DeviceGraph::Work& work);

// The device's module is loaded (plugin/load_plugin.h). Without a recorder the queue records nothing. Throws torch's
// errors.
[[nodiscard]] std::shared_ptr<DeviceQueue> make_stream_queue(at::Device device, GraphRecorder recorder = nullptr);

// For the whole process: products in IEEE float32, without sums in bf16, and cuDNN's attention where the caller says
// that the device has it. Exact: operators whose bits repeat, and an error from those that have none. Other stages may
// be computing meanwhile: what is settled alike is not touched.
void settle_arithmetic(Reduction reduction, bool has_cudnn_attention);

}  // namespace shoal
