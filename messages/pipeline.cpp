// Texts of the refusals, which logs and traces show.
#include "messages/pipeline.h"

namespace shoal {

const char* to_text(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kFenced: return "fenced";
    case RefusalReason::kStepCommitted: return "step_committed";
    case RefusalReason::kStepNotReached: return "step_not_reached";
    case RefusalReason::kFrozen: return "frozen";
    case RefusalReason::kNotMember: return "not_member";
    case RefusalReason::kBusy: return "busy";
    case RefusalReason::kUnknownReplica: return "unknown_replica";
  }
  return "?";
}

}  // namespace shoal
