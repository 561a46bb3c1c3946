// One pass over the events, in order.
#include "runtime/trace/report/accumulations.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "runtime/base/compose.h"
#include "runtime/trace/tracer.h"

namespace shoal {
namespace {

std::string seconds(std::int64_t ns) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(3) << static_cast<double>(ns) / 1e9 << " s";
  return std::move(out).str();
}

}  // namespace

Accumulations::Accumulations(const RunTrace& trace, const TracedJournal& journal, CheckReport& report)
    : trace_(trace), journal_(journal) {
  for (std::uint32_t i = 0; i < trace.lives.size(); ++i) {
    for (const ProcessIncarnation process : trace.lives[i].processes) {
      if (process.value != 0) life_of_[process] = i;  // the spawner's lives share that number; no replica runs there
    }
    last_sign_ns_.push_back(trace.lives[i].end_ns);
  }
  for (const TracedEvent& traced : trace.events) take(traced, report);
}

void Accumulations::take(const TracedEvent& traced, CheckReport& report) {
  const TraceEvent& event = traced.event;
  if (event.kind == TraceKind::kReceive) return hear(traced);
  if (event.kind == TraceKind::kAccumulate) return accumulate(traced, report);
  const bool is_zeroed = event.kind == TraceKind::kStart && event.detail_text() == "zero";
  if (is_zeroed) found_.erase({event.cause.branch, event.cause.step, event.incarnation});
}

void Accumulations::accumulate(const TracedEvent& traced, CheckReport& report) {
  const TraceEvent& event = traced.event;
  const Cause& cause = event.cause;
  const auto add = [&](Rule rule, const std::string& what) {
    report.violations.push_back(
        {rule, compose("step ", cause.step, " of branch ", cause.branch, ", stage ", cause.hop, ": ",
                       journal_.name_of(event.incarnation), " accumulated microbatch ", cause.microbatch, what)});
  };
  auto& step = found_[{cause.branch, cause.step, event.incarnation}];
  const auto [first, is_first] = step.try_emplace(cause.microbatch.value, traced.time_ns);
  if (!is_first) {
    add(Rule::kExactlyOnce,
        compose(" twice, at ", seconds(first->second), " and ", seconds(traced.time_ns), ", without a Zero between"));
  }
  const TracedEntry* added = journal_.added(event.incarnation);
  if (added == nullptr) return;
  if (added->branch != cause.branch) add(Rule::kView, compose(", but it is a replica of branch ", added->branch));
  if (added->stage.value != cause.hop) add(Rule::kView, compose(", but it serves stage ", added->stage));
}

// Letters say that their sender lived. A manifest that has come says that what it lists was accumulated before.
void Accumulations::hear(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  const auto sender = event.span == 0 ? life_of_.end() : life_of_.find(process_of_span(event.span));
  if (sender != life_of_.end()) {
    auto& last_sign_ns = last_sign_ns_[sender->second];
    last_sign_ns = std::max(last_sign_ns, traced.time_ns);
  }
  if (event.detail_text() != "Manifest") return;
  manifest_heard_ns_[{event.cause.branch, event.cause.step, Incarnation{event.subject}}] = traced.time_ns;
}

std::int64_t Accumulations::known_by(const TracedEntry& commit, Incarnation member) const {
  const auto heard = manifest_heard_ns_.find({commit.branch, commit.step, member});
  return heard == manifest_heard_ns_.end() ? commit.time_ns : std::min(commit.time_ns, heard->second);
}

Accumulations::Comparison Accumulations::compare(const TracedEntry& commit, const TracedShare& share) const {
  Comparison out;
  const TracedEntry* added = journal_.added(share.member);
  const auto life_index = added == nullptr ? life_of_.end() : life_of_.find(added->process);
  if (life_index == life_of_.end()) {
    out.note = compose("there is no trace of the process of ", journal_.name_of(share.member),
                       ": what it accumulated was not compared");
    return out;
  }
  const ProcessLife& life = trace_.lives[life_index->second];
  if (life.level != TraceLevel::kAll || life.dropped > 0) return out;  // the report has a note of its own
  static const std::map<std::uint32_t, std::int64_t> kNothing;
  const auto found = found_.find({commit.branch, commit.step, share.member});
  const auto& own = found == found_.end() ? kNothing : found->second;
  for (const auto& [microbatch, time] : own) {
    if (!share.microbatches.contains(microbatch)) out.uncounted.insert(microbatch);
  }
  const std::int64_t slack = life.clock.bound_ns.value_or(kLastWordsNs);
  const std::int64_t lived_on = last_sign_ns_[life_index->second] - known_by(commit, share.member);
  const bool is_excusable = !life.is_whole && lived_on <= kLastWordsNs + slack;
  for (const std::uint32_t microbatch : share.microbatches) {
    if (own.contains(microbatch)) {
      ++out.seen;
    } else {
      (is_excusable ? out.excused : out.unseen).insert(microbatch);
    }
  }
  if (!life.is_whole && !is_excusable) out.why_not_excused = compose("; its process lived on for ", seconds(lived_on));
  return out;
}

}  // namespace shoal
