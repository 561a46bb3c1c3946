// Sends two lists, each to everybody who is in.
#include "runtime/cluster/duties/introductions.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shoal {

namespace {

constexpr Duration kAgain = std::chrono::seconds(10);
constexpr Duration kParting = std::chrono::seconds(3);  // longer than a process waits for its files to arrive

[[nodiscard]] Address router_of(ProcessIncarnation process) { return {process, Role::kRouter, {}, {}}; }

}  // namespace

Answers IntroductionDuty::on(const TermBegins& /*begins*/, Instant now) {
  Answers answers;
  told_at_ = now;
  if (truth_.roster.processes.has_record()) send_peers(answers, now);
  return answers;
}

Answers IntroductionDuty::on(const ProcessGone& gone, Instant now) {
  const ProcessRecord* record = truth_.roster.processes.find(gone.process);
  if (gone.how.kind != RunEventKind::kProcessLeft || record == nullptr) return {};
  const Join& join = record->join;
  parting_[gone.process] = {{gone.process, join.role, join.name, join.endpoint}, now + kParting};
  return {};
}

Answers IntroductionDuty::on(const PeersChanged& /*changed*/, Instant now) {
  Answers answers;
  send_peers(answers, now);
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
  const auto is_over = [now](const auto& one) { return now >= one.second.until; };
  if (std::erase_if(parting_, is_over) > 0) send_peers(answers, now);
  if (now - told_at_ < kAgain) return answers;
  told_at_ = now;
  if (truth_.phase != RunPhase::kReturning) names_awaited_ = false;  // its router remembers them
  send_peers(answers, now);
  for (const ProcessIncarnation process : truth_.roster.processes.alive()) send_revoked(process, answers);
  return answers;
}

// Without a record the spawner's router does not know whom to keep the numbers of those for that are not back.
void IntroductionDuty::send_peers(Answers& answers, Instant now) {
  const ProcessDirectory& processes = truth_.roster.processes;
  const bool is_returning = truth_.phase == RunPhase::kReturning;
  if (is_returning && !processes.has_record()) return;
  ++serial_;
  const Peers peers = peers_in(now);
  Peers own = peers;
  if (names_awaited_) std::ranges::copy(processes.awaited(), std::back_inserter(own.peers));
  answers.send(router_of(kSpawnerProcess), std::move(own));
  if (is_returning) return;
  for (const ProcessIncarnation process : processes.alive()) answers.send(router_of(process), peers);
}

Peers IntroductionDuty::peers_in(Instant now) const {
  Peers peers{truth_.config.run, truth_.config.term, serial_, truth_.roster.processes.peers()};
  for (const auto& [process, parting] : parting_) {
    if (now < parting.until) peers.peers.push_back(parting.peer);
  }
  return peers;
}

// To its router, which refuses connections by it.
void IntroductionDuty::send_revoked(ProcessIncarnation process, Answers& answers) const {
  if (revoked_.version != 0) answers.send(router_of(process), revoked_);
}

}  // namespace shoal
