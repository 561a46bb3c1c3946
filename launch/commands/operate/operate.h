// Commands that do something to a run that is under way. Each asks the control endpoint with the operator's
// certificate, and prints on stdout what was done.
// The structs hold checked values (arguments.h).
#pragma once

#include <optional>
#include <string>

#include "launch/commands/inspect/inspect.h"
#include "launch/processes/live_run.h"
#include "messages/operate.h"
#include "runtime/base/error.h"
#include "runtime/cluster/operate/chaos.h"
#include "runtime/transport/control/token_words.h"

namespace shoal {

// `shoal kill`. Errors: kUsage (nothing has that name), kRefused (the run is over), kUnreachable (nobody answers, or
// the target is away and does not come back within a few seconds).
struct KillOptions {
  RunLocator where;
  OperatorOrder order;
};
[[nodiscard]] Result<int> run_kill(const KillOptions& options);

// `shoal drain`: says when it leaves, and returns. Errors: as for kill; kRefused where it cannot leave.
struct DrainOptions {
  RunLocator where;
  OperatorOrder order;
};
[[nodiscard]] Result<int> run_drain(const DrainOptions& options);

// `shoal checkpoint`: says which state will be saved, or waits until it is; prints where it lies. Errors: as for kill;
// kIo where it could not be saved; kUnreachable where it was not within timeout_s.
struct CheckpointOptions {
  RunLocator where;
  bool waits = false;
  double timeout_s = 600;
};
[[nodiscard]] Result<int> run_checkpoint(const CheckpointOptions& options);

// `shoal evict`: puts a node out of the run, and returns. Errors: as for kill; with --revoke a name that is away is no
// error.
struct EvictOptions {
  RunLocator where;
  OperatorOrder order;
};
[[nodiscard]] Result<int> run_evict(const EvictOptions& options);

// `shoal token new`: prints the token, alone. Errors: as for kill.
struct NewTokenOptions {
  RunLocator where;
  TokenOrder order;
};
[[nodiscard]] Result<int> run_new_token(const NewTokenOptions& options);

// `shoal token ls`.
struct ListTokensOptions {
  RunLocator where;
  OutputForm form = OutputForm::kText;
};
[[nodiscard]] Result<int> run_list_tokens(const ListTokensOptions& options);

// `shoal token revoke`. Errors: kUsage (no such token), and as for kill.
struct RevokeTokenOptions {
  RunLocator where;
  std::string id;
};
[[nodiscard]] Result<int> run_revoke_token(const RevokeTokenOptions& options);

// `shoal chaos`: until the run is over or the time is. Errors: kUnreachable when the spawner stays away for a minute.
struct ChaosOptions {
  RunLocator where;
  double every_s = 10;
  std::optional<double> for_s;
  ChaosSettings chaos;
};
[[nodiscard]] Result<int> run_chaos(const ChaosOptions& options);

}  // namespace shoal
