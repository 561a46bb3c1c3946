// Puts the verdict of PoisonWatch into an entry, an event, or the end of the run.
#include "runtime/cluster/duties/quarantine.h"

#include "runtime/base/compose.h"
#include "runtime/base/restart_policy.h"

namespace shoal {

Answers QuarantineDuty::on(const StageEnded& ended, Instant /*now*/) {
  Answers answers;
  if (!ended.computing || ended.stage.value >= truth_.config.stages || truth_.is_ending()) return answers;
  const auto verdict = poison_.ended(ended.stage, ended.replica, *ended.computing, truth_.view());
  if (!verdict) return answers;
  const auto& [step, microbatch] = *ended.computing;
  const std::string name = compose(step, "/", microbatch);
  switch (verdict->kind) {
    case PoisonVerdict::Kind::kSuspected:
      answers.announce(RunEventKind::kMicrobatchSuspected, name, verdict->reason);
      break;
    case PoisonVerdict::Kind::kQuarantine:
      answers.append(Quarantine{step, microbatch, verdict->reason});
      answers.announce(RunEventKind::kMicrobatchQuarantined, name, verdict->reason);
      break;
    case PoisonVerdict::Kind::kHopeless:
      answers.tell(
          EndOfRun{kGivenUpStatus, compose(verdict->reason, "; ", truth_.config.resume_hint), RunEventKind::kFailed});
      break;
  }
  return answers;
}

Answers QuarantineDuty::on(const Commit& commit, Instant /*now*/) {
  poison_.committed(commit.step);
  return {};
}

}  // namespace shoal
