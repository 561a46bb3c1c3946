// Compiles the copying, moving and destroying of facts and answers.
#include "runtime/cluster/truth/facts.h"

#include "messages/values/one_of_members.h"
#include "runtime/base/restart_policy.h"

namespace shoal {

SHOAL_INSTANTIATE_ONE_OF(RunFact);
SHOAL_INSTANTIATE_ONE_OF(DutyAnswer);

EndProcess end_of_lost(bool was_evicted) {
  constexpr auto kEvictedStatus = static_cast<std::uint32_t>(exit_code(Error::kRefused));
  if (was_evicted) return {"it was evicted while it was away", kEvictedStatus};
  return {"it was given up as lost; its keeper starts a new one", kRejoinStatus};
}

}  // namespace shoal
