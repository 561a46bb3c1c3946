// A part of a run's events in memory, at a time: those of some journal positions, of some steps, of some commits.
//
// Whoever loads a window ranks the events that it wants. A window takes the events of as many ranks as its bound
// allows, and of one rank in any case: one step has to fit into memory, a run need not. All events of a rank are in one
// window, in the order of time, wherever they lie in the files. A manifest counts for as many events as what is made of
// it takes the memory of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/trace/report/pieces/event_pieces.h"
#include "runtime/trace/report/traced_journal.h"

namespace shoal {

// Events that a window of a report holds; those of one step, of one entry, or of one time in any case.
inline constexpr std::size_t kWindowEvents = std::size_t{1} << 16U;

// Says for how many events one counts.
[[nodiscard]] std::size_t weight_of(const TraceEvent& event);

struct WindowQuery {
  std::uint64_t begin = 0;  // first rank that is wanted
  std::uint64_t end = 0;    // behind the last one
  // Returns an event's rank; nothing, or one out of the range: it is not wanted.
  std::function<std::optional<std::uint64_t>(const TracedEvent& traced)> rank;
  // False where a piece has no event of these ranks.
  std::function<bool(const PieceTopics& topics, std::uint64_t begin, std::uint64_t end)> may_have;
};

// Names what a check reads, and how many events its windows may have. The pieces outlive it.
struct WindowedTrace {
  const EventPieces& pieces;
  std::size_t events_max;
};

class EventWindow {
 public:
  explicit EventWindow(const WindowedTrace& trace);

  // Loads the events of ranks from query.begin to end(), which is behind it and at most query.end; those that were
  // there before go. Errors: those of the pieces.
  [[nodiscard]] Status load(const WindowQuery& query);

  // Lives and actors of the run, events of this window.
  [[nodiscard]] const RunTrace& trace() const { return trace_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  // Returns the place of event `index` in the order of all.
  [[nodiscard]] EventOrder order_of(std::size_t index) const { return {trace_.events[index].time_ns, numbers_[index]}; }
  // The most events that it ever had.
  [[nodiscard]] std::size_t most_events() const { return most_events_; }

 private:
  void narrow();
  void sort();

  const EventPieces& pieces_;
  std::size_t events_max_;
  RunTrace trace_;
  std::vector<std::uint64_t> numbers_;  // by event
  std::vector<std::uint64_t> ranks_;    // by event, until they are sorted
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::size_t load_ = 0;    // events, with their weights
  std::uint64_t span_ = 1;  // ranks that the next window tries
  std::size_t most_events_ = 0;
};

// Goes through all ranks of the query, window after window, and raises `most_events` to the most that one of them had.
// Errors: those of the pieces, and of `take`.
[[nodiscard]] Status walk_windows(const WindowedTrace& trace, WindowQuery query,
                                  const std::function<Status(const EventWindow& window)>& take,
                                  std::size_t& most_events);

}  // namespace shoal
