// Does to a program that a test has started what a person's terminal does: it reads the program's words, stops reading
// them, and sends a signal again and again.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/support/process_scene.h"

namespace shoal {

// `shoal` whose stderr is a pipe; the reader's end is the caller's to read, to leave alone and to close.
struct PipedProgram {
  Program& program;
  int reader;
};
inline PipedProgram start_piped(ProcessScene& scene, const std::vector<std::string>& words) {
  const auto pipe = scene.folder() / "words";
  EXPECT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ProgramStart start;
  start.arguments = {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>" + pipe.string(), shoal_program()};
  start.arguments.insert(start.arguments.end(), words.begin(), words.end());
  return {scene.start_program(start), reader};
}

inline constexpr Milliseconds kTakenWithin{20'000};  // a signal

// limit: for the end. The second is sent when the first has been taken (two equal signals that wait are one), and until
// the program has ended: what comes at once with the first is the same wish.
inline void send_twice(Program& program, int signal, Milliseconds limit) {
  program.signal(signal);
  ASSERT_TRUE(wait_until([&] { return !is_signal_pending(program.pid(), signal); }, kTakenWithin));
  ASSERT_TRUE(wait_until(
      [&] {
        if (!program.wait(Milliseconds(0))) program.signal(signal);
        return program.status().has_value();
      },
      limit));
}

}  // namespace shoal
