// Records work of a stream as a CUDA graph (torch's, whose allocator gives it memory of its own).
// Recorded and replayed in one process on an H100, with equal bits; in several, see FACTS.md.
#pragma once

#include <memory>

#include "runtime/device/queue/device_queue.h"

namespace shoal {

// The current stream is not the device's default one. Nobody else in the process records, replays or drops a graph
// meanwhile, nor while this one is dropped, on its device (queue/stream_queue). Throws torch's errors; the stream
// records nothing then.
[[nodiscard]] std::unique_ptr<DeviceGraph> record_graph(const DeviceGraph::Work& work);

}  // namespace shoal
