// Events to entries, entries to views.
#include "runtime/trace/report/traced_journal.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

EntryKind kind_of(const TraceEvent& event) {
  if (event.kind == TraceKind::kCommit) return EntryKind::kCommit;
  const std::string_view word = event.detail_text();
  if (word == "AddReplica") return EntryKind::kAdd;
  if (word == "RemoveReplica") return EntryKind::kRemove;
  if (word == "AppointGroup") return EntryKind::kAppoint;
  if (word == "Quarantine") return EntryKind::kQuarantine;
  if (word == "CommitRound") return EntryKind::kRound;
  return word == "FinishRun" ? EntryKind::kFinish : EntryKind::kOther;
}

}  // namespace

bool counts_before(const EntryRecord& record, const EntryRecord& known) {
  if (record.is_from_spawner != known.is_from_spawner) return record.is_from_spawner;
  return record.time_ns < known.time_ns;
}

bool is_from_spawner(const RunTrace& trace, const TracedEvent& record) {
  return trace.actor_of(record) == "supervisor";
}

bool is_entry(const TraceEvent& event) { return event.kind == TraceKind::kView || event.kind == TraceKind::kCommit; }

TracedEntry entry_of(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  TracedEntry entry;
  entry.position = event.cause.position;
  entry.branch = event.cause.branch;
  entry.term = event.cause.term;
  entry.kind = kind_of(event);
  entry.stage = StageId{event.cause.hop};
  entry.slot = ReplicaId{event.cause.attempt};
  entry.subject = event.subject;
  entry.step = event.cause.step;
  entry.microbatch = event.cause.microbatch;
  if (entry.kind == EntryKind::kAdd) entry.process = ProcessIncarnation{event.bytes};
  if (entry.kind == EntryKind::kCommit || entry.kind == EntryKind::kRound) entry.content = event.bytes;
  entry.is_skipped = event.detail_text() == "skipped";
  entry.time_ns = traced.time_ns;
  return entry;
}

std::vector<std::uint32_t> microbatches_of(const TraceEvent& manifest) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t bit = 0; bit < kManifestBits; ++bit) {
    const auto byte = static_cast<unsigned char>(manifest.detail[bit / 8]);
    if ((byte >> bit % 8 & 1U) != 0) found.push_back(manifest.cause.microbatch.value + bit);
  }
  return found;
}

std::set<StageId> TracedView::stages() const {
  std::set<StageId> found;
  for (const auto& [replica, stage] : stage_of) found.insert(stage);
  return found;
}

void TracedView::apply(const TracedEntry& entry, bool is_next) {
  const bool begins_branch = entry.kind == EntryKind::kAdd && entry.branch != branch;
  if (begins_branch) {
    *this = TracedView{true, entry.branch, {}, {}, {}};
  } else {
    is_known = entry.position.value == 1 || (is_known && is_next);
  }
  branch = entry.branch;
  if (entry.kind == EntryKind::kAppoint) group_of[entry.stage] = Incarnation{entry.subject};
  if (entry.kind == EntryKind::kAdd) stage_of[Incarnation{entry.subject}] = entry.stage;
  if (entry.kind == EntryKind::kRemove) stage_of.erase(Incarnation{entry.subject});
  const bool is_change = entry.kind == EntryKind::kAdd || entry.kind == EntryKind::kRemove;
  if (is_change) last_change[entry.stage] = entry.position;
}

TracedJournal::TracedJournal(const RunTrace& trace) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (is_entry(trace.events[i].event)) take(trace, i);
  }
  for (const TracedEvent& event : trace.events) take_part(event);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i].event;
    if (!is_entry(event) || kind_of(event) != EntryKind::kAdd) continue;
    members_.note_added(Incarnation{event.subject}, {trace.events[i].time_ns, i}, entries_.at(event.cause.position));
  }
  for (const auto& [position, entry] : entries_) members_.follow(entry);
}

void TracedJournal::take(const RunTrace& trace, std::size_t index) {
  const TracedEvent& event = trace.events[index];
  TracedEntry entry = entry_of(event);
  entry.is_from_spawner = is_from_spawner(trace, event);
  entry.event = index;
  const auto [known, is_first] = entries_.try_emplace(entry.position, entry);
  const EntryRecord before{known->second.is_from_spawner, known->second.time_ns};
  if (is_first || !counts_before({entry.is_from_spawner, entry.time_ns}, before)) return;
  entry.time_ns = std::min(entry.time_ns, known->second.time_ns);
  known->second = std::move(entry);
}

// Only the spawner records these. What a restarted one records again is whole, what a killed one recorded may not be.
void TracedJournal::take_part(const TracedEvent& traced) {
  const TraceEvent& event = traced.event;
  if (event.kind != TraceKind::kStageCommit && event.kind != TraceKind::kManifest) return;
  const auto found = entries_.find(event.cause.position);
  if (found == entries_.end() || found->second.kind != EntryKind::kCommit) return;
  TracedEntry& entry = found->second;
  if (std::exchange(entry.parts_life, traced.life) != traced.life) entry.stages.clear();
  TracedStage& stage = entry.stages[StageId{event.cause.hop}];
  if (event.kind == TraceKind::kStageCommit) {
    stage.epoch = Epoch{Incarnation{event.subject}, event.cause.attempt};
    stage.digest = event.bytes;
    return;
  }
  const Incarnation member{event.subject};
  auto share = std::ranges::find(stage.shares, member, &TracedShare::member);
  if (share == stage.shares.end()) share = stage.shares.insert(share, TracedShare{member, {}, 0});
  const auto listed = microbatches_of(event);
  share->microbatches.insert(listed.begin(), listed.end());
  share->listed_count += event.bytes;
}

std::vector<const TracedEntry*> TracedJournal::commits() const {
  std::vector<const TracedEntry*> found;
  for (const auto& [position, entry] : entries_) {
    if (entry.kind == EntryKind::kCommit) found.push_back(&entry);
  }
  return found;
}

const TracedEntry* TracedJournal::commit_of(StepId step) const {
  const TracedEntry* last = nullptr;
  for (const TracedEntry* commit : commits()) {
    if (commit->step == step) last = commit;
  }
  return last;
}

void TracedMembers::note_added(Incarnation replica, const EventOrder& order, const TracedEntry& entry) {
  const auto [known, is_first] = added_.try_emplace(replica, Added{order, entry});
  if (!is_first && order < known->second.order) known->second = Added{order, entry};
}

// A cut lasts as long as there are members: a start with another one removes all that there were before it adds any.
// Behind a gap, who is there is not known: the next that is added counts as the first.
void TracedMembers::follow(const TracedEntry& entry) {
  if (entry.position.value != last_.value + 1) now_.clear();
  last_ = entry.position;
  const bool names_stage = entry.kind == EntryKind::kAdd || entry.kind == EntryKind::kAppoint;
  if (entry.kind == EntryKind::kRemove) now_.erase(entry.subject);
  if (entry.kind == EntryKind::kAdd && now_.empty()) stage_counts_[entry.position] = 0;
  if (entry.kind == EntryKind::kAdd) now_.insert(entry.subject);
  if (now_.empty()) return;
  const std::size_t named = names_stage ? std::size_t{entry.stage.value} + 1 : entry.stages.size();
  std::size_t& count = stage_counts_.rbegin()->second;
  count = std::max(count, named);
}

const TracedEntry* TracedMembers::added(Incarnation replica) const {
  const auto found = added_.find(replica);
  return found == added_.end() ? nullptr : &found->second.entry;
}

std::optional<std::size_t> TracedMembers::stage_count_of(Incarnation replica) const {
  const TracedEntry* entry = added(replica);
  if (entry == nullptr) return std::nullopt;
  const auto next = stage_counts_.upper_bound(entry->position);
  if (next == stage_counts_.begin()) return std::nullopt;
  return std::prev(next)->second;
}

std::string TracedMembers::name_of(Incarnation replica) const {
  const TracedEntry* entry = added(replica);
  if (entry == nullptr) return compose("replica ", replica);
  return compose("stage/", entry->stage, "/", entry->slot, " (replica ", replica, ")");
}

}  // namespace shoal
