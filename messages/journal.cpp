// Compiles the copying, moving, comparing and destroying of an entry's body.
#include "messages/journal.h"

#include "messages/values/one_of_members.h"

namespace shoal {

SHOAL_INSTANTIATE_ONE_OF(JournalBody);
SHOAL_INSTANTIATE_COMPARISON(JournalBody);

}  // namespace shoal
