// Words of a command for the person who started it: one line on stderr, `shoal: ...`, which holds nobody up where it is
// not read. Results go to stdout by print(), which waits for its reader.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "runtime/base/compose.h"
#include "runtime/base/machine/unhindered_stream.h"

namespace shoal {

template <class... Parts>
void say(const Parts&... parts) {
  words_out().write("shoal: " + compose(parts...) + "\n");
}

// Says nothing where there is nothing to warn of.
inline void say_warning(const std::string& warning) {
  if (!warning.empty()) say("warning: ", warning);
}

template <class... Parts>
void print(const Parts&... parts) {
  const std::string text = compose(parts...);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// Returns true when all that was printed has left this program: a full disk or a closed pipe shows only now.
[[nodiscard]] inline bool output_was_taken() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

// False: stdout is a pipe that nobody reads any more (`| head -1`).
[[nodiscard]] inline bool has_reader() {
  pollfd out{STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, 0) <= 0 || (out.revents & POLLERR) == 0;
}

}  // namespace shoal
