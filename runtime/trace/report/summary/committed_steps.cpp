// Records to entries, entries to steps, steps to parts of their time.
#include "runtime/trace/report/summary/committed_steps.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/report/summary/table.h"
#include "runtime/trace/report/traced_journal.h"

namespace shoal {
namespace {

// Time from one commit to the next, in parts that follow one another.
struct Anatomy {
  std::uint64_t steps = 0;
  std::int64_t plan_ns = 0;      // commit before -> first microbatch sent: apply, evaluation, checkpoint
  std::int64_t pipeline_ns = 0;  // -> last answer
  std::int64_t prepare_ns = 0;   // -> last stage told to reduce: hints, freeze, manifests
  std::int64_t reduce_ns = 0;    // -> last vote
  std::int64_t commit_ns = 0;    // -> durable
  [[nodiscard]] std::int64_t total_ns() const { return plan_ns + pipeline_ns + prepare_ns + reduce_ns + commit_ns; }

  void add(std::int64_t before_ns, const StepMilestones& step) {
    if (step.planned_ns == 0 || step.answered_ns == 0 || step.reducing_ns == 0 || step.voted_ns == 0) return;
    const std::int64_t planned = std::max(before_ns, step.planned_ns);
    const std::int64_t answered = std::max(planned, step.answered_ns);
    const std::int64_t reducing = std::max(answered, step.reducing_ns);
    const std::int64_t voted = std::max(reducing, step.voted_ns);
    const std::int64_t committed = std::max(voted, step.committed_ns);
    ++steps;
    plan_ns += planned - before_ns;
    pipeline_ns += answered - planned;
    prepare_ns += reducing - answered;
    reduce_ns += voted - reducing;
    commit_ns += committed - voted;
  }
};

std::string text_of(const Anatomy& sum, std::uint64_t step_count) {
  if (sum.steps == 0) return "  (no two whole steps in a row)\n";
  Table table({"part of a step", "mean", "share"});
  const auto add = [&](const std::string& part, std::int64_t ns) {
    const double share = static_cast<double>(ns) / static_cast<double>(std::max<std::int64_t>(1, sum.total_ns()));
    table.add({part, ms_text(ns / static_cast<std::int64_t>(sum.steps)), percent_text(share)});
  };
  add("commit before to first microbatch (apply, evaluation, checkpoint)", sum.plan_ns);
  add("pipeline: first microbatch to last answer", sum.pipeline_ns);
  add("prepare: to the last order to reduce (freeze, manifests)", sum.prepare_ns);
  add("reduce: to the last vote", sum.reduce_ns);
  add("commit: vote to durable entry", sum.commit_ns);
  add("whole", sum.total_ns());
  return table.text() + compose("  (mean of ", sum.steps, " of ", step_count,
                                " committed steps; groups that reduce beside the pipeline cost it nothing)\n");
}

}  // namespace

void CommittedSteps::note(const RunTrace& frame, const TracedEvent& traced) {
  if (is_answered(traced.event)) has_answers_ = true;
  if (is_entry(traced.event)) record(frame, traced);
}

// Takes the first that is noted, of records of one time.
void CommittedSteps::record(const RunTrace& frame, const TracedEvent& traced) {
  const TracedEntry read = entry_of(traced);
  Entry entry{{}, traced.time_ns, read.step, read.branch, traced.life, 0, false, read.kind == EntryKind::kCommit};
  entry.times.committed_ns = traced.time_ns;
  entry.place = static_cast<std::uint8_t>(read.position.value % kBlock);
  entry.is_from_spawner = is_from_spawner(frame, traced);
  Block& block = blocks_[read.position.value / kBlock];
  const auto known = std::ranges::lower_bound(block, entry.place, {}, &Entry::place);
  if (known == block.end() || known->place != entry.place) {
    block.insert(known, entry);
    return;
  }
  const std::int64_t first_ns = std::min(known->times.committed_ns, traced.time_ns);
  const EntryRecord before{known->is_from_spawner, known->record_ns};
  if (counts_before({entry.is_from_spawner, entry.record_ns}, before)) *known = entry;
  known->times.committed_ns = first_ns;
}

void CommittedSteps::choose() {
  for (auto& [number, block] : blocks_) {
    for (Entry& entry : block) {
      entry.is_commit = entry.is_commit && positions_.add(entry.branch, entry.step, number * kBlock + entry.place);
      count_ += entry.is_commit ? 1 : 0;
    }
  }
}

void CommittedSteps::take(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  const bool is_about_one = event.kind == TraceKind::kPlan || event.kind == TraceKind::kPhase || is_answered(event);
  if (!is_about_one) return;
  const auto position = positions_.find(event.cause.branch, event.cause.step);
  if (!position) return;
  Block& block = blocks_.at(*position / kBlock);
  std::ranges::lower_bound(block, *position % kBlock, {}, &Entry::place)->times.take(traced);
}

std::string CommittedSteps::text() const {
  Anatomy sum;
  bool is_traced = false;
  const Entry* before = nullptr;
  for (const auto& [number, block] : blocks_) {
    for (const Entry& entry : block) {
      if (!entry.is_commit) continue;
      is_traced = is_traced || entry.times.answered_ns != 0;
      const bool follows = before != nullptr && before->branch == entry.branch && before->life == entry.life;
      if (follows) sum.add(before->times.committed_ns, entry.times);
      before = &entry;
    }
  }
  if (count_ != 0 && !is_traced) return "  (steps are traced with trace.level=all)\n";
  return text_of(sum, count_);
}

}  // namespace shoal
