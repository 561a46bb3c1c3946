// Times are kept on a clock that stands still while nobody looks.
#include "runtime/cluster/watch/failure_detector.h"

#include "runtime/base/bound.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>

namespace shoal {
namespace {

const Bound kIntervalsMax{"supervision.heartbeats_remembered", 100};
constexpr std::size_t kIntervalsForPhi = 8;  // fewer tell nothing of a rhythm
constexpr int kMissedToSuspect = 3;
constexpr double kPhiMax = 300;  // beyond it a double has no such small probability

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string rounded(double value) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(value < 10 ? 2 : 0) << value;
  return std::move(out).str();
}

}  // namespace

Duration DetectorLimits::dead_floor() const { return std::min(dead_after, std::max(dead_after * 3 / 4, 4 * expected)); }

void FailureDetector::watch(ProcessIncarnation process, Instant now) {
  time_.look(now);
  peers_.try_emplace(process).first->second.last_heard = time_.watched();
}

void FailureDetector::heard(ProcessIncarnation process, Instant now) {
  time_.look(now);
  const auto found = peers_.find(process);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  peer.intervals.push_back(seconds(time_.watched() - peer.last_heard));
  if (kIntervalsMax.is_exceeded_by(peer.intervals.size())) peer.intervals.pop_front();
  peer.last_heard = time_.watched();
  peer.link_lost_at.reset();
}

void FailureDetector::link_lost(ProcessIncarnation process, const std::string& reason, Instant now) {
  time_.look(now);
  const auto found = peers_.find(process);
  if (found == peers_.end() || found->second.link_lost_at) return;
  found->second.link_lost_at = time_.watched();
  found->second.link_lost_why = reason;
}

std::vector<HealthChange> FailureDetector::look(Instant now) {
  time_.look(now);
  std::vector<HealthChange> changes;
  for (auto& [process, peer] : peers_) {
    const Health health = judge(peer);
    if (peer.health == Health::kDead || health == peer.health) continue;
    peer.health = health;
    changes.push_back({process, health, explain(peer)});
  }
  return changes;
}

FailureDetector::Rhythm FailureDetector::rhythm_of(const Peer& peer) const {
  const double count = static_cast<double>(peer.intervals.size());
  const double mean = std::accumulate(peer.intervals.begin(), peer.intervals.end(), 0.0) / count;
  double squares = 0;
  for (const double interval : peer.intervals) squares += (interval - mean) * (interval - mean);
  // A rhythm without any deviation would make the first late heartbeat a death.
  return {mean, std::max(std::sqrt(squares / count), seconds(limits_.expected) / 5)};
}

double FailureDetector::phi_of(const Peer& peer) const {
  if (peer.intervals.size() < kIntervalsForPhi) return 0;
  const Rhythm rhythm = rhythm_of(peer);
  const double late = (seconds(time_.watched() - peer.last_heard) - rhythm.mean) / rhythm.deviation;
  const double still_later = 0.5 * std::erfc(late / std::sqrt(2.0));
  return still_later > 0 ? std::min(-std::log10(still_later), kPhiMax) : kPhiMax;
}

Health FailureDetector::judge(const Peer& peer) const {
  const Duration silent = time_.watched() - peer.last_heard;
  const bool stays_away = peer.link_lost_at && time_.watched() - *peer.link_lost_at >= limits_.relink_within;
  if (silent >= limits_.dead_after || stays_away) return Health::kDead;
  if (silent >= limits_.dead_floor() && phi_of(peer) >= limits_.phi_dead) return Health::kDead;
  const Duration long_silence = std::max(limits_.dead_after / 2, kMissedToSuspect * limits_.expected);
  const bool is_late = silent >= kMissedToSuspect * limits_.expected && phi_of(peer) >= limits_.phi_suspected;
  return peer.link_lost_at || is_late || silent >= long_silence ? Health::kSuspected : Health::kGood;
}

std::string FailureDetector::explain(const Peer& peer) const {
  if (peer.health == Health::kGood) return "heard again";
  std::ostringstream out;
  if (peer.link_lost_at) {
    out << "its link broke (" << peer.link_lost_why << ") and it was not heard for "
        << rounded(seconds(time_.watched() - *peer.link_lost_at)) << " s after it";
    return std::move(out).str();
  }
  out << "no heartbeat for " << rounded(seconds(time_.watched() - peer.last_heard)) << " s";
  if (peer.intervals.size() < kIntervalsForPhi) return std::move(out).str();
  const Rhythm rhythm = rhythm_of(peer);
  out << "; they came every " << rounded(rhythm.mean) << " s +- " << rounded(rhythm.deviation) << " s (phi "
      << (phi_of(peer) < kPhiMax ? "" : "over ") << rounded(phi_of(peer)) << ")";
  return std::move(out).str();
}

Duration FailureDetector::silence(ProcessIncarnation process) const {
  const auto found = peers_.find(process);
  return found == peers_.end() ? Duration::zero() : time_.watched() - found->second.last_heard;
}

double FailureDetector::phi(ProcessIncarnation process) const {
  const auto found = peers_.find(process);
  return found == peers_.end() ? 0 : phi_of(found->second);
}

Health FailureDetector::health(ProcessIncarnation process) const {
  const auto found = peers_.find(process);
  return found == peers_.end() ? Health::kDead : found->second.health;
}

}  // namespace shoal
