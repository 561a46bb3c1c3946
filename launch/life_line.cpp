// A pair of sockets rather than a pipe: a keeper that is gone must not end the process that tells it something.
#include "launch/life_line.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/time/life_watch.h"

namespace shoal {
namespace {

constexpr Duration kBetweenSigns = std::chrono::milliseconds(500);
constexpr Duration kKeeperPatience = std::chrono::seconds(10);  // a keeper reads once a second or more often
constexpr std::size_t kLongestSign = 32;

std::atomic<int> to_keeper = -1;  // -1: nobody keeps this process
std::atomic<LifeReached> told = LifeReached::kNothing;

// Holds what this process shows of itself, whichever of its threads does.
struct Shown {
  std::mutex mutex;
  Duration allowed = LifeWatch::kAnySilence;
  Instant at{};
  bool is_ending = false;
  LifeWatch keeper{};
} shown;

// False while the keeper has not read what was sent to it. A system that cannot say is no reason to doubt.
bool is_all_read() {
  int unread = 0;
  return ::ioctl(to_keeper, SIOCOUTQ, &unread) != 0 || unread == 0;
}

// With shown.mutex held, so that a later sign is not overtaken by an earlier one.
void send_sign() {
  using std::chrono::milliseconds;
  const LifeReached reached = told;
  const char letter = reached == LifeReached::kWork ? 'w' : reached == LifeReached::kUp ? 'u' : 'n';
  const std::string sign = compose(letter, std::chrono::duration_cast<milliseconds>(shown.allowed).count());
  (void)::send(to_keeper, sign.data(), sign.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Returns nothing for what is no sign.
std::optional<Duration> silence_allowed(std::string_view sign) {
  std::int64_t ms = 0;
  const char* const end = sign.data() + sign.size();
  const auto read = std::from_chars(sign.data() + 1, end, ms);
  if (read.ec != std::errc() || read.ptr != end || ms < 0) return std::nullopt;
  return std::chrono::milliseconds(ms);
}

}  // namespace

Result<LifeLine> LifeLine::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return fail(Error::kIo, compose("cannot make a pair of sockets: ", std::strerror(errno)));
  }
  LifeLine line;
  line.near_ = ends[0];
  line.far_ = ends[1];
  return line;
}

LifeLine::LifeLine(LifeLine&& other) noexcept
    : near_(std::exchange(other.near_, -1)), far_(std::exchange(other.far_, -1)), reached_(other.reached_) {}

LifeLine& LifeLine::operator=(LifeLine&& other) noexcept {
  std::swap(near_, other.near_);
  std::swap(far_, other.far_);
  reached_ = other.reached_;
  return *this;
}

LifeLine::~LifeLine() {
  close_far_end();
  if (near_ >= 0) ::close(near_);
}

void LifeLine::close_far_end() {
  if (far_ >= 0) ::close(far_);
  far_ = -1;
}

std::optional<Duration> LifeLine::hear() {
  std::optional<Duration> newest;
  std::array<char, kLongestSign> sign;
  while (near_ >= 0) {
    const ssize_t size = ::recv(near_, sign.data(), sign.size(), 0);
    if (size <= 0) break;
    const auto allowed = silence_allowed({sign.data(), static_cast<std::size_t>(size)});
    if (!allowed) continue;
    newest = allowed;
    if (sign[0] == 'w') reached_ = LifeReached::kWork;
    if (sign[0] == 'u' && reached_ == LifeReached::kNothing) reached_ = LifeReached::kUp;
  }
  return newest;
}

void take_life_line() {
  const char* number = std::getenv(kLifeLineName);
  if (number == nullptr) return;
  const int end = std::atoi(number);
  ::unsetenv(kLifeLineName);
  struct stat what {};
  if (end <= STDERR_FILENO || ::fstat(end, &what) != 0 || !S_ISSOCK(what.st_mode)) return;
  ::fcntl(end, F_SETFD, FD_CLOEXEC);
  to_keeper = end;
}

void tell_keeper(LifeReached reached) {
  if (told.load(std::memory_order_relaxed) >= reached || to_keeper < 0) return;
  const std::lock_guard guard(shown.mutex);
  if (told.exchange(reached) < reached) send_sign();
}

void show_life(Duration allowed) {
  if (to_keeper < 0) return;
  const std::lock_guard guard(shown.mutex);
  const Instant now = SteadyClock().now();
  if (shown.is_ending || (shown.at != Instant{} && now - shown.at < kBetweenSigns)) return;
  shown.at = now;
  shown.allowed = allowed;
  // Looked at before each sign: however signs and reads alternate, one finds that everything before it was read.
  shown.keeper.look(is_all_read() ? std::optional(kKeeperPatience) : std::nullopt, now);
  send_sign();
}

void show_end() {
  if (to_keeper < 0) return;
  const std::lock_guard guard(shown.mutex);
  shown.is_ending = true;
  shown.allowed = LifeWatch::kAnySilence;
  send_sign();
}

std::optional<Duration> keeper_silence() {
  const std::lock_guard guard(shown.mutex);
  return shown.keeper.silent_too_long();
}

}  // namespace shoal
