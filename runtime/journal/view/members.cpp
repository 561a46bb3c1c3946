// The index by incarnation always says what the stages say: add, remove and clear change both.
#include "runtime/journal/view/members.h"

#include <algorithm>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {

namespace {

// A journal names stages it has placed; a number beyond this is a broken entry, not a large model.
constexpr std::uint32_t kStagesMax = 4096;

}  // namespace

ViewMembers::ViewMembers(std::vector<StageMembers> stages, const std::vector<AppointGroup>& groups)
    : stages_(std::move(stages)) {
  for (const AppointGroup& one : groups) appoint(one);
  for (std::uint32_t stage = 0; stage < stages_.size(); ++stage) {
    for (const ReplicaMember& member : stages_[stage].replicas) stage_of_[member.incarnation] = StageId{stage};
  }
}

std::vector<AppointGroup> ViewMembers::groups() const {
  std::vector<AppointGroup> groups;
  for (const auto& [stage, group] : groups_) groups.push_back({stage, group});
  return groups;
}

void ViewMembers::add(JournalPosition position, const AddReplica& added) {
  ENSURE(added.stage.value < kStagesMax && !contains(added.replica), "a replica is added once, to a stage that exists");
  if (added.stage.value >= stages_.size()) stages_.resize(added.stage.value + std::size_t{1});
  StageMembers& stage = stages_[added.stage.value];
  const ReplicaMember member{added.replica, added.slot, added.process};
  const auto place =
      std::lower_bound(stage.replicas.begin(), stage.replicas.end(), member,
                       [](const ReplicaMember& a, const ReplicaMember& b) { return a.incarnation < b.incarnation; });
  stage.replicas.insert(place, member);
  stage.last_change = position;
  stage_of_[added.replica] = added.stage;
}

void ViewMembers::remove(JournalPosition position, const RemoveReplica& removed) {
  const auto known = stage_of_.find(removed.replica);
  ENSURE(known != stage_of_.end() && known->second == removed.stage, "only a member is removed, from its own stage");
  StageMembers& stage = stages_[removed.stage.value];
  std::erase_if(stage.replicas, [&](const ReplicaMember& member) { return member.incarnation == removed.replica; });
  stage.last_change = position;
  stage_of_.erase(known);
}

void ViewMembers::change_all(JournalPosition position) {
  for (StageMembers& stage : stages_) stage.last_change = position;
}

void ViewMembers::clear() {
  stage_of_.clear();
  groups_.clear();
  stages_.clear();
}

const std::vector<ReplicaMember>& ViewMembers::of(StageId stage) const {
  static const std::vector<ReplicaMember> kNobody;
  return stage.value < stages_.size() ? stages_[stage.value].replicas : kNobody;
}

std::uint32_t ViewMembers::stage_count() const {
  std::size_t count = stages_.size();
  while (count > 0 && stages_[count - 1].replicas.empty()) --count;
  return static_cast<std::uint32_t>(count);
}

std::optional<StageId> ViewMembers::stage_of(Incarnation replica) const {
  const auto found = stage_of_.find(replica);
  return found == stage_of_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ReplicaMember> ViewMembers::find(Incarnation replica) const {
  const auto stage = stage_of(replica);
  if (!stage) return std::nullopt;
  for (const ReplicaMember& member : of(*stage)) {
    if (member.incarnation == replica) return member;
  }
  return std::nullopt;
}

ProcessIncarnation ViewMembers::process_of(Incarnation replica) const {
  const auto member = find(replica);
  ENSURE(member.has_value(), compose("replica ", replica, " is in no stage"));
  return member->process;
}

JournalPosition ViewMembers::last_change_of(StageId stage) const {
  return stage.value < stages_.size() ? stages_[stage.value].last_change : JournalPosition{};
}

Incarnation ViewMembers::group_of(StageId stage) const {
  const auto found = groups_.find(stage);
  return found == groups_.end() ? Incarnation{} : found->second;
}

}  // namespace shoal
