// The three streams that a program is started with, which whoever starts it may have closed (`shoal train >&-`).
// A file or socket that is opened next would get such a number, and whatever is written to the stream later with it.
#pragma once

namespace shoal {

// Takes the numbers 0, 1 and 2 where they are free, before anything else is opened. A stream that was closed still
// refuses what a program does with it (EBADF).
void occupy_standard_streams();

}  // namespace shoal
