// Speaks to pipes, terminals, sockets and files whose reader does not read, comes back, or has gone.
#include "runtime/base/machine/unhindered_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/compose.h"

namespace shoal::unhindered_stream_test {
namespace {

constexpr std::size_t kPipeBytes = 4096;
constexpr int kLines = 3000;  // more than pipe and stream have room for

struct Ends {
  int reader = -1, writer = -1;

  Ends() = default;
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() {
    ::close(reader);
    ::close(writer);
  }
};

struct Pipe : Ends {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader = ends[0];
    writer = ends[1];
    EXPECT_GT(::fcntl(writer, F_SETPIPE_SZ, kPipeBytes), 0);
  }
};

struct Terminal : Ends {
  Terminal() {
    reader = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_TRUE(::grantpt(reader) == 0 && ::unlockpt(reader) == 0);
    writer = ::open(::ptsname(reader), O_RDWR | O_NOCTTY | O_CLOEXEC);
    termios mode{};
    EXPECT_EQ(::tcgetattr(writer, &mode), 0);
    ::cfmakeraw(&mode);  // a line's end stays one byte
    EXPECT_EQ(::tcsetattr(writer, TCSANOW, &mode), 0);
  }
};

struct Sockets : Ends {
  Sockets() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    reader = ends[0];
    writer = ends[1];
  }
};

std::string line(int number) { return compose("line ", number, " of many, which say what a run has done\n"); }

void speak(UnhinderedStream& stream, int lines) {
  for (int i = 0; i < lines; ++i) stream.write(line(i));
}

std::string what_is_there(int reader) {
  std::string text;
  char buffer[8192];
  for (pollfd there{reader, POLLIN, 0}; ::poll(&there, 1, 50) > 0 && (there.revents & POLLIN) != 0;) {
    const ssize_t count = ::read(reader, buffer, sizeof buffer);
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

// Reads on until nothing more comes, as a pager does that is told to.
std::string read_on(UnhinderedStream& stream, int reader) {
  std::string text = what_is_there(reader);
  for (std::size_t before = ~std::size_t{0}; before != text.size();) {
    before = text.size();
    stream.go_on();
    text += what_is_there(reader);
  }
  return text;
}

// Takes lines in order, none twice and none cut, and in every gap how many are missing there. Returns how many gaps
// there are; the control: one at least.
int expect_lines_and_lost(const std::string& text, int spoken) {
  std::istringstream lines(text);
  int taken = 0;
  int gaps = 0;
  for (std::string one; std::getline(lines, one);) {
    if (one + "\n" == line(taken)) {
      ++taken;
      continue;
    }
    int missing = 0;
    EXPECT_EQ(std::sscanf(one.c_str(), "[%d lines", &missing), 1) << one;
    EXPECT_EQ(one, compose("[", missing, " lines are missing here: nobody read on]"));
    EXPECT_GT(missing, 0);
    taken += missing;
    ++gaps;
  }
  EXPECT_EQ(taken, spoken) << "a line is there, or is told as missing";
  EXPECT_GT(gaps, 0) << "the control: all had room";
  return gaps;
}

template <class Way>
class UnhinderedStreamTo : public testing::Test {};
using Ways = testing::Types<Pipe, Terminal, Sockets>;
TYPED_TEST_SUITE(UnhinderedStreamTo, Ways);

TYPED_TEST(UnhinderedStreamTo, AReaderThatReadsGetsEveryLine) {
  TypeParam way;
  UnhinderedStream stream(way.writer);
  std::string expected;
  std::string text;
  for (int i = 0; i < 8; ++i) {
    stream.write(line(i));
    expected += line(i);
    text += what_is_there(way.reader);
  }
  EXPECT_EQ(text + read_on(stream, way.reader), expected);
}

TYPED_TEST(UnhinderedStreamTo, S6OneThatStopsHoldsUpNobodyAndHearsWhatItMissed) {
  constexpr int kMany = kLines * (std::is_same_v<TypeParam, Sockets> ? 4 : 1);  // sockets have more room
  TypeParam way;
  UnhinderedStream stream(way.writer);
  speak(stream, kMany);
  const std::string text = read_on(stream, way.reader);
  const int gaps = expect_lines_and_lost(text, kMany);
  // The system hands a terminal's bytes on by a thread of its own, so that a full one has room again now and then.
  const bool is_one_at_the_end = gaps == 1 && text.ends_with("nobody read on]\n");
  EXPECT_TRUE(is_one_at_the_end || (std::is_same_v<TypeParam, Terminal>)) << gaps;
  stream.write(line(7));
  EXPECT_EQ(read_on(stream, way.reader), line(7)) << "it goes on as before";
}

TYPED_TEST(UnhinderedStreamTo, ItsModeStaysThatOfOtherPrograms) {
  TypeParam way;
  UnhinderedStream stream(way.writer);
  stream.write(line(0));
  EXPECT_EQ(::fcntl(way.writer, F_GETFL) & O_NONBLOCK, 0);
}

TEST(UnhinderedStream, S6KeepsSoMuchUnread) {
  constexpr std::size_t kKept = std::size_t{64} << 10U;
  Pipe pipe;
  UnhinderedStream stream(pipe.writer);
  speak(stream, kLines);
  const std::size_t given = read_on(stream, pipe.reader).size();
  EXPECT_GT(given, kKept);
  EXPECT_LT(given, kKept + kPipeBytes + 2 * line(kLines).size());
}

TEST(UnhinderedStream, ATerminalThatWasStoppedGetsTheRestWhenItGoesOn) {
  Terminal terminal;
  UnhinderedStream stream(terminal.writer);
  ASSERT_EQ(::tcflow(terminal.writer, TCOOFF), 0);  // Ctrl-S
  speak(stream, 3);
  EXPECT_EQ(what_is_there(terminal.reader), "");
  ASSERT_EQ(::tcflow(terminal.writer, TCOON), 0);
  EXPECT_EQ(read_on(stream, terminal.reader), line(0) + line(1) + line(2));
}

TEST(UnhinderedStream, AtTheEndAReaderHasSoLongAndNoLonger) {
  Pipe pipe;
  UnhinderedStream stream(pipe.writer);
  speak(stream, kLines);
  const Instant begun = steady_now();
  stream.finish(std::chrono::milliseconds(100));
  EXPECT_GE(steady_now() - begun, std::chrono::milliseconds(100));
}

TEST(UnhinderedStream, WhoHasGoneIsNotWaitedFor) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  UnhinderedStream stream(pipe.writer);
  speak(stream, kLines);
  ::close(std::exchange(pipe.reader, -1));
  const Instant begun = steady_now();
  stream.finish(std::chrono::hours(1));
  EXPECT_LT(steady_now() - begun, std::chrono::minutes(1));
  std::signal(SIGPIPE, before);
}

TEST(UnhinderedStream, AFileKeepsWhatOthersWroteIntoIt) {
  char name[] = "/tmp/unhindered.XXXXXX";
  const int file = ::mkstemp(name);
  UnhinderedStream stream(file);
  ASSERT_EQ(::write(file, "before\n", 7), 7);
  stream.write(line(0));
  ASSERT_EQ(::write(file, "after\n", 6), 6);
  speak(stream, kLines);
  std::ostringstream text;
  text << std::ifstream(name).rdbuf();
  EXPECT_EQ(text.str().substr(0, 13 + line(0).size()), "before\n" + line(0) + "after\n");
  EXPECT_TRUE(text.str().ends_with(line(kLines - 1))) << "a disk loses nothing";
  ::close(file);
  std::filesystem::remove(name);
}

// As tests do that look at what was said.
TEST(UnhinderedStream, GoesToWhateverItsDescriptorHasByNow) {
  Pipe first;
  Pipe second;
  UnhinderedStream stream(first.writer);
  stream.write(line(0));
  ASSERT_GE(::dup2(second.writer, first.writer), 0);
  stream.write(line(1));
  EXPECT_EQ(what_is_there(first.reader), line(0));
  EXPECT_EQ(what_is_there(second.reader), line(1));
}

}  // namespace
}  // namespace shoal::unhindered_stream_test
