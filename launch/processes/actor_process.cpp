// Start-up and shutdown of a process with actors.
#include "launch/processes/actor_process.h"

#include <malloc.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <csignal>
#include <exception>

#include "actors/certificate_renewal.h"
#include "actors/tracer.h"
#include "launch/end_limit.h"
#include "launch/life_line.h"
#include "launch/stop_signals.h"
#include "launch/subcommands.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/thread_room.h"
#include "runtime/base/machine/unhindered_stream.h"
#include "runtime/base/restart_policy.h"
#include "runtime/trace/machine.h"
#include "runtime/transport/caf_config.h"
#include "runtime/transport/guard/peer_crashes.h"
#include "runtime/transport/guard/peer_note.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kTurn{500};  // of the main thread, when it is not woken
constexpr std::uint64_t kTurnsBetweenTrims = 10;
constexpr std::uint64_t kTurnsOfComputing = 40;  // between two trims of a process that computes
constexpr std::uint64_t kStateBytes = 1 << 20;

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::seconds kShutdownLimit{5};
constexpr auto kLastWords = 200ms;
constexpr auto kOnTheWay = 100ms;  // letters that say why; nobody tells when they are out

struct ShoalConfig : caf::actor_system_config {
  explicit ShoalConfig(const CafSettings& settings) {
    configure_caf(*this, settings);
    add_message_types<caf::id_block::shoal>();
  }
};

// Takes the peers that the keeper blames for crashes; notes new ones from here on.
std::set<std::string> refused_by(const std::string& note) {
  if (note.empty()) return {};
  keep_peer_note(note);
  const auto crashes = read_file(peer_crashes_file(note));
  return crashes ? PeerCrashes(*crashes).refused() : std::set<std::string>();
}

// The actor library hangs or aborts where one of its threads is refused.
void demand_threads(std::size_t wanted) {
  const Status room = check_thread_room(wanted - 1);
  if (room) return;
  (void)report(room.failure());
  flush_log();
  words_out().finish(kLastWords);
  _exit(kNoThreadsStatus);
}

}  // namespace

void ExitLatch::set(int status, std::string reason, Manner manner) {
  {
    const std::lock_guard guard(mutex_);
    if (!result_) {
      result_.emplace(status, std::move(reason));
      manner_ = manner;
    }
  }
  const std::uint64_t one = 1;
  if (::write(event_.descriptor(), &one, sizeof(one)) < 0) log_warn("process", "cannot wake its main thread");
}

bool ExitLatch::is_at_once() {
  const std::lock_guard guard(mutex_);
  return result_ && manner_ == Manner::kAtOnce;
}

std::optional<std::pair<int, std::string>> ExitLatch::result() {
  const std::lock_guard guard(mutex_);
  return result_;
}

void block_signals() {
  block_stop_signals();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of the write, like a full disk
}

std::optional<int> wait_for_signal(std::chrono::milliseconds duration) {
  const sigset_t set = stop_signal_set();
  const timespec limit{duration.count() / 1000, static_cast<long>(duration.count() % 1000) * 1'000'000};
  const int signal = sigtimedwait(&set, nullptr, &limit);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

ActorProcess::ActorProcess(ActorProcessSettings settings) : settings_(std::move(settings)) {
  CafSettings caf_settings;
  caf_settings.connection_timeout = settings_.dead_after;
  caf_settings.heartbeat_interval = std::min(caf_settings.heartbeat_interval, settings_.dead_after / 4);
  config_ = std::make_unique<ShoalConfig>(caf_settings);
  system_ = std::make_unique<caf::actor_system>(*config_);
}

Result<std::unique_ptr<ActorProcess>> ActorProcess::start(ActorProcessSettings settings) {
  // The actor library tells of an actor's exception on stdout, which is for results: a process of actors has none.
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  demand_threads(std::max<std::size_t>(settings.threads, 1));
  std::optional<StartLimit> limit(std::in_place, settings.name, kStartLimit, kNoThreadsStatus);  // others take threads
  std::unique_ptr<ActorProcess> process(new ActorProcess(std::move(settings)));
  const auto& wanted = process->settings_;
  TransportLimits limits;
  limits.lanes.silence_max = wanted.dead_after;  // as patient as the detector of failures
  limits.lanes.up_bit_s = wanted.rates.up_bit_s;
  limits.lanes.down_bit_s = wanted.rates.down_bit_s;
  process->refused_ = refused_by(wanted.peer_note);
  const std::string crashes_file = peer_crashes_file(wanted.peer_note);
  for (const std::string& peer : process->refused_)
    log_warn(wanted.name, refusal_text(wanted.name, peer, crashes_file));
  const PeerPolicy policy{wanted.run, wanted.peers, {}, process->refused_, wanted.revoked};
  auto transport = TlsTransport::start(*process->system_, wanted.files, policy, limits);
  limit.reset();  // before the end of a process that cannot start, which has a limit of its own
  if (!transport) return transport.failure();
  process->transport_ = std::move(transport.value());
  return process;
}

std::vector<PeerRefused> ActorProcess::refusals() const {
  std::vector<PeerRefused> refusals;
  for (const std::string& peer : refused_) {
    const std::size_t slash = peer.find('/');
    if (slash == std::string::npos) continue;
    const bool is_storage = peer.substr(0, slash) == role_text(PeerRole::kStorage);
    refusals.push_back({{}, is_storage ? ProcessRole::kStorage : ProcessRole::kNode, peer.substr(slash + 1)});
  }
  return refusals;
}

std::shared_ptr<Tracer> ActorProcess::keep_trace(const std::string& folder, const std::string& file,
                                                 std::optional<TraceLevel> level) {
  TracerSettings settings;
  settings.level = level;
  settings.machine = machine_number();
  settings.ring_path = ring_path_of(trace_path(folder, file));
  trace_ = std::make_shared<Tracer>(settings, std::make_shared<SteadyClock>());
  trace_path_ = trace_path(folder, file);
  return trace_;
}

void ActorProcess::write_trace(const RouterActor& router, std::shared_ptr<NodeFiles> files) {
  if (!trace_) return;
  const TracerActorSettings settings{trace_, trace_path_, settings_.name, router, board_, std::move(files)};
  owned_->add_first(
      start_caretaker({.name = "tracer/" + settings_.name,
                       .start = [this, settings] { return as_actor(system_->spawn<caf::detached>(tracer, settings)); },
                       .router = router}));  // and therefore it ends last
}

void ActorProcess::keep_certificate(const TlsFiles& files, SignRequest sign,
                                    std::vector<std::shared_ptr<TlsContext>> shown_by) {
  auto credentials = read_credentials(files);
  if (!credentials) return log_warn(settings_.name, credentials.failure().message, "; it will not be renewed");
  own(spawn_certificate_renewal(*system_, {files, std::move(*credentials), std::move(sign), std::move(shown_by)}));
}

void ActorProcess::take_care_of(CaretakerSettings settings) { own(start_caretaker(std::move(settings))); }

caf::actor ActorProcess::start_caretaker(CaretakerSettings settings) {
  settings.tracer = trace_;
  settings.end_process = [exit = exit_](int status, const std::string& reason) { exit->set(status, reason); };
  return as_actor(system_->spawn(caretaker, std::move(settings)));
}

int ActorProcess::run(const std::function<void(int)>& on_signal) {
  const sigset_t set = stop_signal_set();
  const Socket signals(::signalfd(-1, &set, SFD_CLOEXEC));
  std::optional<Instant> stopping_since;
  for (std::uint64_t turn = 1; !exit_->result(); ++turn) {
    std::array<pollfd, 2> wakers{{{exit_->descriptor(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}}};
    ::poll(wakers.data(), wakers.size(), static_cast<int>(kTurn.count()));
    give_memory_back(turn);
    words_out().go_on();
    look_at_keeper();
    const timespec no_wait{};
    const int signal = sigtimedwait(&set, nullptr, &no_wait);
    if (signal <= 0) continue;
    const Instant now = std::chrono::steady_clock::now();
    if (stopping_since && !is_pressing(signal, now - *stopping_since)) continue;
    if (stopping_since) {
      flush_log();
      _exit(signal == SIGINT ? 130 : 143);
    }
    (void)take_stop_signal();  // what came meanwhile is the same wish
    log_info(settings_.name, "signal ", signal, ": leaving politely");
    on_signal(signal);
    stopping_since = std::chrono::steady_clock::now();
  }
  show_end();
  const auto [status, reason] = *exit_->result();
  log_info(settings_.name, "ends with status ", status, ": ", reason);
  if (exit_->is_at_once()) end_at_once(status);
  return status;
}

void ActorProcess::give_memory_back(std::uint64_t turn) {
  if (turn % kTurnsBetweenTrims != 0) return;
  const std::uint64_t given_back = transport_->counters().given_back;
  const bool had_state = given_back - trimmed_.given_back >= kStateBytes;
  const bool is_time = trimmed_.turn == 0 || turn - trimmed_.turn >= kTurnsOfComputing;
  if (!settings_.gives_memory_back && !(had_state && is_time)) return;
  ::malloc_trim(0);
  trimmed_ = {turn, given_back};
}

void ActorProcess::look_at_keeper() {
  const auto news = keeper_.look(keeper_silence(), ::getppid());
  if (!news) return;
  log_warn(settings_.name, *news);
  if (keeper_.is_silent()) return board_->note("keeper", "silent");
  board_->forget("keeper");
}

// The first actor is the tracer, if there is one: it writes what the others recorded.
void ActorProcess::end_at_once(int status) {
  limit_end(settings_.name, kShutdownLimit, status);
  caf::scoped_actor self{*system_, true};
  if (const auto owned = owned_->take(); !owned.empty()) {
    self->monitor(owned.front());
    self->send_exit(owned.front(), caf::exit_reason::user_shutdown);
    self->receive([](const caf::down_msg&) {}, caf::after(kLastWords) >> [] {});
  }
  self->receive(caf::after(kOnTheWay) >> [] {});
  flush_log();
  words_out().finish(kLastWords);
  _exit(status);
}

void ActorProcess::end_actors() {
  caf::scoped_actor self{*system_, true};
  const auto owned = owned_->take();
  for (auto actor = owned.rbegin(); actor != owned.rend(); ++actor) {
    self->monitor(*actor);
    self->send_exit(*actor, caf::exit_reason::user_shutdown);
    self->receive([](const caf::down_msg&) {}, caf::after(1s) >> [] {});
  }
}

ActorProcess::~ActorProcess() {
  const auto result = exit_->result();
  const int status = result ? result->first : 1;
  limit_end(settings_.name, kShutdownLimit, status);
  try {
    end_actors();
  } catch (const std::exception& problem) {  // asking them takes memory
    log_warn(settings_.name, "cannot end in order: ", problem.what());
    flush_log();
    _exit(status);
  }
  if (transport_) transport_->stop();
  transport_.reset();
  system_.reset();
  flush_log();
}

}  // namespace shoal
