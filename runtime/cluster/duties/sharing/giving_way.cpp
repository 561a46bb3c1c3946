// One at a time: whoever is next is looked for when the one before is removed.
#include "runtime/cluster/duties/sharing/giving_way.h"

#include "runtime/base/compose.h"

namespace shoal {

Answers GivingWayDuty::on(const TickCame& /*tick*/, Instant /*now*/) {
  Answers answers;
  if (truth_.may_give_way() && !roster_.giving_way) choose(answers);
  return answers;
}

void GivingWayDuty::choose(Answers& answers) {
  const auto member = truth_.superfluous();
  if (!member) return;
  roster_.giving_way = member->replica;
  answers.announce(RunEventKind::kGivingWay, roster_.processes.name_of(member->process),
                   compose("another worker serves stage ", member->stage, ", too"));
  answers.perform(AvoidReplicas{roster_.leaving()});
}

// A loss meanwhile may have made it needed again.
Answers GivingWayDuty::on(const LeaversDue& /*due*/, Instant /*now*/) {
  Answers answers;
  if (!truth_.may_give_way() || !roster_.giving_way) return answers;
  const Incarnation replica = *roster_.giving_way;
  if (roster_.removing.contains(replica)) return answers;
  const auto member = truth_.superfluous();
  if (!member || member->replica != replica) {
    roster_.giving_way.reset();
    answers.perform(AvoidReplicas{roster_.leaving()});
  } else if (truth_.may_giver_go()) {
    roster_.removing.insert(replica);
    answers.append(RemoveReplica{member->stage, replica, "its worker serves another stage, and others serve this one"});
  }
  return answers;
}

}  // namespace shoal
