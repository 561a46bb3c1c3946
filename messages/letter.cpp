// Compiles the copying, moving, comparing and destroying of a letter's body.
#include "messages/letter.h"

#include "messages/values/one_of_members.h"

namespace shoal {

SHOAL_INSTANTIATE_ONE_OF(MessageBody);
SHOAL_INSTANTIATE_COMPARISON(MessageBody);

}  // namespace shoal
