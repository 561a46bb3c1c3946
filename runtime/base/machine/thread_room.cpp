// Threads with small stacks that wait for one lock: a run's worth of them takes a millisecond and little address space.
#include "runtime/base/machine/thread_room.h"

#include <pthread.h>
#include <sys/resource.h>

#include <mutex>
#include <vector>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;  // enough for the thread-local data of every library

void* wait_for(void* door) {
  const std::lock_guard open(*static_cast<std::mutex*>(door));
  return nullptr;
}

std::string user_limit_words() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "`ulimit -u`";
  return compose("`ulimit -u`, which is ", limit.rlim_cur, " for all of this user's processes");
}

}  // namespace

std::string thread_lack_text(const std::string& what) {
  return compose("the system gives no more threads or processes: ", what, "; raise ", user_limit_words(),
                 ", TasksMax of the systemd unit, or the limit of pids of the container");
}

Status check_thread_room(std::size_t wanted) {
  std::vector<pthread_t> started;
  started.reserve(wanted);
  std::mutex door;
  std::unique_lock closed(door);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  while (started.size() < wanted) {
    pthread_t thread{};
    if (::pthread_create(&thread, &attributes, wait_for, &door) != 0) break;
    started.push_back(thread);
  }
  ::pthread_attr_destroy(&attributes);
  closed.unlock();
  for (const pthread_t thread : started) ::pthread_join(thread, nullptr);
  if (started.size() == wanted) return Done{};
  return fail(Error::kUsage,
              thread_lack_text(compose(wanted, " more are needed here, and there is room for ", started.size())));
}

}  // namespace shoal
