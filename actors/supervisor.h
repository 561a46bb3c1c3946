// The supervisor: the one who writes the journal, and parent of the sync groups and the data loader.
//
// Everything is decided in runtime/cluster/supervisor/supervisor.h. An entry is durable before its consequences are
// performed (P-2); when the journal refuses one, nothing that follows from it happens and the run halts. Spawned
// detached, because it waits for the journal's disk; checkpoints are read beside it. It watches its children and
// restarts those that end or do not answer; they end with it, however it ends. Nobody is judged while the process's own
// router does not answer; if that lasts, the process ends and its keeper starts it again: nothing but the pause is
// lost, whoever holds the actors' threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "messages/actor_types.h"
#include "runtime/cluster/balance/work_board.h"
#include "runtime/cluster/supervisor/supervisor.h"
#include "runtime/cluster/watch/child_watch.h"
#include "runtime/journal/store.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/tracer.h"

namespace shoal {

class RevokedCertificates;  // runtime/transport/revocation/revoked_certificates.h

// Tells what came of a look: once, on any thread, or never. It holds nothing of the supervisor, which may have ended.
using TellLook = std::function<void(Result<StartPoint> start)>;

struct SupervisorSettings {
  SupervisorConfig core;  // its term: from this journal
  std::shared_ptr<JournalStore> journal;
  RouterActor router;
  std::function<caf::actor(const StartGroup&)> start_group;
  std::function<caf::actor(const StartDataLoader&)> start_data_loader;
  // Begins to read and verify the checkpoint that is looked for, and returns at once: the disk may take minutes, or
  // hang. None: there is never one.
  std::function<void(const FindCheckpoint& wanted, TellLook tell)> find_checkpoint = nullptr;
  // Makes whom to ask once (host, port): whether that address certainly refuses. None: nobody asks.
  std::function<caf::actor()> make_prober = nullptr;
  // Shows a person one sentence, on an actor's thread. None: nobody looks.
  std::function<void(const std::string& text)> tell = nullptr;
  // Keeps, for the next start of the run, what no actor of this process can be told. None: nobody is to know.
  std::function<void(const RunEvent& event)> leave_unwritten = nullptr;
  // The process should end; called on an actor's thread.
  std::function<void(const EndRun& end)> end_process;
  std::shared_ptr<Tracer> tracer = nullptr;  // none: this process keeps no trace
  std::shared_ptr<ActorBoard> board = nullptr;
  std::shared_ptr<WorkBoard> work = nullptr;  // what the data loader hears of speeds; none: nobody asks
  std::shared_ptr<const RevokedCertificates> revoked = nullptr;  // whom the run refuses; none: nobody
};

// A sync group, or the data loader when there is no group.
struct SupervisedChild {
  std::optional<StartGroup> group;
};

struct SupervisorState {
  static inline const char* name = "supervisor";
  SupervisorSettings settings;
  std::optional<SupervisorCore> core;
  std::map<caf::actor_addr, SupervisedChild> children;
  std::optional<ChildWatch> watch;
  std::optional<ChildWatch> mail_watch;  // of the router
  std::set<std::string> started;         // children that have been there: one that starts again is a restart
  ActorTrace trace;
  std::uint64_t fault_span = 0;  // of the loss whose consequences are being performed; 0: none
  std::shared_ptr<ActorPulse> pulse;
  ~SupervisorState();  // ends the children
};

SupervisorActor::behavior_type supervisor(SupervisorActor::stateful_pointer<SupervisorState> self,
                                          SupervisorSettings settings);

}  // namespace shoal
