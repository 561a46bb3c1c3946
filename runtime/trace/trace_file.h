// The file of one process's events, appended to by each of its lives.
//
//   file  = block*            block = "SHTR" u32 kind, u32 byte count n, n bytes (all numbers little-endian)
//   kind 1 begin    a life begins: u32 version, u64 process incarnation (0: the spawner, or not known yet), i64 wall
//                   clock ns and i64 steady clock ns of the same instant (time_ns counts from it), u64 machine, u8
//                   level, the process's name
//   kind 2 name     u16 number, text: an actor's name
//   kind 3 events   fixed-size records (kEventBytes each, fields in the order of event.h)
//   kind 4 dropped  u64: events lost since the last such block; before events of the same writing. As the last one of
//                   a life: it had no more room, and the number is the least that it can be
//   kind 5 process  u64: the incarnation this process has been given
//   kind 6 end      nothing: what was recorded is in the file, whole. A life without it was cut off
//
// A process that is killed leaves at most a torn last block: a reader stops there, and the next life cuts it off. What
// it had recorded and not written lies in its ring (ring_memory.h): readers take it from there, and so does the next
// life, into the life that it belongs to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/error.h"
#include "runtime/trace/event.h"
#include "runtime/trace/ring_memory.h"

namespace shoal {

inline constexpr std::uint32_t kTraceVersion = 2;

enum class BlockKind : std::uint32_t;

struct TraceBegin {
  ProcessIncarnation process;
  std::int64_t wall_ns = 0;    // since the Unix epoch
  std::int64_t steady_ns = 0;  // the machine's steady clock
  std::uint64_t machine = 0;   // processes with the same number share that clock; 0: not known
  TraceLevel level = TraceLevel::kOff;
  std::string process_name;
  friend bool operator==(const TraceBegin&, const TraceBegin&) = default;
};

// One life of a process.
struct TraceLife {
  TraceBegin begin;                             // its process is the last one given
  std::vector<ProcessIncarnation> processes{};  // all that it was given, in order
  std::map<ActorName, std::string> names;
  std::vector<TraceEvent> events;
  std::uint64_t dropped = 0;
  bool is_whole = false;   // the process ended in order; otherwise the last events are missing
  bool lacks_end = false;  // the last that the file has of it are events that were dropped
};

class TraceFile {
 public:
  // Makes the file, and the folder that it lies in, if need be, cuts off a torn end, adds what the last life left
  // behind, begins a life. Errors: kIo; kInvalidData when something else lies at `path`.
  [[nodiscard]] static Result<TraceFile> open(const std::string& path, const TraceBegin& begin,
                                              const std::optional<LeftBehind>& left = std::nullopt);

  TraceFile(TraceFile&& other) noexcept;
  TraceFile& operator=(TraceFile&& other) noexcept;
  ~TraceFile();

  // Each returns after the system has taken the bytes. What it refuses is not in the file, whole. Errors: kIo.
  [[nodiscard]] Status add_name(ActorName number, const std::string& name);
  [[nodiscard]] Status add_events(std::span<const TraceEvent> events);
  [[nodiscard]] Status add_dropped(std::uint64_t count);
  [[nodiscard]] Status add_process(ProcessIncarnation process);
  [[nodiscard]] Status add_end();

  // Bytes that the file has.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  TraceFile(int descriptor, std::string path, std::uint64_t size)
      : descriptor_(descriptor), path_(std::move(path)), size_(size) {}
  // block: room for its header, then its body.
  [[nodiscard]] Status append(BlockKind kind, std::string block);

  int descriptor_ = -1;
  std::string path_;
  std::uint64_t size_ = 0;  // size of the whole blocks
};

// Says where events lie that can be read once more: in whole blocks of a file, or in its ring.
struct EventsPlace {
  std::uint64_t begin = 0;  // offsets in the file
  std::uint64_t end = 0;
  bool is_in_ring = false;
};

// Holds what a file says of a life from one place to another, with the life's begin.
struct TracePart {
  TraceLife life;
  EventsPlace place;
};
using TakePart = std::function<void(TracePart part)>;

// Reads the file of a process that may still be running as it is when it is opened, with what lies in its ring then:
// whoever reads it twice finds the same. Holds that ring's events, no file.
class TraceFileReader {
 public:
  // Errors: kIo; kInvalidData (not a trace file, or of another version).
  [[nodiscard]] static Result<TraceFileReader> open(const std::string& path);

  // Gives the lives in the file, oldest first, in parts: a life of months does not fit into memory twice. A part has so
  // many events, and as many more as its last block; the last parts of lives have fewer. What lies in the ring is the
  // last part, where there is any. Errors: kIo; kInvalidData, after some parts were given.
  [[nodiscard]] Status read_parts(const TakePart& take, std::size_t part_events) const;

  // Returns the events of a part that read_parts() gave. Errors: as there; kIo where the file has another content.
  [[nodiscard]] Result<std::vector<TraceEvent>> events_at(const EventsPlace& place) const;

 private:
  explicit TraceFileReader(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::uint64_t size_ = 0;
  std::vector<TraceEvent> in_ring_;  // and not in the file
};

// Gives the parts of a file that is read once. Errors: as TraceFileReader.
inline constexpr std::size_t kPartEvents = std::size_t{1} << 14U;
[[nodiscard]] Status read_trace_parts(const std::string& path, const TakePart& take,
                                      std::size_t part_events = kPartEvents);

// The lives in a file, oldest first, the last one with what lies in its ring; a torn last block is left out. Errors:
// kIo, kInvalidData (not a trace file, or of another version).
[[nodiscard]] Result<std::vector<TraceLife>> read_trace_file(const std::string& path);

}  // namespace shoal
