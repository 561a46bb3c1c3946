// The journal as a trace records it: the members at each position, and the microbatches that each commit counted.
//
// The spawner records every entry it appends, and a restarted one the last entries again; replicas record what they
// follow. An entry is taken from the spawner where it is there, else from a follower, whose commits lack the manifests.
// What the copies disagree about is the check's business (trace_check.h), not this file's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

enum class EntryKind : std::uint8_t { kAdd, kRemove, kAppoint, kCommit, kFinish, kQuarantine, kRound, kOther };

// Share of one member in a commit.
struct TracedShare {
  Incarnation member;
  std::set<std::uint32_t> microbatches;
  std::uint64_t listed_count = 0;  // more than microbatches: one of them was listed twice
};

struct TracedStage {
  Epoch epoch;
  std::uint64_t digest = 0;
  std::vector<TracedShare> shares;
};

struct TracedEntry {
  JournalPosition position;
  Branch branch;
  Term term;
  EntryKind kind = EntryKind::kOther;
  StageId stage;
  ReplicaId slot;
  std::uint64_t subject = 0;                // replica, sync group, or tokens of a commit
  ProcessIncarnation process;               // for an added replica
  MicrobatchId microbatch;                  // for a quarantine
  StepId step;                              // for a commit; for an added replica: steps applied
  std::uint64_t content = 0;                // for a commit
  bool is_skipped = false;                  // a commit that nobody applied
  std::map<StageId, TracedStage> stages;    // for a commit that the spawner recorded
  std::optional<std::uint32_t> parts_life;  // the spawner's life that recorded the stages
  bool is_from_spawner = false;
  std::size_t event = 0;  // index in RunTrace::events of its first record
  std::int64_t time_ns = 0;
};

// View after an entry: which replica serves which stage.
struct TracedView {
  bool is_known = false;  // false: entries before it are in no trace
  Branch branch;
  std::map<Incarnation, StageId> stage_of;
  std::map<StageId, Incarnation> group_of;
  std::map<StageId, JournalPosition> last_change;

  [[nodiscard]] std::set<StageId> stages() const;
  // The next entry; `is_next`: nothing is missing between it and the one before.
  void apply(const TracedEntry& entry, bool is_next);
};

// Place of an event in the order of all: its time, and of events of one time its number.
struct EventOrder {
  std::int64_t time_ns = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const EventOrder&, const EventOrder&) = default;
};

// Replicas as a journal adds them, and the cuts of the model that they joined. Grows with the replicas that there ever
// were.
class TracedMembers {
 public:
  // Takes note of one record of an AddReplica, and of the entry at that position. The earliest record of a replica
  // counts.
  void note_added(Incarnation replica, const EventOrder& order, const TracedEntry& entry);
  // Takes the entries of a journal, in their order.
  void follow(const TracedEntry& entry);

  // The AddReplica of a replica, where the trace has it.
  [[nodiscard]] const TracedEntry* added(Incarnation replica) const;
  // "stage/1/0 (replica 12)"; "replica 12" where it was never added.
  [[nodiscard]] std::string name_of(Incarnation replica) const;
  // Returns how many stages the model was cut into among the members that the replica joined; nothing: it never did.
  // A stage is the same part of the model only in cuts of the same count.
  [[nodiscard]] std::optional<std::size_t> stage_count_of(Incarnation replica) const;
  // How many replicas and cuts are kept.
  [[nodiscard]] std::size_t size() const { return added_.size() + stage_counts_.size(); }

 private:
  struct Added {
    EventOrder order;
    TracedEntry entry;
  };

  std::map<Incarnation, Added> added_;
  std::map<JournalPosition, std::size_t> stage_counts_;  // from a position on, where the first of new members is added
  std::set<std::uint64_t> now_;                          // members at `last_`
  JournalPosition last_;
};

class TracedJournal {
 public:
  explicit TracedJournal(const RunTrace& trace);

  [[nodiscard]] const std::map<JournalPosition, TracedEntry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<const TracedEntry*> commits() const;
  // The commit of a step, on its last branch.
  [[nodiscard]] const TracedEntry* commit_of(StepId step) const;
  [[nodiscard]] const TracedEntry* added(Incarnation replica) const { return members_.added(replica); }
  [[nodiscard]] std::string name_of(Incarnation replica) const { return members_.name_of(replica); }
  [[nodiscard]] std::optional<std::size_t> stage_count_of(Incarnation replica) const {
    return members_.stage_count_of(replica);
  }

 private:
  void take(const RunTrace& trace, std::size_t index);
  void take_part(const TracedEvent& event);

  std::map<JournalPosition, TracedEntry> entries_;
  TracedMembers members_;
};

// One record of an entry among those of its position.
struct EntryRecord {
  bool is_from_spawner = false;
  std::int64_t time_ns = 0;
};

// Says whether a record counts rather than the one that counted so far: the first that the spawner made, else the first
// of all.
[[nodiscard]] bool counts_before(const EntryRecord& record, const EntryRecord& known);
// True for what the spawner records of the journal; followers record the same.
[[nodiscard]] bool is_from_spawner(const RunTrace& trace, const TracedEvent& record);

// True for kView and kCommit events, each of which records an entry.
[[nodiscard]] bool is_entry(const TraceEvent& event);
// The entry that one of these records, without its parts.
[[nodiscard]] TracedEntry entry_of(const TracedEvent& event);

// The microbatches of a kManifest event.
[[nodiscard]] std::vector<std::uint32_t> microbatches_of(const TraceEvent& manifest);

}  // namespace shoal
