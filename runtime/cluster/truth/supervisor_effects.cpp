// Compiles the copying, moving and destroying of an effect.
#include "runtime/cluster/truth/supervisor_effects.h"

#include "messages/values/one_of_members.h"

namespace shoal {

SHOAL_INSTANTIATE_ONE_OF(SupervisorEffect);

}  // namespace shoal
