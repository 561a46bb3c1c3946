// Pieces of work and letters, joined from their two ends.
//
// Work of one track (an actor in one incarnation, in one life of its process) is nested or disjoint, never overlapping:
// a piece that was cut off, because its actor or its process died in it, ends where the piece around it ends, or with
// the life.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

struct WorkSpan {
  std::uint32_t life = 0;
  std::uint32_t actor = 0;
  Incarnation incarnation;
  std::string word;  // "forward", "apply", ...
  Cause cause;
  std::uint64_t span = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t depth = 0;  // spans around it
  bool is_cut = false;
};

// Joins starts with ends as both come by, in the order of time. Keeps the pieces that are open: memory grows with the
// tracks, and with the ends that are in no trace. The lives outlive it.
class WorkTracks {
 public:
  // `number`: how many pieces began before it.
  using Take = std::function<void(const WorkSpan& span, std::uint64_t number)>;

  // Gives each piece to `closed` when it has ended.
  WorkTracks(const RunTrace& frame, Take closed) : frame_(&frame), closed_(std::move(closed)) {}

  void take(const TracedEvent& traced);
  // Closes what is open when there are no more events.
  void finish();

 private:
  using Track = std::tuple<std::uint32_t, std::uint32_t, Incarnation>;  // life, actor, incarnation
  struct Open {
    WorkSpan span;
    std::uint64_t number = 0;
  };

  void start(const TracedEvent& traced);
  void end(const TracedEvent& traced);
  void close(std::vector<Open>& open, std::int64_t time_ns, bool is_cut);

  const RunTrace* frame_;
  Take closed_;
  std::map<Track, std::vector<Open>> open_;
  std::uint64_t count_ = 0;
};

// Ascending by begin.
[[nodiscard]] std::vector<WorkSpan> work_spans(const RunTrace& trace);

// A letter between two processes: indices in RunTrace::events.
struct TracedLetter {
  std::size_t sent = 0;
  std::optional<std::size_t> arrived;  // taken, or dropped by its receiver; absent: it never came
};

// Ascending by sending. Letters whose sending is in no trace are left out.
[[nodiscard]] std::vector<TracedLetter> letters_of(const RunTrace& trace);

// Links the piece of work that sent a letter to the piece that the letter was for.
struct WorkLink {
  std::size_t from = 0;  // indices in the list of spans
  std::size_t to = 0;
};
[[nodiscard]] std::vector<WorkLink> work_links(const RunTrace& trace, const std::vector<WorkSpan>& spans);

}  // namespace shoal
