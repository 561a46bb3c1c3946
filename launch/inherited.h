// Settles what a program inherits and must not keep: streams that were closed, signals that are ignored.
// Both main functions begin with it; the processes that they start inherit the result.
#pragma once

namespace shoal {

// Takes the numbers 0, 1 and 2 where they were closed for the program (`shoal train >&-`), before anything
// else is opened: a file or socket would get such a number, and every later write to the stream with it. A
// stream that was closed still refuses what a program does with it (EBADF).
void occupy_standard_streams();

// Lets the ends of children be told, also where the parent ignores SIGCHLD (the kernel would forget them, and a keeper
// wait for ever); makes a file at its limit an error of the write, like a full disk (SIGXFSZ).
void settle_inherited_signals();

// Both, then the keeper's line (life_line.h) and the limit of open files (open_files.h). Call it with one thread.
void begin_program();

}  // namespace shoal
