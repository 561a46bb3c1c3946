// Loads an image that lies on the disk, or elsewhere, into an executor of this thread: piece by piece, so that it is
// never whole in memory beside the state.
#pragma once

#include "runtime/base/error.h"
#include "runtime/executor/stage_executor.h"
#include "runtime/storage/image/image_source.h"

namespace shoal {

// Errors: as of StageExecutor::load_state, and of the source.
[[nodiscard]] Status load_image(StageExecutor& executor, ImageSource& image);

}  // namespace shoal
