// Questions to the view, the directory of processes and the list of those who leave, together.
#include "runtime/cluster/roster.h"

#include <algorithm>

namespace shoal {

void Roster::follow(const JournalEntry& entry) {
  const auto* removed = std::get_if<RemoveReplica>(&entry.body);
  const auto member = removed == nullptr ? std::nullopt : view.find(removed->replica);
  view.apply(entry);
  if (removed != nullptr) {
    removing.erase(removed->replica);
    ended.erase(removed->replica);
    // Another worker has this one's place: nobody waits for it to come back to it.
    const auto past = member ? slots.find({removed->stage, member->slot}) : slots.end();
    if (giving_way == removed->replica && past != slots.end()) past->second.last_worker.clear();
    if (giving_way == removed->replica) giving_way.reset();
  }
  if (const auto* added = std::get_if<AddReplica>(&entry.body)) {
    SlotPast& slot = slots[{added->stage, added->slot}];
    ++slot.times_added;
    slot.last_worker = processes.name_of(added->process);
  }
}

std::vector<ServedReplica> Roster::compare(const Join& join, ProcessIncarnation process) {
  std::vector<ServedReplica> strangers;
  std::set<Incarnation> served;
  for (const ServedReplica& replica : join.serves) {
    const auto member = view.find(replica.replica);
    const bool is_member = member && member->process == process && replica.branch == view.branch();
    if (!is_member) {
      strangers.push_back(replica);
      continue;
    }
    served.insert(replica.replica);
  }
  for (std::uint32_t stage = 0; stage < view.stage_count(); ++stage) {
    for (const ReplicaMember& member : view.replicas_of(StageId{stage})) {
      const bool has_ended = member.process == process && !served.contains(member.incarnation);
      if (has_ended) ended.insert(member.incarnation);
    }
  }
  return strangers;
}

bool Roster::is_live(const ReplicaMember& member) const {
  return processes.is_alive(member.process) && !ended.contains(member.incarnation);
}

std::vector<ReplicaMember> Roster::live(StageId stage) const {
  std::vector<ReplicaMember> members = view.replicas_of(stage);
  std::erase_if(members, [this](const ReplicaMember& member) { return !is_live(member); });
  return members;
}

std::size_t Roster::live_count() const {
  std::size_t count = 0;
  for (std::uint32_t stage = 0; stage < view.stage_count(); ++stage) count += live(StageId{stage}).size();
  return count;
}

bool Roster::is_served_without(StageId stage, ProcessIncarnation process) const {
  return std::ranges::any_of(live(stage), [&](const ReplicaMember& member) {
    return member.process != process && !leavers.contains(member.process);
  });
}

std::vector<StageId> Roster::stages_of(ProcessIncarnation process) const {
  std::vector<StageId> stages;
  const auto is_of_it = [&](const ReplicaMember& member) { return member.process == process; };
  for (std::uint32_t stage = 0; stage < view.stage_count(); ++stage) {
    if (std::ranges::any_of(live(StageId{stage}), is_of_it)) stages.push_back(StageId{stage});
  }
  return stages;
}

std::vector<Incarnation> Roster::savers(std::uint32_t stages) const {
  std::vector<Incarnation> chosen;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    const auto members = live(StageId{stage});
    if (members.empty()) return {};
    const auto staying = std::ranges::find_if(members, [this](const ReplicaMember& member) { return !goes(member); });
    chosen.push_back(staying == members.end() ? members.front().incarnation : staying->incarnation);
  }
  return chosen;
}

Incarnation Roster::donor_of(StageId stage, const std::vector<Joiner>& joiners) const {
  const auto feeds = [&](const ReplicaMember& member) {
    return std::ranges::count_if(joiners,
                                 [&](const Joiner& joiner) { return joiner.order.donor == member.incarnation; });
  };
  std::optional<std::pair<std::ptrdiff_t, Incarnation>> best;
  for (const ReplicaMember& member : live(stage)) {
    if (goes(member) && is_served_without(stage, member.process)) continue;
    const std::pair candidate(feeds(member), member.incarnation);
    if (!best || candidate < *best) best = candidate;
  }
  return best ? best->second : Incarnation{};
}

std::optional<LastOfStage> Roster::last_that_leaves(const std::vector<Joiner>& joiners) const {
  const auto is_joined = [&](StageId stage) {
    if (mover && mover->to == stage && processes.is_alive(mover->process)) return true;
    return std::ranges::any_of(joiners, [&](const Joiner& joiner) { return joiner.order.stage == stage; });
  };
  for (const auto& [process, reason] : leavers.all()) {
    for (const StageId stage : stages_of(process)) {
      const bool is_last = !is_served_without(stage, process) && !is_joined(stage);
      if (is_last) return LastOfStage{stage, processes.name_of(process)};
    }
  }
  return std::nullopt;
}

bool Roster::goes(const ReplicaMember& member) const {
  const bool is_moving = mover && mover->replica == member.incarnation;
  return leavers.contains(member.process) || giving_way == member.incarnation || is_moving;
}

std::vector<Incarnation> Roster::leaving() const {
  std::vector<Incarnation> replicas;
  for (std::uint32_t stage = 0; stage < view.stage_count(); ++stage) {
    for (const ReplicaMember& member : view.replicas_of(StageId{stage})) {
      if (goes(member)) replicas.push_back(member.incarnation);
    }
  }
  return replicas;
}

std::vector<Party> Roster::parties() const {
  std::vector<Party> parties;
  for (const ProcessIncarnation process : processes.alive()) {
    const Join& join = processes.find(process)->join;
    const bool is_storage = join.role == ProcessRole::kStorage;
    parties.push_back({process, processes.name_of(process), is_storage, {}, 0, join.endpoint});
  }
  for (std::uint32_t stage = 0; stage < view.stage_count(); ++stage) {
    const auto members = live(StageId{stage});
    for (Party& party : parties) {
      const auto is_of_it = [&](const ReplicaMember& member) { return member.process == party.process; };
      if (std::ranges::none_of(members, is_of_it)) continue;
      const bool is_scarcest = party.stages.empty() || members.size() < party.stage_replicas;
      if (is_scarcest) party.stage_replicas = members.size();
      party.stages.push_back(StageId{stage});
    }
  }
  return parties;
}

}  // namespace shoal
