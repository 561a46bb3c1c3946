// The tracer actor: moves what the actors of its process recorded into the process's trace file; from another machine
// it also sends that file and the process's log to the storage of the run, piece by piece. What the run directory has
// no room for (RemoteFiles) is neither sent nor kept here: the trace says how many events it lacks.
//
// Spawned detached, because it waits for the disk. It holds nothing but the drain: killed and spawned again, it begins
// another life in the file and goes on with the same ring. A file that cannot be written is logged once; training goes
// on (DESIGN.md §7).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "messages/actor_types.h"
#include "runtime/storage/file_stream.h"
#include "runtime/storage/log_outbox.h"
#include "runtime/storage/remote_files.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/tracer.h"

namespace shoal {

// Files that a process on another machine sends to the run directory. Outlives the actor, which alone uses the streams.
struct NodeFiles {
  std::string name;  // names its files there
  LogOutbox log;
  FileStream log_stream{RemoteFiles::kFileBytesMax};
  // For a file that lives as long as this process's keeper: begin() lies beside it.
  FileStream trace_stream{RemoteFiles::kFileBytesMax, FileStream::Kept::kAll};

  std::atomic<Instant> arrived_until{};   // everything said and done before this is there
  std::atomic<bool> are_awaited = false;  // by the thread that ends this process
  std::atomic<bool> is_ending = false;    // every flush of the trace says from now on that it may be the last

  void ask_again() { log_stream.ask_again(), trace_stream.ask_again(); }
};

struct TracerActorSettings {
  std::shared_ptr<Tracer> tracer;
  std::string path;          // trace_path(RUN, process name)
  std::string process_name;  // node1, spawner, storage, ...
  RouterActor router{};      // the router that it can be reached by; none: nowhere
  std::shared_ptr<ActorBoard> board = nullptr;
  std::shared_ptr<NodeFiles> files = nullptr;  // none: this process writes into the run directory itself
};

// Waits until everything said and done so far has arrived, and that it was all, but no longer than `limit`. From any
// thread.
void wait_until_arrived(NodeFiles& files, Duration limit);

struct TracerState {
  static inline const char* name = "tracer";
  std::optional<TraceDrain> drain;
  std::string path;
  RouterActor router;
  std::shared_ptr<NodeFiles> files;
  bool is_refused = false;  // the disk refused the last flush
  bool is_full_told = false;
  Instant flushed_at{};  // and how much there was to send then; the next one counts when that has arrived
  std::uint64_t flushed_trace = 0, flushed_log = 0;
  std::shared_ptr<ActorPulse> pulse;
};

TracerActor::behavior_type tracer(TracerActor::stateful_pointer<TracerState> self, TracerActorSettings settings);

}  // namespace shoal
