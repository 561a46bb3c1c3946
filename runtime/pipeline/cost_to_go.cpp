// Keeps the orders up to date, one replica at a time.
#include "runtime/pipeline/cost_to_go.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shoal {
namespace {

constexpr double kNewestWeight = 0.3;  // of a measurement in the moving averages
constexpr double kLeastMs = 1e-3;
constexpr double kRounding = 1e-6;  // part of a microbatch that is taken for finished

}  // namespace

// Orders and sums say what peers are; `make` changes one.
template <class Change>
void StageCosts::change(Incarnation replica, const Change& make) {
  const auto found = peers_.find(replica);
  if (found == peers_.end()) return;
  remove(replica, found->second);
  make(found->second);
  enter(replica, found->second);
}

void StageCosts::enter(Incarnation replica, Peer& peer) {
  peer.compute_now_ms = peer.compute_ms.value_or(mean_ms());
  peer.key = peer.transfer_ms + (peer.given + 1) * peer.compute_now_ms;
  all_.emplace(peer.key, replica);
  if (peer.is_open) open_.emplace(peer.key, replica);
  rate_sum_ += 1 / peer.compute_now_ms;
  occupied_sum_ += peer.transfer_ms / peer.compute_now_ms + peer.given;
}

void StageCosts::remove(Incarnation replica, const Peer& peer) {
  all_.erase({peer.key, replica});
  open_.erase({peer.key, replica});
  rate_sum_ -= 1 / peer.compute_now_ms;
  occupied_sum_ -= peer.transfer_ms / peer.compute_now_ms + peer.given;
}

double StageCosts::mean_ms() const {
  const std::size_t count = peers_.size() - unmeasured_.size();
  return count == 0 ? 1.0 : std::max(measured_sum_ms_ / static_cast<double>(count), kLeastMs);
}

void StageCosts::follow(const std::vector<Incarnation>& replicas) {
  if (replicas == members_) return;
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    if (std::binary_search(replicas.begin(), replicas.end(), peer->first)) {
      ++peer;
      continue;
    }
    remove(peer->first, peer->second);
    measured_sum_ms_ -= peer->second.compute_ms.value_or(0);
    unmeasured_.erase(peer->first);
    peer = peers_.erase(peer);
  }
  for (const Incarnation replica : replicas) {
    const auto [peer, is_new] = peers_.try_emplace(replica);
    if (!is_new) continue;
    unmeasured_.insert(replica);
    enter(replica, peer->second);
  }
  members_ = replicas;
}

void StageCosts::measured(Incarnation replica, double compute_ms, double transfer_ms) {
  const double took_ms = std::max(compute_ms, kLeastMs);
  change(replica, [&](Peer& peer) {
    const bool is_first = !peer.compute_ms;
    const double before_ms = peer.compute_ms.value_or(0);
    const auto average = [&](double known, double newest) {
      return is_first ? newest : (1 - kNewestWeight) * known + kNewestWeight * newest;
    };
    peer.transfer_ms = average(peer.transfer_ms, transfer_ms);
    peer.compute_ms = average(before_ms, took_ms);
    measured_sum_ms_ += *peer.compute_ms - before_ms;
    if (is_first) unmeasured_.erase(replica);
  });
  for (const Incarnation unmeasured : unmeasured_) change(unmeasured, [](Peer&) {});
}

void StageCosts::given(Incarnation replica) {
  change(replica, [](Peer& peer) { ++peer.given; });
}

void StageCosts::answered(Incarnation replica) {
  change(replica, [](Peer& peer) { peer.given -= peer.given > 0 ? 1 : 0; });
}

void StageCosts::forget_given() {
  for (const Incarnation replica : members_) {
    change(replica, [](Peer& peer) {
      peer.given = 0;
      peer.is_open = true;
    });
  }
}

void StageCosts::close(Incarnation replica) {
  change(replica, [](Peer& peer) { peer.is_open = false; });
}

void StageCosts::open(Incarnation replica) {
  change(replica, [](Peer& peer) { peer.is_open = true; });
}

void StageCosts::open_all() {
  for (const Incarnation replica : members_) open(replica);
}

double StageCosts::cost_ms(Incarnation replica) const {
  const auto found = peers_.find(replica);
  return found == peers_.end() ? std::numeric_limits<double>::infinity() : found->second.key;
}

double StageCosts::finishes(const Peer& peer, double within_ms) {
  const double whole = std::floor((within_ms - peer.transfer_ms) / peer.compute_now_ms + kRounding);
  return std::max(0.0, whole - peer.given);
}

double StageCosts::others_finish(double within_ms, Incarnation but) const {
  double sum = 0;
  if (peers_.size() <= kExactReplicas) {
    for (const auto& [replica, peer] : peers_) sum += replica == but ? 0 : finishes(peer, within_ms);
    return sum;
  }
  // Each has half of a microbatch begun on average.
  const auto own = peers_.find(but);
  if (own == peers_.end()) return 0;
  const double rate = rate_sum_ - 1 / own->second.compute_now_ms;
  const double occupied = occupied_sum_ - (own->second.transfer_ms / own->second.compute_now_ms + own->second.given);
  return std::max(0.0, within_ms * rate - occupied - 0.5 * static_cast<double>(peers_.size() - 1));
}

std::optional<std::vector<Incarnation>> CostToGoPlanner::plan(const PlanRequest& request, Instant now) {
  const Members& members = *request.members;
  if (members != members_) {
    stages_.resize(members.size());
    stage_of_.clear();
    for (std::size_t stage = 0; stage < members.size(); ++stage) {
      stages_[stage].follow(members[stage]);
      for (const Incarnation replica : members[stage]) stage_of_[replica] = stage;
    }
    bans_.keep_only(members);
    members_ = members;
  }
  std::vector<Incarnation> path;
  std::vector<std::string_view> reasons;
  for (std::size_t stage = 0; stage < members.size(); ++stage) {
    const auto choice = choose(request, stage, now);
    if (!choice) return std::nullopt;
    path.push_back(choice->replica);
    reasons.push_back(choice->reason);
  }
  take_back(request.microbatch);
  for (std::size_t stage = 0; stage < path.size(); ++stage) {
    stages_[stage].given(path[stage]);
    bans_.probe(path[stage], now);
  }
  in_flight_[request.microbatch] = path;
  reasons_ = std::move(reasons);
  return path;
}

std::optional<CostToGoPlanner::Choice> CostToGoPlanner::choose(const PlanRequest& request, std::size_t stage,
                                                               Instant now) {
  if (const auto holder = holder_of(request, stage)) return Choice{*holder, "holds it already"};
  if ((*request.members)[stage].size() > 1 || stage == 0) return choose_with_credit(request, stage, now);
  const Incarnation alone = (*request.members)[stage].front();
  return request.without_credit->contains(alone) ? std::nullopt : std::optional(Choice{alone, "alone"});
}

bool CostToGoPlanner::are_all_banned(const std::vector<Incarnation>& replicas, Instant now) const {
  return std::ranges::all_of(replicas, [&](Incarnation replica) { return bans_.holds(replica, now); });
}

std::optional<Incarnation> CostToGoPlanner::cheapest(std::size_t stage, const Members& members, Instant now) const {
  const bool ignores_bans = bans_.is_empty() || are_all_banned(members[stage], now);
  for (const auto& [cost_ms, replica] : stages_[stage].all()) {
    if (ignores_bans || !bans_.holds(replica, now)) return replica;
  }
  return std::nullopt;
}

std::optional<CostToGoPlanner::Choice> CostToGoPlanner::choose_with_credit(const PlanRequest& request,
                                                                           std::size_t stage, Instant now) {
  StageCosts& costs = stages_[stage];
  const auto& replicas = (*request.members)[stage];
  const bool ignores_bans = bans_.is_empty() || are_all_banned(replicas, now);
  const auto has_credit = [&](Incarnation replica) { return !request.without_credit->contains(replica); };
  const auto first_free = [&]() -> std::optional<Incarnation> {
    for (auto next = costs.with_credit().begin(); next != costs.with_credit().end();) {
      const Incarnation replica = next->second;
      ++next;
      if (request.without_credit->contains(replica)) {
        costs.close(replica);
      } else if (ignores_bans || !bans_.holds(replica, now)) {
        return replica;
      }
    }
    return std::nullopt;
  };
  std::optional<Incarnation> free = first_free();
  if (!free && costs.with_credit().empty() && std::ranges::any_of(replicas, has_credit)) {
    costs.open_all();
    free = first_free();
  }
  if (!free) return std::nullopt;
  const auto best = cheapest(stage, *request.members, now);
  if (!best || *best == *free || costs.cost_ms(*free) <= costs.cost_ms(*best)) return Choice{*free, "done soonest"};
  const double finished = costs.others_finish(costs.cost_ms(*free), *free);
  if (finished >= static_cast<double>(request.waiting)) return std::nullopt;
  return Choice{*free, "others have more than enough"};
}

void CostToGoPlanner::learn(const std::vector<Hop>& trail) {
  for (const Hop& hop : trail) {
    bans_.lift(hop.replica);
    const double compute_ms = hop.compute_ms;
    const double transfer_ms = hop.transfer_ms;
    const auto stage = stage_of_.find(hop.replica);
    const bool is_measured = std::isfinite(compute_ms) && std::isfinite(transfer_ms) && compute_ms > 0;
    if (stage == stage_of_.end() || !is_measured) continue;
    stages_[stage->second].measured(hop.replica, compute_ms, std::max(transfer_ms, 0.0));
  }
}

void CostToGoPlanner::take_back(MicrobatchId microbatch) {
  const auto found = in_flight_.find(microbatch);
  if (found == in_flight_.end()) return;
  for (std::size_t stage = 0; stage < found->second.size() && stage < stages_.size(); ++stage) {
    stages_[stage].answered(found->second[stage]);
  }
  in_flight_.erase(found);
}

void CostToGoPlanner::answered(MicrobatchId microbatch, const std::vector<Incarnation>& path) {
  take_back(microbatch);
  for (std::size_t stage = 0; stage < std::min(path.size(), stages_.size()); ++stage) stages_[stage].open(path[stage]);
}

void CostToGoPlanner::begin_work() {
  in_flight_.clear();
  for (StageCosts& stage : stages_) stage.forget_given();
}

}  // namespace shoal
