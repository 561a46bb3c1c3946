// One thread starts what the port has handed over, the newest first; each connection then has a thread of its own until
// its answer was sent. `mutex` guards the table of connections. The port's thread takes it, too: so no handler runs, no
// thread is made and no line of the log is written under it.
#include "runtime/transport/control/control_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "runtime/base/log.h"
#include "runtime/base/text/json_text.h"
#include "runtime/transport/control/exchange.h"
#include "runtime/transport/sockets.h"

namespace shoal {
namespace {

constexpr std::string_view kControlLog = "control";
constexpr std::chrono::milliseconds kGoodbye{500};
constexpr std::chrono::milliseconds kShortBreath{2};

struct Connection {
  Connection(int number, std::string from, TlsSocket of_it)
      : id(number), address(std::move(from)), session(std::move(of_it)) {}

  const int id;
  const std::string address;         // the client's
  std::optional<TlsSocket> session;  // its thread's alone, once that runs
  std::thread thread;                // the starter's
  Socket interrupt;       // a second descriptor of the connection: to shut it down; closed when the thread is done
  bool is_known = false;  // its peer is of the run, and it counts as such
  bool has_given_way = false;
  bool is_finished = false;
};

// Tells whether the other side has closed its end.
bool has_left(const TlsSocket& session) {
  pollfd entry{session.descriptor(), POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0;
}

// Returns the date by which a client learns whose clock is wrong (clock_check.h).
std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32] = {};
  (void)std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

// Client at the other end.
struct Asker {
  std::optional<PeerIdentity> peer;  // empty: a stranger
  std::string serial;
  std::string address;
  Status verdict = Done{};  // why its certificate is refused
  bool is_revoked = false;
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
      : policy(std::move(peers)), limits(bounds), open(bounds.admission) {}

  void take(TlsSocket session);
  [[nodiscard]] std::list<Connection> end(int id);
  void start_until_stopped();
  [[nodiscard]] Connection* next_waiting();
  void start(Connection& connection);
  void serve_connection(Connection& connection);
  [[nodiscard]] Status answer(Connection& connection);
  [[nodiscard]] Result<Asker> identify(Connection& connection);
  [[nodiscard]] Status take_known(Connection& connection, PeerRole role);
  [[nodiscard]] Result<bool> wait_until_serving(const Connection& connection);
  [[nodiscard]] ControlResponse response_to(HttpReader::Progress progress, const HttpMessage& message,
                                            const Asker& asker) const;
  [[nodiscard]] ControlResponse response_to(const HttpMessage& message, const Asker& asker) const;
  void refuse(const std::string& address, const std::string& reason);
  void join_finished();
  [[nodiscard]] bool are_too_many_ending();
  void stop();

  PeerPolicy policy;
  ControlLimits limits;
  std::vector<std::pair<ControlRoute, ControlHandler>> routes;  // from serve() on as they are
  std::thread starter;

  mutable std::mutex mutex;  // guards what follows
  std::condition_variable has_come;
  std::condition_variable has_changed;  // for connections that wait until it serves
  std::list<Connection> waiting;        // without a thread, the newest last
  std::list<Connection> connections;
  int next_id = 0;
  HalfOpenTable open;  // by id, of both
  std::size_t known_count = 0;
  RefusalLog refusals;
  bool is_serving = false;
  bool is_stopping = false;
};

void ControlServer::State::take(TlsSocket session) {
  std::list<Connection> come;
  std::list<Connection> given_up;
  std::string address = peer_address(session.descriptor());
  bool is_one_too_many = false;
  {
    const std::lock_guard guard(mutex);
    if (is_stopping) return;
    come.emplace_back(next_id++, std::move(address), std::move(session));
    const Connection& incoming = come.back();
    const auto gives_way = open.enter(incoming.id, {incoming.address, steady_now()});
    is_one_too_many = gives_way.has_value();
    if (gives_way) given_up = end(*gives_way);
    waiting.splice(waiting.end(), come);
  }
  has_come.notify_one();
  if (is_one_too_many) has_changed.notify_all();
  for (const Connection& each : given_up) refuse(each.address, "others came before it had a thread");
}

// The caller holds the mutex, and destroys the result without it. Connections that have a thread are interrupted.
std::list<Connection> ControlServer::State::end(int id) {
  std::list<Connection> ended;
  const auto waits = std::ranges::find(waiting, id, &Connection::id);
  if (waits != waiting.end()) ended.splice(ended.end(), waiting, waits);
  const auto runs = std::ranges::find(connections, id, &Connection::id);
  if (runs != connections.end()) {
    runs->has_given_way = true;
    ::shutdown(runs->interrupt.descriptor(), SHUT_RDWR);
  }
  return ended;
}

// Waits for one. Nothing: the server stops.
Connection* ControlServer::State::next_waiting() {
  std::unique_lock lock(mutex);
  has_come.wait(lock, [this] { return is_stopping || !waiting.empty(); });
  if (is_stopping) return nullptr;
  connections.splice(connections.end(), waiting, std::prev(waiting.end()));
  Connection& next = connections.back();
  next.interrupt = Socket(::fcntl(next.session->descriptor(), F_DUPFD_CLOEXEC, 0));
  return &next;
}

void ControlServer::State::start_until_stopped() {
  while (Connection* next = next_waiting()) {
    join_finished();
    if (are_too_many_ending()) std::this_thread::sleep_for(kShortBreath);
    start(*next);
  }
}

void ControlServer::State::start(Connection& connection) {
  try {
    connection.thread = std::thread([this, &connection] { serve_connection(connection); });
  } catch (const std::system_error& error) {
    refuse(connection.address, compose("the system gives no thread: ", error.what()));
    std::list<Connection> ended;
    const std::lock_guard guard(mutex);
    open.settle(connection.id);
    ended.splice(ended.end(), connections, std::ranges::find(connections, connection.id, &Connection::id));
  }
}

void ControlServer::State::serve_connection(Connection& connection) {
  const Status answered = answer(connection);
  connection.session.reset();
  std::string refused;
  {
    const std::lock_guard guard(mutex);
    if (!answered.ok() && !is_stopping) {
      refused = connection.has_given_way ? "it was slow, and others came" : answered.failure().message;
    }
    open.settle(connection.id);
    if (connection.is_known) --known_count;
    connection.interrupt = Socket();
  }
  if (!refused.empty()) refuse(connection.address, refused);
  const std::lock_guard guard(mutex);
  connection.is_finished = true;
}

// Counts the connection as a known one: from here on the bounds on strangers do not apply to it.
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

// Returns true when it serves, false when the client is to be told that it does not yet. Errors: kUnreachable, the
// client is gone: it left without an answer while it waited, and may have asked again.
Result<bool> ControlServer::State::wait_until_serving(const Connection& connection) {
  std::unique_lock lock(mutex);
  if (is_serving) return true;
  const auto is_over = [&] { return is_serving || is_stopping || connection.has_given_way; };
  has_changed.wait_until(lock, deadline_in(limits.serve_timeout), is_over);
  if (is_stopping || connection.has_given_way || has_left(*connection.session)) {
    return fail(Error::kUnreachable, "it left before this endpoint served");
  }
  return is_serving;
}

// Errors: kUnreachable, it is one too many of the run's nodes. A bad certificate is told when the request was read.
Result<Asker> ControlServer::State::identify(Connection& connection) {
  const TlsSocket& tls = *connection.session;
  Asker asker{std::nullopt, peer_serial(tls.session()), connection.address};
  if (!tls.has_peer_certificate()) return asker;
  auto identity = check_peer(policy, tls.session());
  if (!identity.ok()) {
    asker.verdict = identity.failure();
    asker.is_revoked = is_revoked(policy, tls.session());
    return asker;
  }
  if (const Status taken = take_known(connection, identity->role); !taken.ok()) return taken.failure();
  asker.peer = std::move(*identity);
  return asker;
}

Status ControlServer::State::answer(Connection& connection) {
  TlsSocket& tls = *connection.session;
  const Status shaken = tls.finish_handshake(deadline_in(limits.admission.handshake_timeout));
  if (!shaken.ok()) return shaken;
  const auto asker = identify(connection);
  if (!asker.ok()) return asker.failure();
  const auto serves = wait_until_serving(connection);
  if (!serves.ok()) return serves.failure();
  HttpReader reader(limits.http);
  const auto progress = read_message(tls, reader, deadline_in(limits.request_timeout));
  if (!progress.ok()) return progress.failure();
  const ControlResponse response = *serves ? response_to(*progress, reader.message(), *asker)
                                           : control_error(503, "The spawner is still starting; ask again.");
  const std::string text = response_text(response.status, response.body, date_now());
  const Status written = tls.write_all(text, deadline_in(limits.response_timeout));
  if (!written.ok()) return written;
  tls.close_gracefully(deadline_in(kGoodbye));
  return asker->verdict;
}

ControlResponse ControlServer::State::response_to(HttpReader::Progress progress, const HttpMessage& message,
                                                  const Asker& asker) const {
  if (!asker.verdict.ok()) {
    return control_error(asker.is_revoked ? kStatusRevoked : 403, asker.verdict.failure().message);
  }
  if (progress == HttpReader::Progress::kTooLarge) {
    return control_error(413, "The request is larger than the control endpoint takes.");
  }
  if (progress != HttpReader::Progress::kComplete) {
    return control_error(400, "The request is not HTTP/1.1 with a Content-Length.");
  }
  return response_to(message, asker);
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
    log_error(kControlLog, request.method, ' ', request.path, ": ", error.what());
    return control_error(500, compose("The spawner failed on ", request.path, ": ", error.what()));
  }
}

void ControlServer::State::refuse(const std::string& address, const std::string& reason) {
  RefusalLog::Line line;
  {
    const std::lock_guard guard(mutex);
    line = refusals.refused(steady_now());
  }
  log_refusal(kControlLog, line, "refused a connection of ", address, ": ", reason);
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

// A connection that has given way keeps its thread until the thread notices.
bool ControlServer::State::are_too_many_ending() {
  const std::lock_guard guard(mutex);
  return connections.size() > open.incoming_count() + known_count + limits.admission.half_open_count_max;
}

void ControlServer::State::stop() {
  std::list<Connection> given_up;
  {
    const std::lock_guard guard(mutex);
    if (std::exchange(is_stopping, true)) return;
    given_up.swap(waiting);
  }
  has_come.notify_all();
  has_changed.notify_all();
  starter.join();
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
  try {
    state->starter = std::thread([of = state.get()] { of->start_until_stopped(); });
  } catch (const std::system_error& error) {
    return fail(Error::kIo, compose("The system gives no thread for the control endpoint: ", error.what(), "."));
  }
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

ControlServer::ControlServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

ControlServer::~ControlServer() { stop(); }

void ControlServer::handle(ControlRoute route, ControlHandler handler) {
  const std::lock_guard guard(state_->mutex);
  ENSURE(!state_->is_serving, "routes are registered before serve()");
  state_->routes.emplace_back(std::move(route), std::move(handler));
}

void ControlServer::serve() {
  {
    const std::lock_guard guard(state_->mutex);
    ENSURE(!std::exchange(state_->is_serving, true), "serve() is called once");
  }
  state_->has_changed.notify_all();
}

void ControlServer::take(TlsSocket session) { state_->take(std::move(session)); }

void ControlServer::stop() { state_->stop(); }

std::uint64_t ControlServer::refused_count() const {
  const std::lock_guard guard(state_->mutex);
  return state_->refusals.total();
}

std::size_t ControlServer::known_count() const {
  const std::lock_guard guard(state_->mutex);
  return state_->known_count;
}

}  // namespace shoal
