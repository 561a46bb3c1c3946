// Compiles the copying, moving and destroying of a fact.
#include "runtime/pipeline/replica/replica_facts.h"

#include "messages/values/one_of_members.h"

namespace shoal {

SHOAL_INSTANTIATE_ONE_OF(Fact);

}  // namespace shoal
