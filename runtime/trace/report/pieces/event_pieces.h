// The events of a run in pieces, read as often as a report needs them: none of them is kept.
//
// A piece knows which journal positions, steps and epochs its events are about, as the least and the most of each: a
// check of some steps reads the pieces about them, wherever they lie. Events about nothing that a check
// compares are read once. Memory: a piece, and some hundred bytes for each.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/trace/report/run_trace.h"

namespace shoal {

// Returns how many events a piece of a run of so many files has, or a few more. A step lies in all files: where these
// are many, large pieces would be read again and again for a few events each.
[[nodiscard]] std::size_t piece_events_of(std::size_t file_count);

// Says what a check compares an event by.
enum class TopicKind : std::uint8_t {
  kNone,
  kPosition,  // an entry of the journal, or a part of one
  kStep,      // a plan, an accumulation, a zeroing, a manifest that was heard; a state: steps applied
  kEpoch,     // a vote or a sum
};

struct Topic {
  TopicKind kind = TopicKind::kNone;
  std::uint64_t number = 0;  // a position, a step, the counter of an epoch
  Incarnation group;         // of an epoch
};

[[nodiscard]] Topic topic_of(const TraceEvent& event);

// All numbers from the least to the most; empty at first.
struct NumberRange {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;

  void add(std::uint64_t number);
  void add(const NumberRange& other);
  [[nodiscard]] bool is_empty() const { return least > most; }
  // The number behind the most; no run comes so far that there is none.
  [[nodiscard]] std::uint64_t end() const {
    return most == std::numeric_limits<std::uint64_t>::max() ? most : most + 1;
  }
  [[nodiscard]] bool touches(const NumberRange& other) const { return least <= other.most && other.least <= most; }
  // True when it has some of those from `begin` on and below `end`.
  [[nodiscard]] bool touches(std::uint64_t begin, std::uint64_t end) const { return least < end && begin <= most; }
};

// Returns a number for a time, in the order of times.
[[nodiscard]] std::uint64_t time_number(std::int64_t time_ns);

// Kinds of events; empty at first.
class KindSet {
 public:
  KindSet() = default;
  KindSet(std::initializer_list<TraceKind> kinds) {
    for (const TraceKind kind : kinds) add(kind);
  }
  void add(TraceKind kind) { bits_ |= bit_of(kind); }
  void add(const KindSet& other) { bits_ |= other.bits_; }
  [[nodiscard]] bool has(TraceKind kind) const { return (bits_ & bit_of(kind)) != 0; }
  [[nodiscard]] bool touches(const KindSet& other) const { return (bits_ & other.bits_) != 0; }

 private:
  static_assert(static_cast<unsigned>(kTraceKindLast) < 32);
  static std::uint32_t bit_of(TraceKind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind) % 32; }

  std::uint32_t bits_ = 0;
};

// Topics of the events of a piece.
struct PieceTopics {
  NumberRange positions;
  NumberRange steps;
  NumberRange counters;  // of epochs
  NumberRange groups;
  NumberRange times;  // of all its events, as time_number()
  KindSet kinds;      // of all its events

  void add(const TraceEvent& event);
  void add(const PieceTopics& other);
};

class EventPieces {
 public:
  // `number`: place of the event in the order of the lives and of what each recorded, which decides between events of
  // one time. Pieces and their events have ascending ones.
  using Take = std::function<void(const TracedEvent& traced, std::uint64_t number)>;

  virtual ~EventPieces() = default;
  EventPieces(const EventPieces&) = delete;
  EventPieces& operator=(const EventPieces&) = delete;

  // Lives and actors, without events.
  [[nodiscard]] const RunTrace& frame() const { return frame_; }
  [[nodiscard]] std::uint64_t event_count() const { return event_count_; }
  // Topics of each piece.
  [[nodiscard]] std::span<const PieceTopics> topics() const { return topics_; }
  // Topics of all.
  [[nodiscard]] PieceTopics all_topics() const;
  // Gives the events of a piece. Errors: kIo, kInvalidData.
  [[nodiscard]] virtual Status read(std::size_t piece, const Take& take) const = 0;

 protected:
  EventPieces() = default;

  RunTrace frame_;
  std::vector<PieceTopics> topics_;
  std::uint64_t event_count_ = 0;
};

// A trace in memory, which outlives its pieces.
[[nodiscard]] std::unique_ptr<EventPieces> pieces_of(const RunTrace& trace, std::size_t piece_events);

// The folder `trace` of a run directory as it is by now, whatever is written to it meanwhile. Errors: as
// read_run_trace().
[[nodiscard]] Result<std::unique_ptr<EventPieces>> read_pieces(const std::string& run_directory);
[[nodiscard]] Result<std::unique_ptr<EventPieces>> read_pieces(const std::string& run_directory,
                                                               std::size_t piece_events);

}  // namespace shoal
