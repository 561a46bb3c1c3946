// Counters only rise, so that a wait is one comparison.
#include "tests/support/nccl/meeting.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/support/nccl/planted.h"

namespace shoal {
namespace {

void pause(int milliseconds = 1) { ::poll(nullptr, 0, milliseconds); }

template <class Value>
void add(const std::byte* more, std::byte* sum, std::size_t byte_count) {
  for (std::size_t at = 0; at < byte_count; at += sizeof(Value)) {
    Value one{};
    Value two{};
    std::memcpy(&one, sum + at, sizeof(Value));
    std::memcpy(&two, more + at, sizeof(Value));
    one += two;
    std::memcpy(sum + at, &one, sizeof(Value));
  }
}

}  // namespace

std::string Meeting::make() {
  static std::atomic<std::uint32_t> count = 0;
  const std::string name = "/shoal-nccl-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  const int file = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0) return {};
  const bool has_size = ::ftruncate(file, sizeof(MeetingPlace)) == 0;  // zeros
  ::close(file);
  return has_size ? name : std::string();
}

Meeting::Meeting(std::string name, std::uint32_t rank, std::uint32_t size, std::function<bool()> stop)
    : name_(std::move(name)), rank_(rank), size_(size), stop_(std::move(stop)) {
  const int file = ::shm_open(name_.c_str(), O_RDWR, 0600);
  if (file < 0) return;
  void* const mapped = ::mmap(nullptr, sizeof(MeetingPlace), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped != MAP_FAILED) place_ = static_cast<MeetingPlace*>(mapped);
}

Meeting::~Meeting() {
  if (place_ == nullptr) return;
  leave();
  if (rank_ == 0) ::shm_unlink(name_.c_str());
  ::munmap(place_, sizeof(MeetingPlace));
}

void Meeting::leave() {
  if (place_ != nullptr) place_->members[rank_].has_left = 1;
}

bool Meeting::is_somebody_gone() const {
  return std::any_of(place_->members.begin(), place_->members.begin() + size_, [](const MeetingMember& member) {
    const std::int32_t process = member.process;
    return member.has_left != 0 || (process != 0 && ::kill(process, 0) != 0);
  });
}

MeetingEnd Meeting::wait_until(const std::function<bool()>& holds) const {
  while (!stop_()) {
    if (holds()) return MeetingEnd::kDone;
    if (is_somebody_gone() && !holds()) return MeetingEnd::kPeerGone;
    pause();
  }
  return MeetingEnd::kStopped;
}

MeetingEnd Meeting::join() {
  if (place_ == nullptr) return MeetingEnd::kFailed;
  place_->members[rank_].process = ::getpid();
  if (++place_->arrived == size_) ::shm_unlink(name_.c_str());
  return wait_until([this] { return place_->arrived >= size_; });
}

void Meeting::add_chunk(std::byte* to, std::size_t byte_count, bool is_integer) const {
  std::memcpy(to, place_->chunks[0].data(), byte_count);
  for (std::uint32_t member = 1; member < size_; ++member) {
    const std::byte* const more = place_->chunks[member].data();
    is_integer ? add<std::uint64_t>(more, to, byte_count) : add<float>(more, to, byte_count);
  }
}

MeetingEnd Meeting::add_up(const void* from, void* to, std::size_t byte_count, bool is_integer) {
  const auto all = [this](auto MeetingMember::*counter, std::uint64_t least) {
    return std::all_of(place_->members.begin(), place_->members.begin() + size_,
                       [&](const MeetingMember& member) { return member.*counter >= least; });
  };
  MeetingMember& self = place_->members[rank_];
  for (std::size_t at = 0; at < byte_count; at += kMeetingChunk) {
    const std::size_t length = std::min(kMeetingChunk, byte_count - at);
    const std::uint64_t chunks_before = self.written;
    while (planted::is_there("sum_hangs") && !stop_()) pause();
    if (const long slow = planted::value_of("chunk_ms")) pause(static_cast<int>(slow));
    auto end = wait_until([&] { return all(&MeetingMember::read, chunks_before); });
    if (end != MeetingEnd::kDone) return end;
    std::memcpy(place_->chunks[rank_].data(), static_cast<const std::byte*>(from) + at, length);
    self.written = chunks_before + 1;
    end = wait_until([&] { return all(&MeetingMember::written, chunks_before + 1); });
    if (end != MeetingEnd::kDone) return end;
    add_chunk(static_cast<std::byte*>(to) + at, length, is_integer);
    self.read = chunks_before + 1;
  }
  return MeetingEnd::kDone;
}

}  // namespace shoal
