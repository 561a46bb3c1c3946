// Ends of work and arrivals of letters to rows.
#include "runtime/trace/report/summary/amounts.h"

#include <algorithm>
#include <string_view>

#include "runtime/trace/report/quantities.h"
#include "runtime/trace/report/summary/table.h"

namespace shoal {

WorkAmounts::WorkAmounts(const RunTrace& frame)
    : frame_(frame), lifetimes_(frame.actors.size()), tracks_(frame, [this](const WorkSpan& span, std::uint64_t) {
        Row& row = row_of(span.actor, span.word);
        row.times.add(span.end_ns - span.begin_ns);
        row.cut_count += span.is_cut ? 1 : 0;
      }) {}

void WorkAmounts::note(const TracedEvent& traced) {
  Lifetime& life = lifetimes_[traced.actor];
  life.first_ns = life.is_begun ? std::min(life.first_ns, traced.time_ns) : traced.time_ns;
  life.last_ns = life.is_begun ? std::max(life.last_ns, traced.time_ns) : traced.time_ns;
  life.is_begun = true;
}

void WorkAmounts::take(const TracedEvent& traced) {
  if (traced.event.kind == TraceKind::kStart) {
    row_of(traced.actor, traced.event.detail_text()).actor = traced.actor;
  }
  tracks_.take(traced);
}

std::string WorkAmounts::finish() {
  tracks_.finish();
  Table table({"actor and work", "times", "total", "mean", "99 %", "share of its time", "cut off"});
  for (const auto& [key, row] : rows_) {
    const TimeCounts& times = row.times;
    const double share = static_cast<double>(times.total_ns()) / lived_ns(row.actor);
    table.add({key.first + ": " + key.second, std::to_string(times.count()), seconds_text(times.total_ns()),
               ms_text(times.mean_ns()), ms_text(times.high_ns()), percent_text(share), std::to_string(row.cut_count)});
  }
  return table.is_empty() ? "  (work is traced with trace.level=all)\n" : table.text();
}

WorkAmounts::Row& WorkAmounts::row_of(std::uint32_t actor, std::string_view word) {
  const auto [known, is_first] = by_actor_.try_emplace({actor, std::string(word)});
  if (is_first) {
    const TracedActor& named = frame_.actors[actor];
    known->second = &rows_[{named.name + " in " + named.process, std::string(word)}];
  }
  return *known->second;
}

// Between an actor's first and last event.
double WorkAmounts::lived_ns(std::uint32_t actor) const {
  const Lifetime& life = lifetimes_[actor];
  return static_cast<double>(std::max<std::int64_t>(1, life.last_ns - life.first_ns));
}

void LetterAmounts::take(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  std::size_t place = 0;
  if (is_sending(event)) {
    const auto [known, is_first] = places_.try_emplace(std::string(event.detail_text()), rows_.size());
    if (is_first) rows_.emplace_back();
    place = known->second;
    ++rows_[place].sent_count;
    rows_[place].bytes += event.bytes;
  }
  const auto joined = ends_.take(traced, place);
  if (joined) rows_[joined->sent.place].times.add(joined->arrived.time_ns - joined->sent.time_ns);
}

std::string LetterAmounts::text() const {
  Table table({"letter", "sent", "tensors", "mean on the way", "99 %", "never arrived"});
  std::uint64_t lost_count = 0;
  for (const auto& [word, place] : places_) {
    const Row& row = rows_[place];
    const std::uint64_t lost = row.sent_count - row.times.count();
    lost_count += lost;
    table.add({word, std::to_string(row.sent_count), bytes_text(row.bytes), ms_text(row.times.mean_ns()),
               ms_text(row.times.high_ns()), std::to_string(lost)});
  }
  if (table.is_empty()) return "  (letters are traced with trace.level=all)\n";
  return table.text() +
         (lost_count == 0 ? "" : "  (letters to processes whose traces are not here count as never arrived)\n");
}

}  // namespace shoal
