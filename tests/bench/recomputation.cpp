// Accumulations and commits are matched by branch, step, stage and replica.
#include "tests/bench/recomputation.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "runtime/trace/report/traced_journal.h"

namespace shoal {
namespace {

using StepKey = std::tuple<Branch, StepId, StageId>;

// Counts how often each replica accumulated each microbatch. A replica that is zeroed begins anew; its work is lost.
[[nodiscard]] std::map<StepKey, std::map<std::pair<Incarnation, std::uint32_t>, std::uint64_t>> accumulated(
    const RunTrace& trace) {
  std::map<StepKey, std::map<std::pair<Incarnation, std::uint32_t>, std::uint64_t>> found;
  for (const TracedEvent& traced : trace.events) {
    const TraceEvent& event = traced.event;
    if (event.kind != TraceKind::kAccumulate) continue;
    const StepKey key{event.cause.branch, event.cause.step, StageId{event.cause.hop}};
    ++found[key][{event.incarnation, event.cause.microbatch.value}];
  }
  return found;
}

}  // namespace

Recomputation recomputation_of(const RunTrace& trace) {
  Recomputation out;
  const TracedJournal journal(trace);
  const auto work = accumulated(trace);
  for (const TracedEntry* commit : journal.commits()) {
    if (commit->stages.empty()) continue;
    ++out.steps;
    std::uint64_t lost = 0;
    for (const auto& [stage, part] : commit->stages) {
      std::map<Incarnation, const TracedShare*> members;
      for (const TracedShare& share : part.shares) {
        members[share.member] = &share;
        out.counted += share.microbatches.size();
      }
      const auto done = work.find({commit->branch, commit->step, stage});
      if (done == work.end()) continue;
      for (const auto& [what, times] : done->second) {
        const auto member = members.find(what.first);
        const bool is_member = member != members.end();
        const bool is_counted = is_member && member->second->microbatches.contains(what.second);
        const std::uint64_t in_vain = times - (is_counted ? 1 : 0);
        (is_member ? out.lost_by_living : out.lost_with_dead) += in_vain;
        lost += in_vain;
      }
    }
    if (lost > 0) out.losses.push_back(lost);
  }
  std::ranges::sort(out.losses);
  return out;
}

void print_recomputation(const Recomputation& found) {
  const auto print = [](const char* what, std::uint64_t count) {
    std::printf("| %s | %llu |\n", what, static_cast<unsigned long long>(count));
  };
  std::printf("| microbatches of a stage | |\n|---|---|\n");
  print("counted by commits", found.counted);
  print("computed, and lost with a replica that died", found.lost_with_dead);
  print("computed, and thrown away by a replica that lived", found.lost_by_living);
  print("steps", found.steps);
  print("steps that lost any", found.losses.size());
  if (!found.losses.empty()) {
    print("lost in such a step, median", found.losses[found.losses.size() / 2]);
    print("lost in such a step, greatest", found.losses.back());
  }
  std::printf("\n");
}

}  // namespace shoal
