// Messages about what a device has done or is to do: ends of jobs, and copies of its values to the host.
//
// They never leave a process, and hold what the device owns by reference.
#pragma once

#include <memory>

#include <caf/all.hpp>

#include "messages/tensor_blob.h"

namespace shoal {

struct JobEnd;           // runtime/pipeline/job_runner.h
struct CollectiveEvent;  // runtime/sync/collective/collective.h

// A stage's device to its actor: the oldest job that it did not answer at once has ended.
struct JobEnded {
  std::shared_ptr<const JobEnd> end;
};

// The thread of a stage's communicator to the stage.
struct CollectiveTold {
  std::shared_ptr<const CollectiveEvent> event;
};

// Router to its copier, and the answer: values of a device for another process.
struct CopyToHost {
  std::shared_ptr<const ResidentTensor> tensor;
  caf::actor router;
};
struct TensorCopied {
  std::shared_ptr<const ResidentTensor> tensor;
  TensorBlob copy;  // in host form; none: its device failed
};

}  // namespace shoal
