// The handler only writes what was composed before, which is allowed in a signal handler.
#include "launch/end_limit.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>

namespace shoal {
namespace {

std::array<char, 256> g_line;
std::size_t g_line_size = 0;
int g_status = 0;

void end_now(int /*signal*/) {
  pollfd room{STDERR_FILENO, POLLOUT, 0};  // a terminal that nobody reads must not hold up this, too
  if (::poll(&room, 1, 0) > 0) {
    const ssize_t ignored = ::write(STDERR_FILENO, g_line.data(), g_line_size);
    (void)ignored;
  }
  ::_exit(g_status);
}

void set_limit(const std::string& who, const char* what, std::chrono::seconds limit, int status) {
  const auto seconds = std::max<long>(limit.count(), 1);
  const int size = std::snprintf(g_line.data(), g_line.size(),
                                 "%.80s: its %s took longer than %ld s, as it may where the machine gives no more "
                                 "memory or threads (see `ulimit -a`); ending now\n",
                                 who.c_str(), what, seconds);
  g_line_size = std::min(static_cast<std::size_t>(std::max(size, 0)), g_line.size() - 1);
  g_status = status;
  struct sigaction action {};
  action.sa_handler = end_now;
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  ::alarm(static_cast<unsigned>(seconds));
}

}  // namespace

void limit_end(const std::string& who, std::chrono::seconds limit, int status) { set_limit(who, "end", limit, status); }

StartLimit::StartLimit(const std::string& who, std::chrono::seconds limit, int status) {
  set_limit(who, "start", limit, status);
}

StartLimit::~StartLimit() { ::alarm(0); }

}  // namespace shoal
