// One at a time: whoever is next is looked for when the one before is removed.
#include "runtime/cluster/duties/sharing/giving_way.h"

#include "runtime/base/compose.h"

namespace shoal {

// Of those that are live and stay.
std::optional<SharedMember> GivingWayDuty::superfluous() const {
  std::vector<SharedMember> members;
  for (std::uint32_t stage = 0; stage < truth_.config.stages; ++stage) {
    for (const ReplicaMember& member : roster_.live(StageId{stage})) {
      const bool goes = roster_.leavers.contains(member.process) || roster_.removing.contains(member.incarnation);
      if (!goes) members.push_back({member.process, StageId{stage}, member.incarnation});
    }
  }
  return find_superfluous(members, truth_.config.replicas);
}

bool GivingWayDuty::may_go() const {
  return truth_.config.share_devices && truth_.is_training() && !truth_.last_step.is_committed() &&
         !truth_.fallback.lost();
}

Answers GivingWayDuty::on(const TickCame& /*tick*/, Instant /*now*/) {
  Answers answers;
  if (may_go() && !roster_.giving_way) choose(answers);
  return answers;
}

void GivingWayDuty::choose(Answers& answers) {
  const auto member = superfluous();
  if (!member) return;
  roster_.giving_way = member->replica;
  answers.announce(RunEventKind::kGivingWay, roster_.processes.name_of(member->process),
                   compose("another worker serves stage ", member->stage, ", too"));
  answers.perform(AvoidReplicas{roster_.leaving()});
}

// A loss meanwhile may have made it needed again.
Answers GivingWayDuty::on(const LeaversDue& /*due*/, Instant /*now*/) {
  Answers answers;
  if (!may_go() || !roster_.giving_way) return answers;
  const Incarnation replica = *roster_.giving_way;
  if (roster_.removing.contains(replica)) return answers;
  const auto member = superfluous();
  if (!member || member->replica != replica) {
    roster_.giving_way.reset();
    answers.perform(AvoidReplicas{roster_.leaving()});
  } else if (!truth_.checkpoints.is_saving(replica)) {
    roster_.removing.insert(replica);
    answers.append(RemoveReplica{member->stage, replica, "its worker serves another stage, and others serve this one"});
  }
  return answers;
}

}  // namespace shoal
