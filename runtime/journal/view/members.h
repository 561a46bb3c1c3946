// ViewMembers: which replica serves which stage, in which process, and which sync group was appointed for the stage, as
// the entries that were followed say. The part of a View (view.h) that routing, sums and recovery read.
//
// Stages are a small vector, so that routing looks a stage up without a search. Pure values, bounded (S-6) by the
// replicas and by kStagesMax.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "messages/journal.h"

namespace shoal {

class ViewMembers {
 public:
  ViewMembers() = default;
  ViewMembers(std::vector<StageMembers> stages, const std::vector<AppointGroup>& groups);
  [[nodiscard]] const std::vector<StageMembers>& stages() const { return stages_; }
  // Returns the group of each stage that has one, ascending by stage.
  [[nodiscard]] std::vector<AppointGroup> groups() const;

  // Each follows an entry at its position. A replica is added once, to a stage below kStagesMax, and removed from its
  // own stage (ENSURE).
  void add(JournalPosition position, const AddReplica& added);
  void remove(JournalPosition position, const RemoveReplica& removed);
  void appoint(const AppointGroup& appointed) { groups_[appointed.stage] = appointed.group; }
  void change_all(JournalPosition position);
  void clear();

  // Returns the replicas of a stage, ascending by incarnation; none for a stage that nobody serves.
  [[nodiscard]] const std::vector<ReplicaMember>& of(StageId stage) const;
  // One above the highest stage that a replica serves.
  [[nodiscard]] std::uint32_t stage_count() const;
  [[nodiscard]] std::size_t count() const { return stage_of_.size(); }
  [[nodiscard]] bool contains(Incarnation replica) const { return stage_of_.contains(replica); }
  [[nodiscard]] std::optional<StageId> stage_of(Incarnation replica) const;
  [[nodiscard]] std::optional<ReplicaMember> find(Incarnation replica) const;
  // Returns the process of a member (ENSURE).
  [[nodiscard]] ProcessIncarnation process_of(Incarnation replica) const;

  // Position of the last entry that changed what the stage's sum is made of: its AddReplica or RemoveReplica, or a
  // Quarantine in the step in progress; 0: none. A vote begun before it is void (P-22).
  [[nodiscard]] JournalPosition last_change_of(StageId stage) const;
  // The sync group appointed last for the stage; 0: none.
  [[nodiscard]] Incarnation group_of(StageId stage) const;

 private:
  std::vector<StageMembers> stages_;
  std::map<Incarnation, StageId> stage_of_;
  std::map<StageId, Incarnation> groups_;
};

}  // namespace shoal
