// The control actor: answers people and newcomers over HTTPS (status, orders, tokens; rendezvous, enrolment, renewal).
//
// It keeps the join token in the run's directory good for as long as the run lasts.
//
// It owns the endpoint, whose threads ask the supervisor and wait, with a time-out; nothing of training waits for them.
// No message type that changes a run is reachable without the operator's certificate (DESIGN.md §8).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "messages/actor_types.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/metrics/branches/branch_record.h"
#include "runtime/trace/metrics/round_losses.h"
#include "runtime/transport/control/control_server.h"
#include "runtime/transport/control/enrolment.h"
#include "runtime/transport/control/reach.h"

namespace shoal {

struct ControlSettings {
  std::shared_ptr<ControlServer> server;      // listening, not yet serving
  std::shared_ptr<EnrolmentService> service;  // keeps a token good while the actor lives
  SupervisorActor supervisor;
  RouterActor router{};  // the router that it can be reached by; none: nowhere
  std::shared_ptr<ActorBoard> board = nullptr;
  std::shared_ptr<const RoundTally> rounds = nullptr;  // none: the run has no rounds
  std::shared_ptr<ReachService> reach = nullptr;       // none: nodes cannot ask whether they are reached
  std::optional<BranchRecord> branch{};                // the branch that a person began last; none: nobody began one
};

struct ControlState {
  static inline const char* name = "control";
  ControlSettings settings;
  std::shared_ptr<ActorPulse> pulse;
  ~ControlState();
};

ControlActor::behavior_type control(ControlActor::stateful_pointer<ControlState> self, ControlSettings settings);

// The body of GET /v1/status. rounds: what they have lost, of a run that has them. branch: as in the settings.
[[nodiscard]] std::string status_json(const StatusReport& report, const std::optional<RoundLosses>& rounds = {},
                                      const std::optional<BranchRecord>& branch = {});

}  // namespace shoal
