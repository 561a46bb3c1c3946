// A libnccl.so.2 for machines without a GPU: the functions that sums use, over host memory, between threads and
// processes. Like NVIDIA's, it answers "in progress" and works in a thread of its own: an all-reduce is first queued,
// which the communicator says, then done, which its stream says. Faults: planted.h.
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/device/nccl/nccl_library.h"
#include "tests/support/nccl/meeting.h"
#include "tests/support/nccl/planted.h"

namespace shoal {
namespace {

constexpr int kSystemError = 2;
constexpr int kInvalidArgument = 4;

struct HostStream {
  std::atomic<int> pending = 0;
};

struct Sum {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t byte_count = 0;
  bool is_integer = false;
  HostStream* stream = nullptr;
};

void note(const std::string& line) { std::ofstream(planted::folder() / "sums.log", std::ios::app) << line + "\n"; }

[[nodiscard]] int code_of(MeetingEnd end) {
  switch (end) {
    case MeetingEnd::kDone: return kNcclSuccess;
    case MeetingEnd::kPeerGone: return kNcclRemoteError;
    case MeetingEnd::kStopped:
    case MeetingEnd::kFailed: return kSystemError;
  }
  return kSystemError;
}

class Communicator {
 public:
  Communicator(const std::string& name, int rank, int size)
      : is_first_(rank == 0),
        meeting_(name, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size),
                 [this] { return stops_.load(); }),
        worker_([this] { work(); }) {}

  ~Communicator() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    worker_.join();
    for (const Sum& sum : sums_) --sum.stream->pending;
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int state() const { return state_; }
  void queue(const Sum& sum) {
    ++sum.stream->pending;
    state_ = kNcclInProgress;
    {
      const std::lock_guard lock(mutex_);
      sums_.push_back(sum);
    }
    changed_.notify_all();
  }

 private:
  void work() {
    const int joined = planted::is_there("init_fails") ? kSystemError : code_of(meeting_.join());
    if (joined == kNcclSuccess && is_first_) note("communicator");
    state_ = joined;
    while (auto sum = next()) {
      state_ = kNcclSuccess;  // it is queued
      if (is_first_) note("sum");
      int done = planted::is_there("sum_fails") ? kSystemError : kNcclSuccess;
      if (done == kNcclSuccess) done = code_of(meeting_.add_up(sum->from, sum->to, sum->byte_count, sum->is_integer));
      if (done != kNcclSuccess) state_ = done;
      --sum->stream->pending;
    }
    meeting_.leave();
  }
  [[nodiscard]] std::unique_ptr<Sum> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stops_ || !sums_.empty(); });
    if (stops_) return nullptr;
    auto sum = std::make_unique<Sum>(sums_.front());
    sums_.pop_front();
    return sum;
  }

  const bool is_first_;
  std::atomic<bool> stops_ = false;
  std::atomic<int> state_ = kNcclInProgress;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Sum> sums_;
  Meeting meeting_;
  std::thread worker_;  // last: it uses all the others
};

}  // namespace
}  // namespace shoal

extern "C" {

__attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  const long other = shoal::planted::value_of("version");
  *version = other == 0 ? 22809 : static_cast<int>(other);
  return shoal::kNcclSuccess;
}

__attribute__((visibility("default"))) int ncclGetUniqueId(shoal::NcclId* id) {
  const std::string name = shoal::Meeting::make();
  id->bytes = {};
  if (name.empty() || name.size() >= id->bytes.size()) return shoal::kSystemError;
  std::memcpy(id->bytes.data(), name.data(), name.size());
  return shoal::kNcclSuccess;
}

__attribute__((visibility("default"))) int ncclCommInitRankConfig(void** comm, int size, shoal::NcclId id, int rank,
                                                                  shoal::NcclConfig* config) {
  const bool is_known = config->magic == 0xcafebeef && config->blocking == 0;
  const bool fits = rank >= 0 && rank < size && size <= static_cast<int>(shoal::kMeetingMembersMax);
  if (!is_known || !fits) return shoal::kInvalidArgument;
  *comm = new shoal::Communicator(id.bytes.data(), rank, size);
  return shoal::kNcclInProgress;
}

__attribute__((visibility("default"))) int ncclAllReduce(const void* from, void* to, std::size_t count, int type,
                                                         int operation, void* comm, void* stream) {
  const bool is_integer = type == shoal::kNcclInt64;
  const bool is_known = operation == shoal::kNcclSum && (is_integer || type == shoal::kNcclFloat32);
  if (!is_known || stream == nullptr) return shoal::kInvalidArgument;
  static_cast<shoal::Communicator*>(comm)->queue(
      {from, to, count * (is_integer ? 8 : 4), is_integer, static_cast<shoal::HostStream*>(stream)});
  return shoal::kNcclInProgress;
}

__attribute__((visibility("default"))) int ncclCommGetAsyncError(void* comm, int* error) {
  *error = static_cast<shoal::Communicator*>(comm)->state();
  return shoal::kNcclSuccess;
}

__attribute__((visibility("default"))) int ncclCommAbort(void* comm) {
  while (shoal::planted::is_there("abort_hangs")) ::poll(nullptr, 0, 1);
  delete static_cast<shoal::Communicator*>(comm);
  return shoal::kNcclSuccess;
}

__attribute__((visibility("default"))) const char* ncclGetErrorString(int error) {
  return error == shoal::kNcclRemoteError ? "remote process exited" : "unhandled system error";
}

__attribute__((visibility("default"))) const char* ncclGetLastError(void* /*comm*/) { return "of the tests' library"; }

__attribute__((visibility("default"))) void* shoal_host_stream_create() { return new shoal::HostStream(); }

__attribute__((visibility("default"))) int shoal_host_stream_query(void* stream) {
  return static_cast<shoal::HostStream*>(stream)->pending == 0 ? shoal::kNcclSuccess : shoal::kNcclInProgress;
}

__attribute__((visibility("default"))) void shoal_host_stream_destroy(void* stream) {
  delete static_cast<shoal::HostStream*>(stream);
}
}
