// The first that is told of something counts; others are compared with it.
#include "runtime/trace/report/check/check_digests.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

struct KnownDigest {
  std::string who;  // has it
  std::uint64_t digest = 0;
};

// Says in one sentence that the digest of an event, which `by` has, is another. "stage 1, <what>: ...".
Violation digests_differ(const std::string& what, const KnownDigest& known, const std::string& by,
                         const TraceEvent& event) {
  return {Rule::kEqualDigests, compose("stage ", event.cause.hop, ", ", what, ": ", known.who, " has digest ", std::hex,
                                       known.digest, ", ", by, " has ", event.bytes)};
}

std::string replica_in_words(const RunTrace& frame, const TracedMembers& members, const TracedEvent& traced) {
  return compose(members.name_of(traced.event.incarnation), " in ", frame.life_of(traced).name);
}

}  // namespace

void StateDigests::take_state(const TracedEvent& traced, const EventOrder& order) {
  const TraceEvent& event = traced.event;
  if (event.kind != TraceKind::kDigest) return;
  const std::string_view what = event.detail_text();
  if (what == "state") compare({event.cause.branch, event.cause.step.value + 1}, traced, order);
  if (what == "loaded") compare({event.cause.branch, event.cause.step.value}, traced, order);
}

void StateDigests::forget_states() {
  std::size_t count = 0;
  for (const auto& [point, parts] : states_) count += parts.size();
  most_states_ = std::max(most_states_, count);
  states_.clear();
}

void StateDigests::compare(const Point& point, const TracedEvent& traced, const EventOrder& order) {
  const auto stage_count = members_.stage_count_of(traced.event.incarnation);
  if (!stage_count) {
    never_added_.insert(traced.event.incarnation);
    return;
  }
  const Part part{*stage_count, StageId{traced.event.cause.hop}, traced.event.subject};
  const auto [known, is_first] = states_[point].try_emplace(part);
  const auto& [branch, applied] = point;
  if (!is_first) {
    return compare_with(known->second, compose("the state after ", applied, " steps of branch ", branch), traced,
                        order);
  }
  known->second = {traced.event.bytes, &traced};
  const Reported* before = on_older_branch(point, part);
  if (before == nullptr) return;
  compare_with(*before, compose("the state after ", applied, " steps, which branch ", branch, " begins with"), traced,
               order);
}

// A branch goes on from a state of the newest branch before it that had come so far. What it makes of the steps that
// follow may be something else.
const StateDigests::Reported* StateDigests::on_older_branch(Point point, const Part& part) const {
  const auto begin = begins_.find(point.first);
  if (begin == begins_.end() || begin->second != point.second) return nullptr;
  while (point.first.value > 0) {
    --point.first.value;
    const auto found = states_.find(point);
    if (found == states_.end()) continue;
    const auto known = found->second.find(part);
    return known == found->second.end() ? nullptr : &known->second;
  }
  return nullptr;
}

void StateDigests::compare_with(const Reported& known, const std::string& what, const TracedEvent& traced,
                                const EventOrder& order) {
  ++findings_.compared;
  if (known.digest == traced.event.bytes) return;
  const KnownDigest other{replica_in_words(frame_, members_, *known.by), known.digest};
  const std::string by = replica_in_words(frame_, members_, traced);
  findings_.differences.push_back({order, digests_differ(what, other, by, traced.event)});
}

void SumDigests::take_commit(StageId stage, const TracedStage& part, StepId step) {
  sums_[{stage, part.epoch}] = {part.digest, step};
}

// Takes back what was found when an earlier commit of the same epoch was looked at.
void SumDigests::take_sum(const TracedEvent& traced, const EventOrder& order) {
  const TraceEvent& event = traced.event;
  const StageId stage{event.cause.hop};
  const Epoch epoch{Incarnation{event.subject}, event.cause.attempt};
  const auto sum = sums_.find({stage, epoch});
  if (sum == sums_.end()) return;
  const auto before = before_.find({stage, epoch.group});
  if (before != before_.end() && before->second.find(epoch.counter)) {
    std::erase_if(findings_.differences, [&](const TimedViolation& finding) { return finding.order == order; });
  } else {
    ++findings_.compared;
  }
  if (sum->second.digest == event.bytes) return;
  const KnownDigest known{compose("the commit of step ", sum->second.step), sum->second.digest};
  const std::string by = replica_in_words(frame_, members_, traced);
  findings_.differences.push_back({order, digests_differ(compose("the sum of epoch ", epoch), known, by, event)});
}

void SumDigests::forget_commits() {
  for (const auto& [of, sum] : sums_) {
    const auto& [stage, epoch] = of;
    EvenRuns& counters = before_[{stage, epoch.group}];
    if (!counters.find(epoch.counter)) counters.add(epoch.counter, 0);
  }
  sums_.clear();
}

std::size_t SumDigests::run_count() const {
  std::size_t count = 0;
  for (const auto& [of, counters] : before_) count += counters.size();
  return count;
}

}  // namespace shoal
