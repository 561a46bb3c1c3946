// Compiles the copying, moving and destroying of an effect.
#include "runtime/pipeline/replica/replica_setup.h"

#include "messages/values/one_of_members.h"

namespace shoal {

SHOAL_INSTANTIATE_ONE_OF(Effect);

}  // namespace shoal
