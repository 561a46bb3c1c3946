// One thread starts what the port has handed over; each admitted connection has a thread of its own until its answer
// was sent. `mutex` guards the table of connections; handlers run without it.
#include "runtime/transport/control/control_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <deque>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/log.h"
#include "runtime/base/text/json_text.h"
#include "runtime/transport/control/exchange.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

constexpr std::string_view kWho = "control";
constexpr std::chrono::milliseconds kGoodbye{500};
constexpr std::chrono::milliseconds kShortBreath{2};

Deadline in(std::chrono::milliseconds duration) { return std::chrono::steady_clock::now() + duration; }

struct Connection {
  std::thread thread;
  int id = 0;
  Socket interrupt;       // a second descriptor of the connection: stop() shuts it down; closed when the thread is done
  bool is_known = false;  // its peer is of the run, and it counts as such
  bool is_finished = false;
};

// By which a client learns whose clock is wrong (clock_check.h).
std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32] = {};
  (void)std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

// Who is at the other end.
struct Asker {
  std::optional<PeerIdentity> peer;  // empty: a stranger
  std::string serial;
  std::string address;
};

bool may_ask(const ControlRoute& route, const std::optional<PeerIdentity>& peer) {
  if (route.roles.empty()) return true;
  return peer && std::find(route.roles.begin(), route.roles.end(), peer->role) != route.roles.end();
}

}  // namespace

ControlResponse control_error(int status, const std::string& sentence) {
  return ControlResponse{status, json_text(nlohmann::json{{"error", sentence}})};
}

struct ControlServer::State {
  State(PeerPolicy peers, const ControlLimits& bounds)
      : policy(std::move(peers)),
        limits(bounds),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        open(bounds.admission) {}

  void take(TlsSocket session);
  void wake_up() const;
  void start_until_stopped();
  [[nodiscard]] std::optional<TlsSocket> next_waiting();
  void start(TlsSocket session);
  void interrupt(int id);
  void serve_connection(Connection& connection, const std::string& address, TlsSocket session);
  [[nodiscard]] Status answer(Connection& connection, const std::string& address, TlsSocket& tls);
  [[nodiscard]] Status take_known(Connection& connection, PeerRole role);
  [[nodiscard]] ControlResponse response_to(const HttpMessage& message, const Asker& asker) const;
  void refuse(const std::string& address, const std::string& reason);
  void join_finished();
  [[nodiscard]] bool are_too_many_ending();
  void stop();

  PeerPolicy policy;
  ControlLimits limits;
  Socket wake;
  std::vector<std::pair<ControlRoute, ControlHandler>> routes;
  std::thread starter;

  mutable std::mutex mutex;  // guards what follows
  std::deque<TlsSocket> waiting;
  int next_id = 0;
  HalfOpenTable open;  // by id
  std::size_t known_count = 0;
  RefusalLog refusals;
  std::list<Connection> connections;
  bool is_stopping = false;
};

void ControlServer::State::take(TlsSocket session) {
  {
    const std::lock_guard guard(mutex);
    if (is_stopping) return;
    if (waiting.size() >= limits.waiting_count_max) {
      return refuse(peer_address(session.descriptor()), "too many connections wait for a thread");
    }
    waiting.push_back(std::move(session));
  }
  wake_up();
}

void ControlServer::State::wake_up() const {
  const std::uint64_t one = 1;
  const bool was_woken = ::write(wake.descriptor(), &one, sizeof one) == sizeof one;
  CHECK(was_woken, "an event counter of our own takes a one");
}

// Waits for the next one. Nothing: the server stops.
std::optional<TlsSocket> ControlServer::State::next_waiting() {
  for (;;) {
    {
      const std::lock_guard guard(mutex);
      if (is_stopping) return std::nullopt;
      if (!waiting.empty()) {
        std::optional<TlsSocket> next(std::move(waiting.front()));
        waiting.pop_front();
        return next;
      }
    }
    pollfd entry{wake.descriptor(), POLLIN, 0};
    ::poll(&entry, 1, -1);
    std::uint64_t count = 0;
    (void)!::read(wake.descriptor(), &count, sizeof count);  // what it counts is looked at above
  }
}

void ControlServer::State::start_until_stopped() {
  while (auto session = next_waiting()) {
    join_finished();
    if (are_too_many_ending()) std::this_thread::sleep_for(kShortBreath);
    start(std::move(*session));
  }
}

void ControlServer::State::start(TlsSocket session) {
  const std::string address = peer_address(session.descriptor());
  const std::lock_guard guard(mutex);
  const int id = next_id++;
  const SteadyTime now = std::chrono::steady_clock::now();
  const auto verdict = open.enter(id, {address, now}, now);  // the port has heard each of them
  if (verdict.gives_way) interrupt(*verdict.gives_way);
  if (verdict.admission != Admission::kAdmitted) {
    refuse(address, "too many connections are open");
    return;
  }
  connections.emplace_back();
  Connection& connection = connections.back();
  connection.id = id;
  connection.interrupt = Socket(::fcntl(session.descriptor(), F_DUPFD_CLOEXEC, 0));
  try {
    connection.thread = std::thread([this, &connection, address, owned = std::move(session)]() mutable {
      serve_connection(connection, address, std::move(owned));
    });
  } catch (const std::system_error& error) {
    refuse(address, compose("the system gives no thread: ", error.what()));
    open.settle(id);
    connections.pop_back();
  }
}

// The caller holds the mutex.
void ControlServer::State::interrupt(int id) {
  const auto one = std::ranges::find(connections, id, &Connection::id);
  if (one != connections.end()) ::shutdown(one->interrupt.descriptor(), SHUT_RDWR);
}

void ControlServer::State::serve_connection(Connection& connection, const std::string& address, TlsSocket session) {
  std::optional<TlsSocket> tls(std::move(session));
  const Status answered = answer(connection, address, *tls);
  tls.reset();
  const std::lock_guard guard(mutex);
  if (!answered.ok() && !is_stopping) refuse(address, answered.failure().message);
  open.settle(connection.id);
  if (connection.is_known) --known_count;
  connection.interrupt = Socket();
  connection.is_finished = true;
}

// From here on strangers are none of its concern.
Status ControlServer::State::take_known(Connection& connection, PeerRole role) {
  const std::lock_guard guard(mutex);
  if (role != PeerRole::kOperator && known_count >= limits.known_count_max) {
    return fail(Error::kUnreachable, "too many connections of nodes are open");
  }
  open.settle(connection.id);
  connection.is_known = true;
  ++known_count;
  return Done{};
}

Status ControlServer::State::answer(Connection& connection, const std::string& address, TlsSocket& tls) {
  const Status shaken = tls.finish_handshake(in(limits.admission.handshake_timeout));
  if (!shaken.ok()) return shaken;
  Asker asker{std::nullopt, peer_serial(tls.session()), address};
  Status verdict = Done{};
  if (tls.has_peer_certificate()) {
    auto identity = check_peer(policy, tls.session());
    if (identity.ok()) {
      if (const Status taken = take_known(connection, identity->role); !taken.ok()) return taken;
      asker.peer = std::move(*identity);
    } else {
      verdict = identity.failure();
    }
  }
  HttpReader reader(limits.http);
  const auto progress = read_message(tls, reader, in(limits.request_timeout));
  if (!progress.ok()) return progress.failure();
  ControlResponse response;
  if (!verdict.ok()) {
    response = control_error(is_revoked(policy, tls.session()) ? kStatusRevoked : 403, verdict.failure().message);
  } else if (*progress == HttpReader::Progress::kTooLarge) {
    response = control_error(413, "The request is larger than the control endpoint takes.");
  } else if (*progress != HttpReader::Progress::kComplete) {
    response = control_error(400, "The request is not HTTP/1.1 with a Content-Length.");
  } else {
    response = response_to(reader.message(), asker);
  }
  const std::string text = response_text(response.status, response.body, date_now());
  const Status written = tls.write_all(text, in(limits.response_timeout));
  if (!written.ok()) return written;
  tls.close_gracefully(in(kGoodbye));
  return verdict;
}

ControlResponse ControlServer::State::response_to(const HttpMessage& message, const Asker& asker) const {
  const auto& peer = asker.peer;
  auto target = parse_target(message.second);
  if (!target) return control_error(400, "The address of the request has a malformed escape.");
  const auto same_path = [&](const auto& entry) { return entry.first.path == target->path; };
  const auto same = [&](const auto& entry) { return same_path(entry) && entry.first.method == message.first; };
  const auto found = std::find_if(routes.begin(), routes.end(), same);
  if (found == routes.end() || !may_ask(found->first, peer)) {
    if (!peer) return control_error(403, "This needs a certificate of the run; only enrolment is open to newcomers.");
    if (found != routes.end()) {
      return control_error(403, compose("The role ", role_text(peer->role), " may not ask for ", target->path, '.'));
    }
    if (std::any_of(routes.begin(), routes.end(), same_path)) {
      return control_error(405, compose(target->path, " does not take ", message.first, '.'));
    }
    return control_error(404, compose("Nothing answers at ", target->path, " in this version."));
  }
  const ControlRequest request{message.first, target->path, std::move(target->query), message.body, peer,
                               asker.serial,  asker.address};
  try {
    return found->second(request);
  } catch (const std::exception& error) {
    log_error(kWho, request.method, ' ', request.path, ": ", error.what());
    return control_error(500, compose("The spawner failed on ", request.path, ": ", error.what()));
  }
}

// The caller holds the mutex.
void ControlServer::State::refuse(const std::string& address, const std::string& reason) {
  const RefusalLog::Line line = refusals.refused(std::chrono::steady_clock::now());
  if (line.left_out > 0) log_warn(kWho, line.left_out, " more refusals were not logged");
  if (line.write) log_warn(kWho, "refused a connection of ", address, ": ", reason);
}

void ControlServer::State::join_finished() {
  std::list<Connection> finished;
  {
    const std::lock_guard guard(mutex);
    for (auto next = connections.begin(); next != connections.end();) {
      const auto current = next++;
      if (current->is_finished) finished.splice(finished.end(), connections, current);
    }
  }
  for (Connection& connection : finished) connection.thread.join();
}

// Who gave way has a thread until it notices.
bool ControlServer::State::are_too_many_ending() {
  const std::lock_guard guard(mutex);
  return connections.size() > open.incoming_count() + known_count + limits.admission.half_open_count_max;
}

void ControlServer::State::stop() {
  {
    const std::lock_guard guard(mutex);
    if (std::exchange(is_stopping, true)) return;
    waiting.clear();
  }
  wake_up();
  if (starter.joinable()) starter.join();
  {
    const std::lock_guard guard(mutex);
    for (Connection& connection : connections) {
      if (connection.interrupt.is_open()) ::shutdown(connection.interrupt.descriptor(), SHUT_RDWR);
    }
  }
  for (Connection& connection : connections) connection.thread.join();
  connections.clear();
}

Result<std::unique_ptr<ControlServer>> ControlServer::create(PeerPolicy policy, const ControlLimits& limits) {
  std::signal(SIGPIPE, SIG_IGN);
  auto state = std::make_unique<State>(std::move(policy), limits);
  if (!state->wake.is_open()) return fail(Error::kIo, "The system has no descriptors left for the control endpoint.");
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

ControlServer::ControlServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

ControlServer::~ControlServer() { stop(); }

void ControlServer::handle(ControlRoute route, ControlHandler handler) {
  CHECK(!state_->starter.joinable(), "routes are registered before serve()");
  state_->routes.emplace_back(std::move(route), std::move(handler));
}

void ControlServer::serve() {
  CHECK(!state_->starter.joinable(), "serve() is called once");
  state_->starter = std::thread([state = state_.get()] { state->start_until_stopped(); });
}

void ControlServer::take(TlsSocket session) { state_->take(std::move(session)); }

void ControlServer::stop() { state_->stop(); }

std::uint64_t ControlServer::refused_count() const {
  const std::lock_guard guard(state_->mutex);
  return state_->refusals.total();
}

}  // namespace shoal
