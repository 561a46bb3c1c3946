// The lanes' thread: waits for events and tasks, and gives every lane that can go on a turn.
#include "runtime/transport/lanes/tls_lanes.h"

#include <openssl/rand.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <caf/send.hpp>

#include "runtime/base/clock.h"
#include "runtime/base/ensure.h"
#include "runtime/base/log.h"
#include "runtime/transport/lanes/local_lane_socket.h"
#include "runtime/transport/lanes/tls_lane_socket.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

constexpr int kLookMilliseconds = 500;  // for connections that claim nothing
constexpr int kAheadMilliseconds = 5;   // for users that have caught up

[[nodiscard]] std::uint64_t unguessable_key() {
  std::uint64_t key = 0;
  while (key == 0) {
    ENSURE(RAND_bytes(reinterpret_cast<unsigned char*>(&key), sizeof key) == 1, "the system has randomness");
  }
  return key;
}

}  // namespace

TlsLanes::TlsLanes(std::shared_ptr<const TlsContext> context, const LaneLimits& limits)
    : limits_(limits),
      door_(limits.takes_local_ways ? LocalDoor::open() : std::nullopt),
      rates_{RateBucket(limits.up_bit_s), RateBucket(limits.down_bit_s)},
      dialler_(std::move(context), limits, [this](LinkId link, std::unique_ptr<LaneSocket> opened) {
        add_task(NewConnection{link, std::move(opened)});
      }) {
  if (door_ && !watch_.add(door_->descriptor(), EPOLLIN | EPOLLET)) door_.reset();
  thread_ = std::thread([this] { work(); });
}

TlsLanes::~TlsLanes() { stop(); }

void TlsLanes::stop() {
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
    user_ = nullptr;
  }
  watch_.wake();
  if (thread_.joinable()) thread_.join();
  dialler_.stop();
}

void TlsLanes::tell(const caf::actor& user) {
  const std::lock_guard guard(mutex_);
  if (!is_stopping_) user_ = user;
}

std::uint64_t TlsLanes::expect(LinkId link) {
  const std::lock_guard guard(mutex_);
  LinkLane& lane = links_[link];
  if (lane.key == 0) lane.key = unguessable_key();
  return lane.key;
}

void TlsLanes::open(LinkId link, const Endpoint& endpoint, std::uint64_t key) {
  {
    const std::lock_guard guard(mutex_);
    if (!links_.try_emplace(link).second) return;
  }
  dialler_.open(link, endpoint, key);
}

LaneOutcome TlsLanes::send(LinkId link, EncodedLetter letter) {
  std::shared_ptr<Outbox> outbox;
  {
    const std::lock_guard guard(mutex_);
    const auto found = links_.find(link);
    if (found == links_.end() || !found->second.outbox) return LaneOutcome::kNone;
    outbox = found->second.outbox;
  }
  const Outbox::Put put = outbox->put(std::move(letter));
  if (put.was_idle) add_task(HasOutput{link});
  return put.outcome;
}

void TlsLanes::close(LinkId link) {
  dialler_.forget(link);
  {
    const std::lock_guard guard(mutex_);
    if (links_.erase(link) == 0) return;
  }
  add_task(IsOver{link});
}

void TlsLanes::adopt(Socket socket, ssl_st* session) {
  add_task(
      NewConnection{std::nullopt, std::make_unique<TlsLaneSocket>(std::move(socket), session, limits_.silence_max)});
}

LaneCounters TlsLanes::counters() const {
  const std::lock_guard guard(mutex_);
  LaneCounters counters = counters_;
  counters.dials_failed = dialler_.failures();
  return counters;
}

void TlsLanes::add_task(Task task) {
  const std::lock_guard guard(mutex_);
  if (is_stopping_) return;
  tasks_.push_back(std::move(task));
  watch_.wake();
}

bool TlsLanes::is_stopping() const {
  const std::lock_guard guard(mutex_);
  return is_stopping_;
}

void TlsLanes::work() {
  while (!is_stopping()) {
    for (const DescriptorEvent& event : watch_.wait(wait_ms(steady_now()))) hear(event);
    do_tasks();
    std::erase_if(connections_, [this](const auto& entry) {
      LaneConnection& connection = *entry.second;
      const bool is_alive = !can_go_on(connection, steady_now()) || turn(connection);
      if (!is_alive && connection.link()) bound_.erase(*connection.link());
      return !is_alive;
    });
    end_unclaimed();
  }
  connections_.clear();
}

// A connection that has shown no key yet waits for no rate: its greeting is small, and has a deadline.
bool TlsLanes::can_go_on(const LaneConnection& connection, Instant when) const {
  const bool may_read = !connection.link() || rates_.down.may_go(when);
  return (connection.can_read() && may_read) || (connection.can_write() && rates_.up.may_go(when));
}

int TlsLanes::wait_ms(Instant when) const {
  Duration wait = std::chrono::milliseconds(kLookMilliseconds);
  for (const auto& [descriptor, connection] : connections_) {
    if (can_go_on(*connection, when)) return 0;
    if (connection->can_read()) wait = std::min(wait, rates_.down.wait(when));
    if (connection->can_write()) wait = std::min(wait, rates_.up.wait(when));
    if (connection->is_ahead()) wait = std::min<Duration>(wait, std::chrono::milliseconds(kAheadMilliseconds));
  }
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count());
}

void TlsLanes::hear(const DescriptorEvent& event) {
  if (door_ && event.descriptor == door_->descriptor()) return accept_locally();
  const auto found = connections_.find(event.descriptor);
  if (found == connections_.end()) return;
  found->second->is_writable();  // TLS may want to read before it writes
  if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) found->second->is_readable();
}

// Accepts all there are: a visitor that cannot be taken in, for want of descriptors, brings no event again, uses TLS.
void TlsLanes::accept_locally() {
  for (auto visit = door_->accept(); visit.socket || visit.was_refused; visit = door_->accept()) {
    if (visit.socket) {
      add_task(NewConnection{std::nullopt, std::make_unique<LocalLaneSocket>(std::move(*visit.socket))});
      continue;
    }
    log_refusal(kTransportLog, local_refusals_.refused(steady_now()),
                "turned another user's process away from the local door");
    const std::lock_guard guard(mutex_);
    ++counters_.refused;
  }
}

void TlsLanes::do_tasks() {
  std::vector<Task> tasks;
  {
    const std::lock_guard guard(mutex_);
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) std::visit([this](auto& one) { do_task(one); }, task);
}

void TlsLanes::do_task(NewConnection& task) {
  if (!task.link) make_room_for_newcomer();
  const int descriptor = task.socket->descriptor();
  auto connection = std::make_unique<LaneConnection>(std::move(task.socket), limits_, steady_now());
  if (!watch_.add(descriptor, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)) {
    log_warn(kTransportLog, "a lane cannot be watched and is closed: ", std::strerror(errno));
    if (task.link) change(*task.link, LaneChange::Kind::kLost, "it cannot be watched");
    return;
  }
  if (task.link && !bind(*connection, *task.link)) return;
  connections_[descriptor] = std::move(connection);
}

// Ends the oldest of too many connections that have shown no key: an honest peer shows its key at once.
void TlsLanes::make_room_for_newcomer() {
  std::size_t unclaimed = 0;
  auto oldest = connections_.end();
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    if (at->second->link()) continue;
    ++unclaimed;
    if (oldest == connections_.end() || at->second->began() < oldest->second->began()) oldest = at;
  }
  if (unclaimed < limits_.unclaimed_max) return;
  connections_.erase(oldest);
  const std::lock_guard guard(mutex_);
  ++counters_.refused;
}

void TlsLanes::do_task(const HasOutput& task) {
  const auto bound = bound_.find(task.link);
  if (bound != bound_.end()) connections_.at(bound->second)->has_output();
}

void TlsLanes::do_task(const IsOver& task) {
  const auto bound = bound_.find(task.link);
  if (bound == bound_.end()) return;
  connections_.erase(bound->second);
  bound_.erase(bound);
}

bool TlsLanes::turn(LaneConnection& connection) {
  LaneConnection::Heard heard = connection.read(steady_now(), rates_.down);
  if (heard.letter) deliver(connection, std::move(*heard.letter));
  if (heard.arriving) tell_progress(*connection.link(), std::move(*heard.arriving));
  if (heard.claim && !claim(connection, *heard.claim)) return false;
  LaneConnection::Said said;
  if (heard.broken.empty()) said = connection.write(steady_now(), rates_.up);
  if (said.has_room_again) change(*connection.link(), LaneChange::Kind::kRoom);
  const std::string& broken = heard.broken.empty() ? said.broken : heard.broken;
  if (broken.empty()) return true;
  break_off(connection, broken);
  return false;
}

bool TlsLanes::claim(LaneConnection& connection, const LaneClaim& claim) {
  std::optional<LinkId> link;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [known, lane] : links_) {
      if (lane.key != 0 && lane.key == claim.key && !lane.outbox) link = known;
    }
    if (!link) ++counters_.refused;
  }
  if (!link) {
    log_warn(kTransportLog, "closed a lane that was opened with a key of no link");
    return false;
  }
  if (claim.way == 0 || claim.way != connection.way() || !door_) return bind(connection, *link);
  connection.refer_to(door_->name());
  return true;
}

bool TlsLanes::bind(LaneConnection& connection, LinkId link) {
  auto outbox = std::make_shared<Outbox>(limits_.queue_bytes_max);
  {
    const std::lock_guard guard(mutex_);
    const auto found = links_.find(link);
    if (found == links_.end()) return false;
    found->second.outbox = outbox;
    ++counters_.opened;
    if (connection.is_local()) ++counters_.opened_locally;
  }
  connection.bind(link, std::move(outbox));
  bound_[link] = connection.descriptor();
  change(link, LaneChange::Kind::kUp);
  return true;
}

// The link's entry stays: its user ends the link now, and nothing is taken for the lane until then.
void TlsLanes::break_off(const LaneConnection& connection, const std::string& reason) {
  {
    const std::lock_guard guard(mutex_);
    if (connection.link()) {
      ++counters_.broken;
    } else if (!connection.was_referred()) {
      ++counters_.refused;
    }
  }
  const auto kind = connection.was_ended_by_peer() ? LaneChange::Kind::kEndedByPeer : LaneChange::Kind::kLost;
  if (connection.link()) change(*connection.link(), kind, reason);
}

void TlsLanes::end_unclaimed() {
  const Instant limit = steady_now() - limits_.claim_timeout;
  const auto ended = std::erase_if(connections_, [limit](const auto& connection) {
    return !connection.second->link() && connection.second->began() < limit;
  });
  if (ended == 0) return;
  const std::lock_guard guard(mutex_);
  counters_.refused += ended;
}

void TlsLanes::deliver(LaneConnection& connection, Assembled assembled) {
  EncodedLetter letter{std::move(assembled.letter), std::move(assembled.buffers)};
  auto receipt = connection.receipt_for(byte_count(letter));
  LaneLetter message{connection.link()->value, std::move(letter), assembled.took, std::move(receipt)};
  const std::lock_guard guard(mutex_);
  if (user_) caf::anon_send(user_, std::move(message));
}

void TlsLanes::tell_progress(LinkId link, Arriving arriving) {
  LaneProgress message{link.value, std::move(arriving.letter), arriving.received, arriving.took};
  const std::lock_guard guard(mutex_);
  if (user_) caf::anon_send(user_, std::move(message));
}

void TlsLanes::change(LinkId link, LaneChange::Kind kind, const std::string& reason) {
  const std::lock_guard guard(mutex_);
  if (user_) caf::anon_send(user_, LaneChange{link.value, kind, reason});
}

}  // namespace shoal
