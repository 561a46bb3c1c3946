// Each duty gets the parts of the truth that it alone changes; all others it reads.
#include "runtime/cluster/supervisor/duties_in_order.h"

namespace shoal {

DutiesInOrder make_duties(Truth& truth, ReservedNumbers& numbers) {
  return {QuarantineDuty(truth),
          WatchDuty(truth, truth.signs),
          GatheringDuty(truth, truth.roster, numbers),
          DrainDuty(truth, truth.roster.leavers),
          GivingWayDuty(truth, truth.roster),
          RebalanceDuty(truth, truth.speeds, truth.roster.mover),
          ReturnDuty(truth, numbers),
          RollBackDuty(truth, truth.search),
          StartingDuty(truth, truth.starts, numbers),
          IntroductionDuty(truth),
          JoinDuty(truth, truth.joins, numbers),
          ChildrenDuty(truth, numbers),
          CheckpointDuty(truth, truth.checkpoints),
          LossDuty(truth, truth.roster, truth.fallback),
          EndingDuty(truth, truth.ending),
          OperatorDuty(truth, numbers),
          SaveDuty(truth),
          RoundDuty(truth, truth.ballots),
          StepDuty(truth, truth.ballots)};
}

}  // namespace shoal
