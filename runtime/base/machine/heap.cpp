// The bounds of mallopt() are of the whole process.
#include "runtime/base/machine/heap.h"

#include <malloc.h>

namespace shoal {

void keep_one_heap() { ::mallopt(M_ARENA_MAX, 1); }

void give_pieces_back() { ::mallopt(M_MMAP_THRESHOLD, 256 * 1024); }

}  // namespace shoal
