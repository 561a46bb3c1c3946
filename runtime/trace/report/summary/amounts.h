// Sums up what actors worked on and which letters went between processes: rows of the summary's tables.
// Memory grows with actors and kinds of work, with kinds of letters, and with what is open or on its way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/trace/report/letter_ends.h"
#include "runtime/trace/report/run_trace.h"
#include "runtime/trace/report/summary/time_counts.h"
#include "runtime/trace/report/work_spans.h"

namespace shoal {

// Every event is noted, in any order, before the first is taken, in the order of time.
class WorkAmounts {
 public:
  explicit WorkAmounts(const RunTrace& frame);
  WorkAmounts(const WorkAmounts&) = delete;
  WorkAmounts& operator=(const WorkAmounts&) = delete;

  void note(const TracedEvent& traced);
  void take(const TracedEvent& traced);
  // Returns the table, when all events were taken.
  [[nodiscard]] std::string finish();

 private:
  struct Lifetime {
    bool is_begun = false;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
  };
  struct Row {
    TimeCounts times;
    std::uint64_t cut_count = 0;
    std::uint32_t actor = 0;  // whose work began last
  };

  [[nodiscard]] Row& row_of(std::uint32_t actor, std::string_view word);
  [[nodiscard]] double lived_ns(std::uint32_t actor) const;

  const RunTrace& frame_;
  std::vector<Lifetime> lifetimes_;                                 // by actor
  std::map<std::pair<std::string, std::string>, Row> rows_;         // by actor in words, and work
  std::map<std::pair<std::uint32_t, std::string>, Row*> by_actor_;  // the same rows
  WorkTracks tracks_;
};

// As WorkAmounts.
class LetterAmounts {
 public:
  void note(const TraceEvent& event) { ends_.note(event); }
  void take(const TracedEvent& traced);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::size_t most_waiting() const { return ends_.most_waiting(); }

 private:
  struct Row {
    std::uint64_t sent_count = 0;
    std::uint64_t bytes = 0;
    TimeCounts times;  // on the way, of those that arrived
  };

  LetterEnds ends_;
  std::vector<Row> rows_;
  std::map<std::string, std::size_t, std::less<>> places_;  // in `rows_`, by the letter's name
};

}  // namespace shoal
