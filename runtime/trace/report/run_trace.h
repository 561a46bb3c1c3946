// All traces of a run on one time line: what every report starts from.
//
// RUN/trace/*.trace hold one process each, and each of its lives. Here their events stand in one list, ascending by
// time; 0 is the beginning of the earliest life. Events of one actor keep their order. Pure but for read_run_trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/trace/report/clocks.h"
#include "runtime/trace/trace_file.h"

namespace shoal {

// One start of a process, to its end. A tracer that was replaced in mid-life does not end it.
struct ProcessLife {
  std::string name;                           // the process's: spawner, storage, node1, ...
  std::vector<ProcessIncarnation> processes;  // the numbers it was given; 0 before the first and of the spawner
  TraceLevel level = TraceLevel::kOff;
  ClockReading clock;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;    // time of its last event
  std::uint64_t dropped = 0;  // events that are not in the file
  bool is_whole = false;      // the process ended in order
  bool lacks_end = false;     // the events that are not there are its last ones
};

struct TracedEvent {
  std::int64_t time_ns = 0;
  std::uint32_t life = 0;   // index in RunTrace::lives
  std::uint32_t actor = 0;  // index in RunTrace::actors
  TraceEvent event;
};

// An actor by name, in all its incarnations and in all lives of its process.
struct TracedActor {
  std::string process;
  std::string name;  // within the process: router, stage/1/0, ...
  friend auto operator<=>(const TracedActor&, const TracedActor&) = default;
};

struct RunTrace {
  std::vector<ProcessLife> lives;
  std::vector<TracedActor> actors;
  std::vector<TracedEvent> events;

  [[nodiscard]] const ProcessLife& life_of(const TracedEvent& event) const { return lives[event.life]; }
  [[nodiscard]] const std::string& actor_of(const TracedEvent& event) const { return actors[event.actor].name; }
  // True when all processes kept everything they did: level `all` throughout.
  [[nodiscard]] bool is_full() const;
};

// Lives of one process follow each other in the list.
[[nodiscard]] RunTrace merge_lives(const std::vector<TraceLife>& lives);

// The trace files of a run directory, by name; none where there is no such folder.
[[nodiscard]] std::vector<std::filesystem::path> trace_files(const std::string& run_directory);

// Bytes of the trace files of a run directory; 0 where there are none.
[[nodiscard]] std::uint64_t trace_bytes(const std::string& run_directory);

// The folder `trace` of a run directory. Errors: kInvalidData (no trace there, or a damaged one), kIo.
[[nodiscard]] Result<RunTrace> read_run_trace(const std::string& run_directory);

// Says why nothing was found there: kUsage (no such directory), kInvalidData.
[[nodiscard]] Failure no_trace_in(const std::string& run_directory);

}  // namespace shoal
