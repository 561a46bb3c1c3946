// The thread that drives a stage's communicator: actors hand work in, and none of them ever calls the library.
//
// The library promises that its calls do not wait; ending a communicator joins threads of its own. One that does not
// come back for kNcclCallPatience, in which this process ran, hangs, and so does its GPU: watch() ends the process
// then, with a reason, and its keeper starts it again. How long a sum may stand still is the group's to say (P-19a):
// its next order drops it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/device/nccl/collective_memory.h"
#include "runtime/device/nccl/given_up_joins.h"
#include "runtime/device/nccl/nccl_library.h"
#include "runtime/sync/collective/collective.h"

namespace shoal {

inline constexpr Duration kNcclCallPatience = std::chrono::seconds(60);

struct NcclRunnerSettings {
  std::shared_ptr<const NcclLibrary> library;
  // Called in the thread that uses it, until it succeeds once. What it throws is the failure of the sum that wanted it.
  std::function<std::unique_ptr<CollectiveMemory>()> make_memory;
  TellCollective tell;
  // Ends the process at once. Any thread calls it.
  std::function<void(const std::string& reason)> end_process;
  // Those of the process.
  std::shared_ptr<GivenUpJoins> joins = std::make_shared<GivenUpJoins>();
  Duration patience = kNcclCallPatience;
  std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>();
};

[[nodiscard]] std::unique_ptr<CollectiveRunner> run_nccl(NcclRunnerSettings settings);

}  // namespace shoal
