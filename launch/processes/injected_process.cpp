// SIGSTOP stops every thread of a process, so somebody else must end it: a child that holds nothing of its parent's.
#include "launch/processes/injected_process.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "runtime/base/log.h"

namespace shoal {
namespace {

constexpr long kLookNs = 20'000'000;

// In the child of a process with threads: only calls that are safe in a signal handler. Descriptors are closed, or the
// sockets of a parent that is killed meanwhile would stay open.
[[noreturn]] void stop_and_continue(pid_t parent, std::uint64_t freeze_ms) {
  ::syscall(SYS_close_range, 0U, ~0U, 0U);
  ::kill(parent, SIGSTOP);
  for (std::uint64_t waited_ns = 0; waited_ns < freeze_ms * 1'000'000 && ::getppid() == parent; waited_ns += kLookNs) {
    const timespec pause{0, kLookNs};
    ::nanosleep(&pause, nullptr);
  }
  if (::getppid() == parent) ::kill(parent, SIGCONT);
  ::_exit(0);
}

void freeze(std::uint64_t freeze_ms) {
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) stop_and_continue(self, freeze_ms);
  if (child < 0) return log_warn("process", "cannot freeze: no child process can be made");
  std::thread([child] {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }).detach();
}

}  // namespace

void fail_process(const Inject& order, const std::shared_ptr<ExitLatch>& exit) {
  flush_log();
  switch (order.how) {
    case InjectKind::kExit: return exit->set(1, compose("injection ", order.id));
    case InjectKind::kKill: ::kill(::getpid(), SIGKILL); return;
    case InjectKind::kThrow: std::abort();
    case InjectKind::kFreeze: return freeze(order.freeze_ms);
  }
}

}  // namespace shoal
