// Interfaces of all actors in one place, and the local messages that never leave a process.
//
// An actor hears all letters as one message, by reference and copy-on-write, and has a handler for each body
// (actors/hear.h). They are "unsafe" for CAF because only codec.h may put them on a wire (local/wire.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "messages/letter.h"
#include "messages/local/device_work.h"
#include "messages/local/look_ended.h"
#include "messages/local/presence.h"
#include "messages/local/save_request.h"
#include "messages/local/wire.h"

namespace shoal {

// Router to an actor: the body of a letter to it. CAF instantiates its templates for this one type, not for each body.
struct Delivered {
  MessageBody body;
};

// Sent by an actor to itself, every so often. Time is read from self->clock().
struct Tick {};

// Stage actor to itself: the core has runnable jobs.
struct RunNextJob {};

// Router to stage: a tensor for it took this long from first byte to last.
struct TransferTimed {
  double milliseconds = 0;
};

class ActorPulse;  // runtime/trace/actor_board.h
class View;        // runtime/journal/view.h

// Router to an actor that is attached late: what the journal says up to where its next entry follows.
struct JournalSoFar {
  std::shared_ptr<const View> view;
};

// An actor of this process makes itself reachable for its router's letters. It first gets what the journal said so far,
// and every later entry.
struct Attach {
  Role role = Role::kRouter;
  StageId stage;
  Incarnation incarnation;
  caf::actor actor;                     // none: it is still to come, and its letters are kept for it (`taken`)
  std::shared_ptr<ActorPulse> pulse{};  // told of every letter that is handed over; none: nobody looks
  // Letters that the actor has taken, over all its lives. Where it is set, the router keeps a letter until it is
  // counted here, and gives to the next life what the last one had not taken.
  std::shared_ptr<std::atomic<std::uint64_t>> taken{};
};

struct Detach {
  Role role = Role::kRouter;
  StageId stage;
  Incarnation incarnation;
};

// Router to itself: the outcome of a dial; `peer` is empty when it failed.
struct Dialled {
  ProcessIncarnation process;
  Endpoint endpoint;  // the address that was dialled; no host: wherever the spawner was found
  caf::strong_actor_ptr peer;
  std::string reason;
};

// Sent to a router: this process has been welcomed under this name.
struct Identify {
  ProcessIncarnation process;
  RunId run;
  Term term;
};

// Sent to a supervisor: end the run politely after the step in progress (a signal), with this exit status.
struct StopRequest {
  std::string reason;
  int exit_status = 0;
};

struct ActorStatus {
  std::string node;
  ActorHealth health;
};

// A process of a node, and what it gives.
struct MachineStatus {
  std::string name;  // of the process: node2, node2:1
  std::string device;
  MachineOffer offer;
  DeviceUse use{};  // of the last seconds
};

struct StatusQuery {};

struct StatusReport {
  std::string summary;  // why it trains or does not
  std::string run;
  std::uint64_t step = 0;  // steps committed
  std::uint64_t steps_target = 0;
  std::uint32_t branch = 0;
  std::uint64_t view = 0;  // journal position
  std::vector<ActorStatus> actors;
  std::vector<MachineStatus> machines{};
};

}  // namespace shoal

// clang-format off
// Messages that actors hear. An order to fail passes everything that waits, so it does not come as a letter's body.
#define SHOAL_LOCAL_MESSAGES(X)                                                                              \
  X(Delivered) X(Inject)                                                                                     \
  X(JournalEntry) X(OperatorOrder) X(OperatorAnswer) X(AvoidReplicas)                                        \
  X(Letter) X(Tick) X(RunNextJob) X(TransferTimed) X(Attach) X(Detach) X(Dialled) X(Identify)                \
  X(StopRequest) X(StatusQuery) X(StatusReport) X(JournalSoFar) X(LaneLetter) X(LaneProgress) X(LaneChange)  \
  X(Ping) X(WorkSoFar) X(SaveRequest) X(SaveAnswer) X(LookEnded) X(CopyToHost) X(TensorCopied) \
  X(JobEnded) X(CollectiveTold)

CAF_BEGIN_TYPE_ID_BLOCK(shoal, caf::first_custom_type_id)
  CAF_ADD_TYPE_ID(shoal, (shoal::WireFrame))
#define SHOAL_ADD_TYPE_ID(type, ...) CAF_ADD_TYPE_ID(shoal, (shoal::type))
  SHOAL_LOCAL_MESSAGES(SHOAL_ADD_TYPE_ID)
#undef SHOAL_ADD_TYPE_ID
CAF_END_TYPE_ID_BLOCK(shoal)

#define SHOAL_LOCAL_ONLY(type, ...) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(shoal::type)
SHOAL_LOCAL_MESSAGES(SHOAL_LOCAL_ONLY)
#undef SHOAL_LOCAL_ONLY
// clang-format on

namespace shoal {

// Hears no letters, but an order to fail: every actor does (actors/injected.h).
template <class... Messages>
using Hears = caf::typed_actor<caf::reacts_to<Inject>, caf::reacts_to<Messages>...>;

// Hears the letters that the catalogue has for it, too.
template <class... Messages>
using HearsLetters = Hears<Delivered, Messages...>;

using RouterActor = Hears<Letter, WireFrame, LaneLetter, LaneProgress, LaneChange, Attach, Detach, Dialled, Identify,
                          TensorCopied, Ping, Tick>;

using TensorCopierActor = Hears<CopyToHost>;

using StageActor = HearsLetters<JournalSoFar, JournalEntry, TransferTimed, RunNextJob, JobEnded, CollectiveTold,
                                Tick>::extend<caf::replies_to<Ping>::with<WorkSoFar>>;

using DataLoaderActor = HearsLetters<JournalSoFar, JournalEntry, AvoidReplicas, Ping, Tick>;

using SyncGroupActor = HearsLetters<JournalSoFar, JournalEntry, Ping, Tick>;

using SupervisorActor =
    HearsLetters<StopRequest, LookEnded, Tick>::extend<caf::replies_to<OperatorOrder>::with<OperatorAnswer>,
                                                       caf::replies_to<SaveRequest>::with<SaveAnswer>,
                                                       caf::replies_to<StatusQuery>::with<StatusReport>>;

using MetricsActor = HearsLetters<JournalSoFar, JournalEntry>;

using NodeAgentActor = HearsLetters<StopRequest, Tick>;

using StorageActor = HearsLetters<JournalSoFar, JournalEntry, Tick>;

using TracerActor = HearsLetters<Tick>;

using ControlActor = Hears<Tick>;

using CaretakerActor = Hears<Tick>;

}  // namespace shoal
