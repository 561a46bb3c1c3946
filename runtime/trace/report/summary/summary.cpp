// Two readings: what is known without an order decides what the second one looks for.
#include "runtime/trace/report/summary/summary.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/compose.h"
#include "runtime/trace/report/endings.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/report/summary/amounts.h"
#include "runtime/trace/report/summary/committed_steps.h"
#include "runtime/trace/report/summary/happenings.h"
#include "runtime/trace/report/summary/table.h"

namespace shoal {
namespace {

std::string_view words_of(LifeEnd end) {
  switch (end) {
    case LifeEnd::kCutOff: return "cut off";
    case LifeEnd::kInOrder: return "in order";
    case LifeEnd::kNotTold: return "not known";
    case LifeEnd::kLeft: break;
  }
  return "left, as asked";
}

std::string processes_text(const RunTrace& frame, const std::vector<LifeEnd>& ends) {
  Table table({"process", "from", "to", "end", "events lost", "clock ahead of it by"});
  for (std::size_t i = 0; i < frame.lives.size(); ++i) {
    const ProcessLife& life = frame.lives[i];
    table.add({life.name, seconds_text(life.begin_ns), seconds_text(life.end_ns), std::string(words_of(ends[i])),
               std::to_string(life.dropped), text_of(life.clock)});
  }
  return table.text();
}

// What is taken of events, in both readings.
struct Sums {
  explicit Sums(const RunTrace& frame) : work(frame) {}

  CommittedSteps steps;
  WorkAmounts work;
  LetterAmounts letters;
};

Result<std::vector<LifeEnd>> read_once(const EventPieces& pieces, Sums& sums) {
  const RunTrace& frame = pieces.frame();
  LifeEndings endings(frame);
  for (std::size_t piece = 0; piece < pieces.topics().size(); ++piece) {
    const auto read = pieces.read(piece, [&](const TracedEvent& traced, std::uint64_t) {
      endings.take(traced);
      sums.steps.note(frame, traced);
      sums.work.note(traced);
      sums.letters.note(traced.event);
    });
    if (!read) return read.failure();
  }
  sums.steps.choose();
  return endings.ends();
}

// At level `lifecycle` nothing is said of the parts of a step: most pieces are not read again.
KindSet kinds_in_order(const CommittedSteps& steps) {
  KindSet kinds{TraceKind::kStart, TraceKind::kEnd,   TraceKind::kSend,    TraceKind::kReceive, TraceKind::kDrop,
                TraceKind::kLink,  TraceKind::kFault, TraceKind::kRestart, TraceKind::kRollBack};
  if (steps.has_answers()) kinds.add(KindSet{TraceKind::kPlan, TraceKind::kPhase});
  return kinds;
}

Status read_in_order(const WindowedTrace& trace, Sums& sums, Happenings& happenings, std::size_t& most_events) {
  const KindSet kinds = kinds_in_order(sums.steps);
  const auto time_of = [&](const TracedEvent& traced) {
    return kinds.has(traced.event.kind) ? std::optional(time_number(traced.time_ns)) : std::nullopt;
  };
  const auto may_have = [&](const PieceTopics& topics, std::uint64_t begin, std::uint64_t end) {
    return topics.kinds.touches(kinds) && topics.times.touches(begin, end);
  };
  const auto take = [&](const EventWindow& window) -> Status {
    for (const TracedEvent& traced : window.trace().events) {
      sums.steps.take(traced);
      sums.work.take(traced);
      sums.letters.take(traced);
      happenings.take(traced);
    }
    return Done{};
  };
  const NumberRange times = trace.pieces.all_topics().times;
  return walk_windows(trace, {times.least, times.end(), time_of, may_have}, take, most_events);
}

}  // namespace

Result<TraceSummary> summarise_trace(const EventPieces& pieces, std::size_t window_events) {
  const RunTrace& frame = pieces.frame();
  Sums sums(frame);
  const auto ends = read_once(pieces, sums);
  if (!ends) return ends.failure();
  Happenings happenings(frame, *ends);
  TraceSummary summary;
  const auto read = read_in_order({pieces, window_events}, sums, happenings, summary.most_events);
  if (!read) return read.failure();
  summary.most_letters = sums.letters.most_waiting();
  std::int64_t end_ns = 0;
  for (const ProcessLife& life : frame.lives) end_ns = std::max(end_ns, life.end_ns);
  summary.text = compose(pieces.event_count(), " events of ", frame.lives.size(), " process lives over ",
                         seconds_text(end_ns), "; ", sums.steps.count(), " steps committed\n\nPROCESSES\n",
                         processes_text(frame, *ends), "\nSTEPS\n", sums.steps.text(), "\nWORK\n", sums.work.finish(),
                         "\nLETTERS\n", sums.letters.text(), "\nFAULTS, RESTARTS, DROPS\n", happenings.text());
  return summary;
}

std::string summary_text(const RunTrace& trace) {
  return summarise_trace(*pieces_of(trace, piece_events_of(trace.lives.size()))).value().text;
}

}  // namespace shoal
