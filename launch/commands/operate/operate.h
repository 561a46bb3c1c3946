// Commands that do something to a run that is under way. Each asks the control endpoint with the operator's
// certificate, and prints on stdout what was done.
// The structs hold checked values (arguments.h).
#pragma once

#include <string>

#include "launch/processes/live_run.h"
#include "messages/operate.h"
#include "runtime/base/error.h"

namespace shoal {

// `shoal kill`. Errors: kUsage (nothing has that name), kRefused (the run is over), kUnreachable.
struct KillOptions {
  RunLocator where;
  OperatorOrder order;
};
[[nodiscard]] Result<int> run_kill(const KillOptions& options);

}  // namespace shoal
