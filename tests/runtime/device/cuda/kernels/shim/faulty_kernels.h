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
};

// values: [blocks * 64], in place.
[[nodiscard]] LaunchError run(Mistake mistake, float* values, unsigned blocks);

}  // namespace shoal::gpu::faulty
