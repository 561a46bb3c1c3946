// Joins the sending of a letter with its arrival, as both come by in the order of time.
//
// The first sending of a span and its first arrival belong together, whichever comes by first: clocks of two machines
// differ. Others of that span are alone. Which spans have both ends is noted before, in a bit for each end, so that
// letters whose other end is in no trace are not waited for: what is kept beyond the bits is on its way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

// A set of spans. Those of a process are numbers that rise by one: a bit for each.
class SpanSet {
 public:
  void add(std::uint64_t span) { word_of(blocks_[span / kBlock], span) |= bit_of(span); }
  void erase(std::uint64_t span);
  [[nodiscard]] bool has(std::uint64_t span) const;

 private:
  static constexpr std::uint64_t kBlock = 1024;
  using Block = std::array<std::uint64_t, kBlock / 64>;
  static std::uint64_t& word_of(Block& block, std::uint64_t span) { return block[span % kBlock / 64]; }
  static std::uint64_t bit_of(std::uint64_t span) { return std::uint64_t{1} << span % 64; }

  std::unordered_map<std::uint64_t, Block> blocks_;
};

struct LetterEnd {
  std::int64_t time_ns = 0;
  std::uint64_t place = 0;  // as whoever joins them numbers it
};

struct JoinedLetter {
  LetterEnd sent;
  LetterEnd arrived;
};

class LetterEnds {
 public:
  // Notes an event. All are noted, in any order, before the first is taken.
  void note(const TraceEvent& event);
  // Takes an event, in the order of time. Returns the letter when this is the second of its ends.
  [[nodiscard]] std::optional<JoinedLetter> take(const TracedEvent& traced, std::uint64_t place);
  // The most letters that were waited for at once.
  [[nodiscard]] std::size_t most_waiting() const { return most_waiting_; }

 private:
  using Ends = std::unordered_map<std::uint64_t, LetterEnd>;  // by span

  [[nodiscard]] std::optional<LetterEnd> other_end(Ends& others, std::uint64_t span);

  SpanSet to_be_sent_;
  SpanSet to_arrive_;
  Ends sent_;
  Ends arrived_;
  std::size_t most_waiting_ = 0;
};

// True for the sending of a letter to another process.
[[nodiscard]] constexpr bool is_sending(const TraceEvent& event) {
  return event.kind == TraceKind::kSend && event.span != 0;
}

}  // namespace shoal
