// The caretaker of one side actor (metrics, control, tracer, storage): starts it again in place when it ends.
//
//   up ──it ends──▶ waiting, 10 ms and doubling ──▶ up
//      └──it ends, and the budget is used up──▶ escalated: the process ends, or it rests for a window and is started
//      again
//
// So a side actor never blocks training (DESIGN.md §7), and one that ends again and again is said once per window. The
// caretaker takes its ward with it, and ends after it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "messages/actor_types.h"
#include "runtime/base/clock.h"
#include "runtime/base/restart_policy.h"
#include "runtime/trace/tracer.h"

namespace shoal {

// Says what becomes of a side actor that ends too often.
enum class AfterBudget { kRest, kEndProcess };

struct CaretakerSettings {
  std::string name;                   // as in events: metrics, tracer/node2
  std::function<caf::actor()> start;  // an empty handle: it could not be started, which counts as an end
  AfterBudget after_budget = AfterBudget::kRest;
  RestartLimits limits{Finality::kListedCodes, {}, 10, std::chrono::seconds(60), std::chrono::milliseconds(10),
                       std::chrono::seconds(2)};
  RouterActor router;  // for what it announces
  std::function<void(int exit_status, const std::string& reason)> end_process = nullptr;
  std::shared_ptr<Tracer> tracer = nullptr;
};

struct CaretakerState {
  static inline const char* name = "caretaker";
  CaretakerSettings settings;
  std::optional<RestartPolicy> policy;
  caf::actor ward;     // empty: it is down
  std::string reason;  // why it is down
  Instant due{};       // time of its next start
  bool is_ending = false;
  ActorTrace trace;
  ~CaretakerState();  // ends the ward
};

CaretakerActor::behavior_type caretaker(CaretakerActor::stateful_pointer<CaretakerState> self,
                                        CaretakerSettings settings);

}  // namespace shoal
