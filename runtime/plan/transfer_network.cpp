// Ready hops, busy links.
#include "runtime/plan/transfer_network.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"

namespace shoal {

double jitter_factor(const Network& network, std::uint64_t index, std::uint64_t stream) {
  if (network.jitter == 0) return 1;
  const auto words = philox4x32(philox_counter(index, stream), philox_key(network.seed));
  const double radius = std::sqrt(-2 * std::log(1 - uniform01(words[0], words[1])));
  const double normal = radius * std::cos(2 * std::numbers::pi * uniform01(words[2], words[3]));
  const double sigma = std::sqrt(std::log(1 + network.jitter * network.jitter));
  return std::exp(sigma * normal - sigma * sigma / 2);
}

TransferNetwork::TransferNetwork(const Network& network, double payload_bits)
    : network_(network),
      payload_bits_(payload_bits),
      hops_(hops_of(network.exchange, network.workers)),
      ready_(network.workers),
      up_is_busy_(network.workers),
      down_is_busy_(network.workers) {}

TransferNetwork::Payload& TransferNetwork::opened(const PayloadId& id) {
  const auto [place, is_first] = payloads_.try_emplace(id);
  Payload& payload = place->second;
  if (!is_first) return payload;
  payload.contributed.resize(network_.workers);
  payload.missing.resize(network_.workers);
  payload.hops_left = hops_.size();
  for (const ExchangeHop& hop : hops_) {
    ++payload.missing[hop.to];
    payload.needs.push_back(hop.needs_count);
  }
  return payload;
}

void TransferNetwork::make_ready(const PayloadId& id, const Payload& payload, std::size_t hop) {
  const std::size_t sender = hops_[hop].from;
  if (payload.needs[hop] == 0 && payload.contributed[sender]) ready_[sender].insert({id, hop});
}

void TransferNetwork::contribute(const PayloadId& id, std::size_t worker) {
  if (hops_.empty()) return;
  Payload& payload = opened(id);
  ENSURE(!payload.contributed[worker], "a worker contributes once");
  payload.contributed[worker] = true;
  for (std::size_t hop = 0; hop < hops_.size(); ++hop) {
    if (hops_[hop].from != worker) continue;
    contributed_bits_ += bits_of({id, hop});
    make_ready(id, payload, hop);
  }
}

bool TransferNetwork::is_merged(const PayloadId& id, std::size_t worker) const {
  const auto found = payloads_.find(id);
  return found == payloads_.end() || (found->second.contributed[worker] && found->second.missing[worker] == 0);
}

std::vector<StartedTransfer> TransferNetwork::start_ready(double now_s) {
  std::vector<StartedTransfer> started;
  for (std::size_t sender = 0; sender < network_.workers; ++sender) {
    if (up_is_busy_[sender]) continue;
    const auto has_receiver = [this](const TransferId& id) { return !down_is_busy_[receiver(id)]; };
    const auto next = std::ranges::find_if(ready_[sender], has_receiver);
    if (next != ready_[sender].end()) started.push_back(start(*next, now_s));
  }
  return started;
}

StartedTransfer TransferNetwork::start(const TransferId& id, double now_s) {
  const ExchangeHop& hop = hops_[id.hop];
  const std::uint64_t index = (id.payload.step << 20U) ^ (id.payload.rank << 10U) ^ id.hop;
  const double factor = jitter_factor(network_, index, stream_of("transfer"));
  const double end_s = now_s + bits_of(id) / link_rate(network_, hop.from, hop.to) * factor;
  up_is_busy_[hop.from] = true;
  down_is_busy_[hop.to] = true;
  sending_[id] = {now_s, end_s};
  const TransferId kept = id;
  ready_[hop.from].erase(kept);
  return {kept, end_s, end_s + network_.latency_s};
}

void TransferNetwork::end_sending(const TransferId& id) {
  const ExchangeHop& hop = hops_[id.hop];
  up_is_busy_[hop.from] = false;
  down_is_busy_[hop.to] = false;
  sent_bits_ += bits_of(id);
  sending_.erase(id);
}

void TransferNetwork::arrive(const TransferId& id, double now_s) {
  const auto found = payloads_.find(id.payload);
  ENSURE(found != payloads_.end(), "what arrives is on its way");
  Payload& payload = found->second;
  --payload.missing[receiver(id)];
  for (const std::size_t hop : hops_[id.hop].unlocks) {
    --payload.needs[hop];
    make_ready(id.payload, payload, hop);
  }
  arrived_s_[id.payload.step] = now_s;
  if (--payload.hops_left == 0) payloads_.erase(found);
}

double TransferNetwork::sent_bits(double now_s) const {
  double bits = sent_bits_;
  for (const auto& [id, sending] : sending_) {
    const double duration_s = sending.end_s - sending.begin_s;
    if (duration_s > 0) bits += bits_of(id) * std::clamp((now_s - sending.begin_s) / duration_s, 0.0, 1.0);
  }
  return bits;
}

bool TransferNetwork::is_settled(std::uint64_t step) const {
  return payloads_.empty() || payloads_.begin()->first.step > step;
}

double TransferNetwork::settled_s(std::uint64_t step) const {
  double latest_s = 0;
  for (const auto& [contributed_after, arrival_s] : arrived_s_) {
    if (contributed_after <= step) latest_s = std::max(latest_s, arrival_s);
  }
  return latest_s;
}

}  // namespace shoal
