// Records what happens to the actors of a process, and brings it to a file.
//
//   actor ──record──▶ Tracer: ring ──▶ TraceDrain::flush (the tracer actor, every 100 ms) ──▶ RUN/trace/<process>.trace
//
// record() is called on hot paths: it never blocks and never allocates once the level is known; what does not fit into
// the ring is counted.
// The tracer outlives the drain, so that a drain that dies is replaced and what was recorded meanwhile is not lost.
//
// A process that learns the run's level by its Welcome has heard letters before, that one among them. Their arrivals
// are kept until then, as far as they are few: others' traces have their sending.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/trace/event.h"
#include "runtime/trace/ring.h"
#include "runtime/trace/trace_file.h"
#include "runtime/trace/trace_room.h"

namespace shoal {

struct TracerSettings {
  // Until set_level(). Nothing: that says it for the first time; meanwhile nothing is kept but newest arrivals.
  std::optional<TraceLevel> level = TraceLevel::kLifecycle;
  std::size_t ring_capacity = std::size_t{1} << 14U;  // events; a power of two
  std::uint64_t machine = 0;                          // machine.h
  std::string ring_path;                              // ring_memory.h; empty: in memory
};

class Tracer {
 public:
  static constexpr std::size_t kEarlyMax = 64;  // arrivals before the level is known, the newest ones

  Tracer(TracerSettings settings, std::shared_ptr<const Clock> clock);

  // True when events of this kind are kept at all: ask before computing what only an event needs. Looks at the level
  // last: where it is not early any more, the level is there.
  [[nodiscard]] bool wants(TraceKind kind) const {
    const bool is_early = is_early_.load(std::memory_order_acquire);
    return (is_early && is_arrival(kind)) || is_traced(kind, level());
  }
  // Keeps the event if its kind is wanted; stamps the time unless it is set. Any thread.
  void record(TraceEvent event);
  // For an event that is recorded later than it happens.
  [[nodiscard]] std::int64_t now_ns() const;
  // A number for an actor's name, the same for the same name. Any thread; takes a lock, so once per actor.
  [[nodiscard]] ActorName name(const std::string& actor);
  // A number for a span that no other process of the run gives, nor the spawner of another term. Any thread.
  [[nodiscard]] std::uint64_t new_span();
  // Once this process has been welcomed, or knows that it is the spawner.
  void set_process(ProcessIncarnation process, Term term);

  // With kOff nothing is kept, and no file is made. The first level decides about what came before it.
  void set_level(TraceLevel level);
  [[nodiscard]] TraceLevel level() const { return level_.load(std::memory_order_acquire); }

 private:
  friend class TraceDrain;

  void keep_early(const TraceEvent& event);
  void end_early();

  std::atomic<TraceLevel> level_;
  std::atomic<bool> is_early_;  // the level is not known yet: it is kOff meanwhile
  std::shared_ptr<const Clock> clock_;
  Instant begun_;
  std::int64_t begun_wall_ns_;
  TracerSettings settings_;
  std::optional<TraceRing> ring_;   // there before the level is anything but kOff
  std::optional<LeftBehind> left_;  // by the life before, in the ring's file
  std::atomic<std::uint64_t> process_{0};
  std::atomic<std::uint64_t> span_origin_{0};
  std::atomic<std::uint64_t> spans_{0};
  std::mutex drain_mutex_;          // one consumer at a time; guards the next, and the making of the ring
  std::uint64_t dropped_told_ = 0;  // the part of the ring's count that is in the file
  std::mutex names_mutex_;
  std::vector<std::string> names_;
  std::mutex early_mutex_;
  std::deque<TraceEvent> early_;  // at most kEarlyMax
};

// One actor's way to the tracer. A default-constructed one records nothing.
class ActorTrace {
 public:
  ActorTrace() = default;
  // tracer: nullptr when this process keeps no trace.
  ActorTrace(std::shared_ptr<Tracer> tracer, const std::string& actor, Incarnation incarnation = {});

  [[nodiscard]] bool wants(TraceKind kind) const { return tracer_ && tracer_->wants(kind); }
  void record(TraceKind kind, const Cause& cause, std::uint64_t bytes = 0, std::string_view detail = {}) const;
  // Records an event as this actor's, whatever the event says.
  void record(TraceEvent event) const;
  // kStart, and the number of its span for end(); 0 when nothing is recorded.
  [[nodiscard]] std::uint64_t start(const Cause& cause, std::string_view detail = {}) const;
  void end(std::uint64_t span, const Cause& cause, std::uint64_t bytes = 0) const;
  // 0 when events of this kind are not kept.
  [[nodiscard]] std::uint64_t new_span(TraceKind kind) const { return wants(kind) ? tracer_->new_span() : 0; }
  [[nodiscard]] std::int64_t now_ns() const { return tracer_ ? tracer_->now_ns() : 0; }

 private:
  std::shared_ptr<Tracer> tracer_;
  ActorName name_;
  Incarnation incarnation_;
};

// kStart now and kEnd when it goes out of scope.
class TracedSpan {
 public:
  TracedSpan(const ActorTrace& trace, const Cause& cause, std::string_view detail, std::uint64_t bytes = 0)
      : trace_(&trace), cause_(cause), bytes_(bytes), span_(trace.start(cause, detail)) {}
  ~TracedSpan() { trace_->end(span_, cause_, bytes_); }
  TracedSpan(const TracedSpan&) = delete;
  TracedSpan& operator=(const TracedSpan&) = delete;

 private:
  const ActorTrace* trace_;
  Cause cause_;
  std::uint64_t bytes_;
  std::uint64_t span_;
};

// The process in whose life a span was given: the spawner's (0) are of any term.
[[nodiscard]] ProcessIncarnation process_of_span(std::uint64_t span);

// RUN/trace/<process>.trace; slashes of the name become dashes.
[[nodiscard]] std::string trace_path(const std::string& run_directory, const std::string& process_name);

// Moves events from a tracer to its file. One at a time per tracer; each one begins a life in the file.
class TraceDrain {
 public:
  TraceDrain(std::shared_ptr<Tracer> tracer, std::string path, std::string process_name);
  TraceDrain(const TraceDrain&) = delete;
  TraceDrain& operator=(const TraceDrain&) = delete;
  // Writes what is left, and that this was all.
  ~TraceDrain();

  // Bytes that the file may have, with those of earlier lives; any number unless this is called.
  void set_bytes_max(std::uint64_t bytes) { room_.set_bytes_max(bytes); }
  // Bytes of the file's disk that its events do not take; none unless this is called.
  void leave_on_disk(std::uint64_t bytes) { left_on_disk_ = bytes; }
  // True from the first event on that had no room: it and all that follow are counted and not written. The ring's file
  // is removed then.
  [[nodiscard]] bool is_full() const { return room_.is_full(); }

  // Writes what is in the ring. Events that the disk refuses are lost and counted. Errors: kIo, kInvalidData.
  [[nodiscard]] Status flush();
  // The same, and that this was all: for a process that is ending. What follows nevertheless may be flushed, too.
  [[nodiscard]] Status flush_end();

 private:
  [[nodiscard]] Status begin_life();
  // False where the file has no room for a block of so many bytes, or no life of this process.
  [[nodiscard]] bool takes(std::uint64_t bytes);
  [[nodiscard]] Status write_what_is_new();
  [[nodiscard]] Status write_process();
  [[nodiscard]] Status write_names();
  [[nodiscard]] Status write_events();
  [[nodiscard]] Status write_loss();

  std::shared_ptr<Tracer> tracer_;
  std::string path_;
  std::string process_name_;
  std::optional<TraceFile> file_;
  std::vector<TraceEvent> batch_;
  std::size_t names_written_ = 0;
  std::uint64_t process_written_ = 0;
  std::uint64_t refused_ = 0;  // events for which there was no room, not in the file's count yet
  TraceRoom room_;
  std::uint64_t left_on_disk_ = 0;
};

}  // namespace shoal
