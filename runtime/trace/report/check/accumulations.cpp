// One pass over the events of a window, in order.
#include "runtime/trace/report/check/accumulations.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/trace/report/quantities.h"

namespace shoal {
bool is_zeroing(const TraceEvent& event) { return event.kind == TraceKind::kStart && event.detail_text() == "zero"; }

Accumulations::Accumulations(const RunTrace& window, const TracedMembers& members, const SignsOfLife& signs)
    : trace_(window), members_(members), signs_(signs) {
  for (const TracedEvent& traced : window.events) take(traced);
}

// A manifest that has come says that what it lists was accumulated before.
void Accumulations::take(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  const Cause& cause = event.cause;
  if (is_zeroing(event)) found_.erase({cause.branch, cause.step, event.incarnation});
  if (event.kind == TraceKind::kAccumulate) {
    found_[{cause.branch, cause.step, event.incarnation}].insert(cause.microbatch.value);
  }
  if (event.kind != TraceKind::kReceive || event.detail_text() != "Manifest") return;
  manifest_heard_ns_[{cause.branch, cause.step, Incarnation{event.subject}}] = traced.time_ns;
}

std::int64_t Accumulations::known_by(const TracedEntry& commit, Incarnation member) const {
  const auto heard = manifest_heard_ns_.find({commit.branch, commit.step, member});
  return heard == manifest_heard_ns_.end() ? commit.time_ns : std::min(commit.time_ns, heard->second);
}

Accumulations::Comparison Accumulations::compare(const TracedEntry& commit, const TracedShare& share) const {
  Comparison out;
  const TracedEntry* added = members_.added(share.member);
  const auto life_index = added == nullptr ? std::nullopt : signs_.life_of(added->process);
  if (!life_index) {
    out.note = compose("there is no trace of the process of ", members_.name_of(share.member),
                       ": what it accumulated was not compared");
    return out;
  }
  const ProcessLife& life = trace_.lives[*life_index];
  if (life.level != TraceLevel::kAll || life.dropped > 0) return out;  // the report has a note of its own
  static const std::set<std::uint32_t> kNothing;
  const auto found = found_.find({commit.branch, commit.step, share.member});
  const auto& own = found == found_.end() ? kNothing : found->second;
  for (const std::uint32_t microbatch : own) {
    if (!share.microbatches.contains(microbatch)) out.uncounted.insert(microbatch);
  }
  const std::int64_t slack = life.clock.bound_ns.value_or(kLastWordsNs);
  const std::int64_t lived_on = signs_.last_ns(*life_index) - known_by(commit, share.member);
  const bool is_excusable = !life.is_whole && lived_on <= kLastWordsNs + slack;
  for (const std::uint32_t microbatch : share.microbatches) {
    if (own.contains(microbatch)) {
      ++out.seen;
    } else {
      (is_excusable ? out.excused : out.unseen).insert(microbatch);
    }
  }
  if (!life.is_whole && !is_excusable)
    out.why_not_excused = compose("; its process lived on for ", seconds_text(lived_on));
  return out;
}

}  // namespace shoal
