// One thread with poll(): requests of processes, doors, relays. Its state is behind one mutex, which poll() leaves
// free.
#include "tests/emulator/emulator.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "tests/emulator/link_names.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr auto kDoorOpen = 10s;
constexpr auto kDialLimit = 1s;
constexpr auto kRequestLimit = 1s;
constexpr std::size_t kRequestBytes = 4096;

// Full once one connection waits in it: further ones get no answer at all.
Socket listen_nowhere(std::uint16_t& port, Socket& filler) {
  auto listener = listen_on({"127.0.0.1", 0});
  ENSURE(listener.ok(), "a port of the loopback");
  ::listen(listener->descriptor(), 0);
  port = local_port(listener->descriptor());
  auto first = dial({"127.0.0.1", port}, steady_now() + kDialLimit);
  ENSURE(first.ok(), "the loopback takes a first connection");
  filler = std::move(*first);
  return std::move(*listener);
}

Socket listen_for_requests(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ENSURE(path.size() < sizeof address.sun_path, "the path of the emulator's socket is too long");
  std::copy(path.begin(), path.end(), address.sun_path);
  Socket listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int bound = ::bind(listener.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ENSURE(bound == 0 && ::listen(listener.descriptor(), SOMAXCONN) == 0, "cannot listen for requests at " + path);
  return listener;
}

bool is_ready(const pollfd& wait) { return (wait.revents & (POLLIN | POLLHUP | POLLERR)) != 0; }

}  // namespace

LinkEmulator::LinkEmulator(std::uint64_t seed) : next_seed_(seed) {
  std::string pattern = (std::filesystem::temp_directory_path() / "shoal-links.XXXXXX").string();
  ENSURE(::mkdtemp(pattern.data()) != nullptr, "cannot make a folder for the emulator's socket");
  folder_ = pattern;
  requests_ = listen_for_requests((folder_ / "socket").string());
  wake_ = Socket(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  nowhere_ = listen_nowhere(nowhere_port_, nowhere_filler_);
  thread_ = std::thread([this] { run(); });
}

LinkEmulator::~LinkEmulator() {
  {
    const std::lock_guard guard(mutex_);
    is_ending_ = true;
  }
  ::eventfd_write(wake_.descriptor(), 1);
  thread_.join();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::map<std::string, std::string> LinkEmulator::environment() const {
  return {{"LD_PRELOAD", SHOAL_BUILD_DIR "/bin/libshoal-links.so"}, {"SHOAL_LINKS", (folder_ / "socket").string()}};
}

Status LinkEmulator::command(std::string_view text) {
  const std::lock_guard guard(mutex_);
  Status obeyed = obey(text);
  ::eventfd_write(wake_.descriptor(), 1);
  return obeyed;
}

Status LinkEmulator::obey(std::string_view text) {
  auto command = parse_link_command(text);
  if (!command) return command.failure();
  for (Relay& relay : relays_) {
    const LinkEnds& ends = relay.ends();
    for (const std::size_t direction : {0U, 1U}) {
      const bool is_meant =
          direction == 0 ? command->concerns(ends.from, ends.to) : command->concerns(ends.to, ends.from);
      if (!is_meant) continue;
      if (command->verb == LinkVerb::kCorrupt) relay.pipe(direction).corrupt_next();
      if (command->verb == LinkVerb::kDuplicate) relay.pipe(direction).duplicate_next();
      if (command->verb == LinkVerb::kReset) relay.reset();
    }
  }
  rules_.apply(std::move(*command), steady_now());
  return Done{};
}

LinkCounts LinkEmulator::counts(const std::string& from, const std::string& to) const {
  const std::lock_guard guard(mutex_);
  LinkCounts sum;
  const auto add = [&](const std::pair<std::string, std::string>& names, const LinkCounts& counts) {
    if ((from != "*" && from != names.first) || (to != "*" && to != names.second)) return;
    sum.connections += counts.connections;
    sum.bytes += counts.bytes;
    sum.damage.corrupted += counts.damage.corrupted;
    sum.damage.duplicated += counts.damage.duplicated;
  };
  for (const auto& [names, counts] : counts_) add(names, counts);
  for (const Relay& relay : relays_) {
    add({relay.ends().from, relay.ends().to}, {0, relay.bytes_out(0), relay.pipe(0).damage()});
    add({relay.ends().to, relay.ends().from}, {0, relay.bytes_out(1), relay.pipe(1).damage()});
  }
  return sum;
}

void LinkEmulator::count(const Relay& relay) {
  for (const std::size_t direction : {0U, 1U}) {
    const LinkEnds& ends = relay.ends();
    LinkCounts& counts = direction == 0 ? counts_[{ends.from, ends.to}] : counts_[{ends.to, ends.from}];
    counts.bytes += relay.bytes_out(direction);
    counts.damage.corrupted += relay.pipe(direction).damage().corrupted;
    counts.damage.duplicated += relay.pipe(direction).damage().duplicated;
  }
}

FaultsOfRelay LinkEmulator::faults_of(const LinkEnds& ends, Instant now) const {
  return {rules_.faults(ends.from, ends.to, now), rules_.faults(ends.to, ends.from, now)};
}

void LinkEmulator::run() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    work(steady_now());
    std::vector<pollfd> waiting = waits(steady_now());
    const int limit = timeout_ms(steady_now());
    lock.unlock();
    ::poll(waiting.data(), waiting.size(), limit);
    lock.lock();
    eventfd_t ignored = 0;
    if (is_ready(waiting[0])) ::eventfd_read(wake_.descriptor(), &ignored);
    if (is_ready(waiting[1])) answer_requests();
    accept_at_doors(steady_now());
  }
}

void LinkEmulator::work(Instant now) {
  for (auto relay = relays_.begin(); relay != relays_.end();) {
    if (!relay->is_over()) relay->work(faults_of(relay->ends(), now), now);
    if (!relay->is_over()) {
      ++relay;
      continue;
    }
    count(*relay);
    relay = relays_.erase(relay);
  }
}

void LinkEmulator::accept_at_doors(Instant now) {
  for (auto door = doors_.begin(); door != doors_.end();) {
    Socket arrived(::accept4(door->listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!arrived.is_open() && now < door->until) {
      ++door;
      continue;
    }
    if (arrived.is_open()) {
      ++counts_[{door->ends.from, door->ends.to}].connections;
      relays_.emplace_back(std::move(arrived), std::move(door->target), door->ends, next_seed_ += 2);
    }
    door = doors_.erase(door);
  }
}

std::vector<pollfd> LinkEmulator::waits(Instant now) const {
  std::vector<pollfd> waiting = {{wake_.descriptor(), POLLIN, 0}, {requests_.descriptor(), POLLIN, 0}};
  for (const Door& door : doors_) waiting.push_back({door.listener.descriptor(), POLLIN, 0});
  for (const Relay& relay : relays_) {
    for (const pollfd& wait : relay.waits(faults_of(relay.ends(), now), now)) waiting.push_back(wait);
  }
  return waiting;
}

int LinkEmulator::timeout_ms(Instant now) const {
  std::optional<Instant> next = rules_.next_change(now);
  const auto consider = [&next](const std::optional<Instant>& due) {
    if (due) next = std::min(next.value_or(*due), *due);
  };
  for (const Door& door : doors_) consider(door.until);
  for (const Relay& relay : relays_) consider(relay.next(faults_of(relay.ends(), now), now));
  if (!next) return -1;
  return static_cast<int>(
      std::chrono::ceil<std::chrono::milliseconds>(std::max(*next - now, Duration::zero())).count());
}

// A question comes in one packet and is answered by one; a program that does not speak within the limit is left.
void LinkEmulator::answer_requests() {
  while (true) {
    const Socket asker(::accept4(requests_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!asker.is_open()) return;
    if (!wait_readable(asker.descriptor(), steady_now() + kRequestLimit)) continue;
    char bytes[kRequestBytes];
    const ssize_t count = ::recv(asker.descriptor(), bytes, sizeof bytes, 0);
    if (count <= 0) continue;
    const std::string reply = answer(std::string(bytes, static_cast<std::size_t>(count)));
    (void)::send(asker.descriptor(), reply.data(), reply.size(), MSG_NOSIGNAL);
  }
}

std::string LinkEmulator::answer(const std::string& request) {
  std::istringstream words(request);
  std::string verb;
  pid_t pid = 0;
  HostPort address;
  words >> verb >> pid >> address.host >> address.port;
  if (verb == "listen" && words) return answer_listen(link_name_of(pid), address);
  if (verb == "connect" && words) return answer_connect(link_name_of(pid), address);
  const Status obeyed = obey(request);
  return obeyed ? "done" : obeyed.failure().message;
}

std::string LinkEmulator::answer_listen(const std::string& name, const HostPort& address) {
  listeners_[{address.host, address.port}] = name;
  return "done";
}

std::string LinkEmulator::answer_connect(const std::string& name, const HostPort& address) {
  auto listener = listeners_.find({address.host, address.port});
  if (listener == listeners_.end()) listener = listeners_.find({"0.0.0.0", address.port});
  if (listener == listeners_.end()) return "direct";
  const auto door = make_door({name, listener->second}, address);
  if (!door) return "refused";
  return *door ? compose("door ", **door) : compose("nowhere ", nowhere_port_);
}

Result<std::optional<std::uint16_t>> LinkEmulator::open_door(const LinkEnds& ends, const HostPort& target) {
  const std::lock_guard guard(mutex_);
  auto door = make_door(ends, target);
  ::eventfd_write(wake_.descriptor(), 1);
  return door;
}

Result<std::optional<std::uint16_t>> LinkEmulator::make_door(const LinkEnds& ends, const HostPort& target) {
  const Instant now = steady_now();
  const FaultsOfRelay faults = faults_of(ends, now);
  if (faults[0].is_cut || faults[1].is_cut) return std::optional<std::uint16_t>();
  auto dialled = dial(target, now + kDialLimit);
  if (!dialled) return dialled.failure();
  auto listener = listen_on({target.host, 0});
  if (!listener) return listener.failure();
  const std::uint16_t port = local_port(listener->descriptor());
  doors_.push_back({std::move(*listener), std::move(*dialled), ends, now + kDoorOpen});
  return std::optional(port);
}

}  // namespace shoal
