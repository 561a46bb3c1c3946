// What ends whoever computes it is left out of its step: the entry first, then whatever the loss brings about.
#include "runtime/base/compose.h"
#include "runtime/base/restart_policy.h"
#include "runtime/cluster/supervisor/supervisor.h"

namespace shoal {

void SupervisorCore::suspect(const StageEnded& ended, Instant now) {
  if (!ended.computing || ended.stage.value >= config_.stages || phase_ >= Phase::kEnding) return;
  const auto verdict = poison_.ended(ended.stage, ended.replica, *ended.computing, view());
  if (!verdict) return;
  const auto& [step, microbatch] = *ended.computing;
  const std::string name = compose(step, "/", microbatch);
  switch (verdict->kind) {
    case PoisonVerdict::Kind::kSuspected: return announce("microbatch_suspected", name, verdict->reason);
    case PoisonVerdict::Kind::kQuarantine:
      append(Quarantine{step, microbatch, verdict->reason});
      return announce("microbatch_quarantined", name, verdict->reason);
    case PoisonVerdict::Kind::kHopeless:
      return finish(kGivenUpStatus, compose(verdict->reason, "; ", config_.resume_hint), "failed", now);
  }
}

}  // namespace shoal
