// Says how the allocator of this process keeps what is freed: a process that gives memory back has it go to the system.
// glibc's allocator; call these before a thread starts.
#pragma once

namespace shoal {

// Lets threads reuse each other's freed memory and return it to the system; the allocator never returns the last pieces
// of other heaps.
void keep_one_heap();
// Has what is freed of pieces of a state, which come and go, go back to the system at once, whichever thread had it:
// the heap would keep it between smaller things.
void give_pieces_back();

}  // namespace shoal
