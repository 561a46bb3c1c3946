// Kernels with one mistake each, for the tests of the shim: each of them must be found.
// They compute nothing that anybody uses.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu::faulty {

enum class Mistake {
  kNone,             // reverses each 64 values in shared memory, with its barrier
  kMissingBarrier,   // reads what another thread is writing
  kOverwrittenRead,  // writes what another thread is reading
  kSameElement,      // two threads write one element
  kSameBlocks,       // two blocks write one element
  kBehindTheEnd,     // writes one element behind the array
  kUnwrittenShared,  // reads shared memory that nobody has written
  kLonelyBarrier,    // half of the threads end before a barrier
  kLonelyShuffle,    // a shuffle names lanes that have ended
  kCopies,           // none: reverses by copies into the launch's own shared memory, which it waits for
  kMissingWait,      // reads a copy that it has not waited for
  kForgottenCopy,    // ends before a copy
  kTooFewBytes,      // has less shared memory than it copies into
  kUnsaidBytes,      // has more than a kernel may have that does not say so
};

// values: [blocks * 64], in place.
[[nodiscard]] LaunchError run(Mistake mistake, float* values, unsigned blocks);

}  // namespace shoal::gpu::faulty
