// A stream for words whose reader may stop reading for a while: a terminal after Ctrl-S, a pager, ssh from a laptop
// that sleeps. Whoever speaks goes on at once: what the reader does not take is kept up to a bound; lines beyond it are
// lost and counted, and a line says how many where they are missing.
//
// Other programs share the terminal or pipe, so that its own mode is left as it is: words go through another opening of
// the same file. A file on disk is written as ever. Thread-safe. Nothing of it may be called in a signal handler.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/base/clock.h"

namespace shoal {

class UnhinderedStream {
 public:
  // The descriptor stays its owner's, and may be given another file at any time.
  explicit UnhinderedStream(int descriptor) : descriptor_(descriptor) {}
  ~UnhinderedStream();
  UnhinderedStream(const UnhinderedStream&) = delete;
  UnhinderedStream& operator=(const UnhinderedStream&) = delete;

  // Whole lines, each with its end. A stream that cannot be written to, a closed pipe for one, takes all for lost.
  void write(std::string_view lines);
  // Gives what is kept to a reader that has come back.
  void go_on();
  // The same before the end of the process; waits so long for a reader at most.
  void finish(Duration longest);

 private:
  enum class Kind { kNone, kFile, kSocket, kOther };

  void look();
  void give();
  [[nodiscard]] ssize_t write_some() const;
  void tell_lost();
  void close_own();

  const int descriptor_;
  std::mutex mutex_;
  Kind kind_ = Kind::kNone;
  dev_t device_ = 0;  // with the next, which file the descriptor had when it was last looked at
  ino_t file_ = 0;
  int own_ = -1;      // the other opening; -1: there is none, as for a terminal of another user
  std::string kept_;  // begins within a line if a part of it was taken
  std::uint64_t lost_ = 0;
};

// The one of the standard errors of this process. At the end of the process a reader has a second.
[[nodiscard]] UnhinderedStream& words_out();

}  // namespace shoal
