// The duties of the supervisor in the order in which they hear, and which parts of the truth each of them changes.
//
// This order is part of the behaviour: effects are performed in the order of the answers.
#pragma once

#include <tuple>

#include "runtime/cluster/duties/asked/save.h"
#include "runtime/cluster/duties/checkpoints.h"
#include "runtime/cluster/duties/children.h"
#include "runtime/cluster/duties/draining.h"
#include "runtime/cluster/duties/ending.h"
#include "runtime/cluster/duties/gathering.h"
#include "runtime/cluster/duties/introductions.h"
#include "runtime/cluster/duties/joining.h"
#include "runtime/cluster/duties/losses.h"
#include "runtime/cluster/duties/moves/rebalancing.h"
#include "runtime/cluster/duties/operator.h"
#include "runtime/cluster/duties/quarantine.h"
#include "runtime/cluster/duties/returning.h"
#include "runtime/cluster/duties/roll_back.h"
#include "runtime/cluster/duties/rounds.h"
#include "runtime/cluster/duties/sharing/giving_way.h"
#include "runtime/cluster/duties/starting.h"
#include "runtime/cluster/duties/steps.h"
#include "runtime/cluster/duties/watching.h"

namespace shoal {

// The order in which they hear. Quarantine comes first: the consequences of an end may send all replicas back to the
// same samples. Membership is settled before leaving, starting, joining and losses; the end before answers;
// steps come last, when all that the next commit waits for has been looked at. Moves come after leaving and before
// joining: whoever leaves for good goes first, and a joiner that is being added is still one when its move is looked
// at.
using DutiesInOrder = std::tuple<QuarantineDuty, WatchDuty, GatheringDuty, DrainDuty, GivingWayDuty, RebalanceDuty,
                                 ReturnDuty, RollBackDuty, StartingDuty, IntroductionDuty, JoinDuty, ChildrenDuty,
                                 CheckpointDuty, LossDuty, EndingDuty, OperatorDuty, SaveDuty, RoundDuty, StepDuty>;

// truth, numbers: outlive the duties.
[[nodiscard]] DutiesInOrder make_duties(Truth& truth, ReservedNumbers& numbers);

}  // namespace shoal
