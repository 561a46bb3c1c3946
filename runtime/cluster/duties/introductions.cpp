// Sends two lists, each to everybody who is in.
#include "runtime/cluster/duties/introductions.h"

namespace shoal {

namespace {

constexpr Duration kAgain = std::chrono::seconds(10);

[[nodiscard]] Address router_of(ProcessIncarnation process) { return {process, Role::kRouter, {}, {}}; }

}  // namespace

Answers IntroductionDuty::on(const TermBegins& /*begins*/, Instant now) {
  told_at_ = now;
  return {};
}

Answers IntroductionDuty::on(const PeersChanged& /*changed*/, Instant /*now*/) {
  Answers answers;
  send_peers(answers);
  return answers;
}

Answers IntroductionDuty::on(const Welcomed& welcomed, Instant /*now*/) {
  Answers answers;
  send_revoked(welcomed.process, answers);
  return answers;
}

Answers IntroductionDuty::on(const Revocations& list, Instant /*now*/) {
  Answers answers;
  revoked_ = list;
  for (const ProcessIncarnation process : truth_.roster.processes.alive()) send_revoked(process, answers);
  return answers;
}

Answers IntroductionDuty::on(const TickCame& /*tick*/, Instant now) {
  Answers answers;
  if (now - told_at_ < kAgain) return answers;
  told_at_ = now;
  send_peers(answers);
  for (const ProcessIncarnation process : truth_.roster.processes.alive()) send_revoked(process, answers);
  return answers;
}

void IntroductionDuty::send_peers(Answers& answers) {
  if (truth_.phase == RunPhase::kReturning) return;
  const ProcessDirectory& processes = truth_.roster.processes;
  const Peers peers{truth_.config.run, truth_.config.term, ++serial_, processes.peers()};
  answers.send(router_of(kSpawnerProcess), peers);
  for (const ProcessIncarnation process : processes.alive()) answers.send(router_of(process), peers);
}

// To its router, which refuses connections by it.
void IntroductionDuty::send_revoked(ProcessIncarnation process, Answers& answers) const {
  if (revoked_.version != 0) answers.send(router_of(process), revoked_);
}

}  // namespace shoal
