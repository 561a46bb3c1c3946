// Marks of one queue are reached in their order.
#include "runtime/device/queue/queued_reads.h"

namespace shoal {

void QueuedReads::note(const TensorBlob& blob) {
  if (blob.resident) noted_.push_back(blob.resident);
}

void QueuedReads::note(const Residents& tensors) { noted_.insert(noted_.end(), tensors.begin(), tensors.end()); }

void QueuedReads::end(const std::shared_ptr<const DeviceMark>& mark) {
  if (!noted_.empty()) held_.emplace_back(mark, std::exchange(noted_, {}));
  while (!held_.empty() && held_.front().first->is_reached()) held_.pop_front();
}

// Figures are read, and let go, by the thread that waits for marks. Memory that goes back to torch gets an event on the
// streams that used it: in a stream that records at that moment it would be part of the graph, and whoever allocates
// host memory next and asks for it fails. So it goes back here, in the thread that records.
at::Tensor QueuedReads::on_its_way_to_host(const DeviceQueue& queue, const at::Tensor& values) {
  std::erase_if(lent_, [](const at::Tensor& host) { return host.use_count() == 1; });
  const at::Tensor arrives = queue.host_memory(values.sizes(), values.scalar_type());
  arrives.copy_(values, true);
  lent_.push_back(arrives);
  return arrives;
}

}  // namespace shoal
