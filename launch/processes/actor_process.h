// Holds what every process with actors has: an actor system with the house's settings, TLS of our own under it, one
// router.
//
// Order matters: the system first, then the transport, then actors; and back. Actors that others know about are ended
// explicitly, because the system's destructor waits for every actor for ever; a watchdog ends a process that hangs.
#pragma once

#include <sys/eventfd.h>

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/caretaker.h"
#include "actors/owned_actors.h"
#include "messages/actor_types.h"
#include "runtime/base/error.h"
#include "runtime/base/time/keeper_notice.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/tracer.h"
#include "runtime/transport/control/renewal.h"
#include "runtime/transport/revocation/revoked_certificates.h"
#include "runtime/transport/sockets.h"
#include "runtime/transport/tls_transport.h"

namespace shoal {

// Rates of this process's lanes, in bit/s; 0: no limit.
struct LaneRates {
  std::uint64_t up_bit_s = 0;
  std::uint64_t down_bit_s = 0;
};

struct ActorProcessSettings {
  std::string name;  // as in logs and `shoal status`
  TlsFiles files;
  RunId run;
  std::vector<PeerRole> peers;                   // roles this process talks with
  std::chrono::milliseconds dead_after{10'000};  // silence that ends a connection; the same on both sides
  // Returns freed memory to the system every few seconds: for processes that do not compute. A computing process needs
  // its pages again with the next microbatch; it returns only the memory left over after a state was transferred.
  bool gives_memory_back = false;
  std::string peer_note{};  // file that records whose bytes were being read in a crash; empty: none
  // Certificates that this process refuses; the spawner sends every later list.
  std::shared_ptr<RevokedCertificates> revoked = std::make_shared<RevokedCertificates>();
  LaneRates rates = {};
  std::size_t threads = 0;  // that it needs (runtime/base/machine/thread_room.h)
};

// Keeps how a process ends: the first call counts.
class ExitLatch {
 public:
  enum class Manner { kOrderly, kAtOnce };
  void set(int status, std::string reason, Manner manner = Manner::kOrderly);
  [[nodiscard]] bool is_at_once();
  // The status and why, from set() on.
  [[nodiscard]] std::optional<std::pair<int, std::string>> result();
  // Readable from set() on: what the main thread waits for.
  [[nodiscard]] int descriptor() const { return event_.descriptor(); }

 private:
  Socket event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex_;
  std::optional<std::pair<int, std::string>> result_;
  Manner manner_ = Manner::kOrderly;
};

template <class Handle>
[[nodiscard]] caf::actor as_actor(const Handle& handle) {
  return caf::actor_cast<caf::actor>(handle);
}

struct NodeFiles;  // actors/tracer.h

class ActorProcess {
 public:
  // Ends the process with kNoThreadsStatus, and says so, where the system does not give its threads.
  [[nodiscard]] static Result<std::unique_ptr<ActorProcess>> start(ActorProcessSettings settings);
  ~ActorProcess();
  ActorProcess(const ActorProcess&) = delete;
  ActorProcess& operator=(const ActorProcess&) = delete;

  // Return the peers that this process refuses because their bytes crashed it: refused() by peer_name() for its
  // policies, refusals() for the supervisor, which fills in the number of this process.
  [[nodiscard]] const std::set<std::string>& refused() const { return refused_; }
  [[nodiscard]] std::vector<PeerRefused> refusals() const;

  [[nodiscard]] caf::actor_system& system() { return *system_; }
  [[nodiscard]] TlsTransport& transport() { return *transport_; }
  [[nodiscard]] const std::shared_ptr<RevokedCertificates>& revoked() const { return settings_.revoked; }
  [[nodiscard]] const std::shared_ptr<ExitLatch>& exit() { return exit_; }

  // Ends this actor when the process ends, in reverse order of these calls.
  template <class Handle>
  void own(const Handle& actor) {
    owned_->add(as_actor(actor));
  }
  // The same for one of many that come and go: nothing of it stays when it has ended. Any thread.
  template <class Handle>
  void own_while_it_lives(const Handle& actor) {
    own(actor);
    as_actor(actor)->attach_functor(
        [owned = owned_, address = actor.address()](const caf::error&) { owned->remove(address); });
  }
  // The same for an actor without which the process is of no use: its death ends the process with status 1 at once, and
  // the keeper starts it again. No actor that is still computing is waited for; its work is done again.
  template <class Handle>
  void own_vital(const Handle& actor, const std::string& name) {
    own(actor);
    as_actor(actor)->attach_functor([exit = exit_, name](const caf::error& reason) {
      exit->set(1, name + " died: " + caf::to_string(reason), ExitLatch::Manner::kAtOnce);
    });
  }

  // What this process's actors record, kept in FOLDER/trace/<file>.trace from the moment the level is not kOff and
  // write_trace() was called. No level: the Welcome says it.
  [[nodiscard]] std::shared_ptr<Tracer> keep_trace(const std::string& folder, const std::string& file,
                                                   std::optional<TraceLevel> level);
  // Starts the tracer, which can be reached through the router. It ends last and records the others' last events.
  // files: what goes to the run directory from another machine.
  void write_trace(const RouterActor& router, std::shared_ptr<NodeFiles> files = nullptr);

  // Renews a certificate for as long as this process lives; these contexts show the new one.
  void keep_certificate(const TlsFiles& files, SignRequest sign, std::vector<std::shared_ptr<TlsContext>> shown_by);

  // A side actor: `start` makes one, and another one when it ends. settings.end_process and settings.tracer are filled
  // in.
  void take_care_of(CaretakerSettings settings);

  // Returns what `shoal ps` shows of this process.
  [[nodiscard]] const std::shared_ptr<ActorBoard>& board() const { return board_; }

  // Waits for a signal or the exit latch, whichever is first. A signal calls on_signal(number) once; the second one
  // ends the process at once with 128 + number. Returns the latch's status; with kAtOnce the process ends here.
  [[nodiscard]] int run(const std::function<void(int signal)>& on_signal);

 private:
  explicit ActorProcess(ActorProcessSettings settings);
  [[nodiscard]] caf::actor start_caretaker(CaretakerSettings settings);
  void end_actors();
  void give_memory_back(std::uint64_t turn);
  void look_at_keeper();
  [[noreturn]] void end_at_once(int status);

  struct Trimmed {
    std::uint64_t turn = 0;
    std::uint64_t given_back = 0;  // of the transport's count
  };

  ActorProcessSettings settings_;
  Trimmed trimmed_;
  KeeperNotice keeper_;
  std::set<std::string> refused_;
  std::unique_ptr<caf::actor_system_config> config_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<TlsTransport> transport_;
  std::shared_ptr<ExitLatch> exit_ = std::make_shared<ExitLatch>();
  std::shared_ptr<OwnedActors> owned_ = std::make_shared<OwnedActors>();
  std::shared_ptr<ActorBoard> board_ = std::make_shared<ActorBoard>();
  std::shared_ptr<Tracer> trace_;  // none: this process keeps no trace
  std::string trace_path_;
};

// Blocks the signals that run() takes, in this thread and all it starts; before any other thread is there.
void block_signals();
// Takes and returns one of those signals, if it comes within this time.
[[nodiscard]] std::optional<int> wait_for_signal(std::chrono::milliseconds duration);

}  // namespace shoal
