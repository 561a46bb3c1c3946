// See inherited.h.
#include "launch/inherited.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

#include "launch/life_line.h"
#include "launch/open_files.h"

namespace shoal {

void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is this one. Opened for what a stream is not used for, it is as good as closed.
    (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void settle_inherited_signals() {
  std::signal(SIGCHLD, SIG_DFL);
  std::signal(SIGXFSZ, SIG_IGN);
}

void begin_program() {
  occupy_standard_streams();
  settle_inherited_signals();
  take_life_line();
  raise_open_file_limit();
}

}  // namespace shoal
