// Payloads on their way between workers: which hops may start, which links they hold, what has arrived.
//
// Older payloads go first on every link, and within a payload earlier hops; a hop whose receiver is busy lets later
// ones pass. Knows no events: the simulation tells it when a hop is sent and when it arrives.
// Invariant: every contributed bit is sent exactly once per hop, and a payload is forgotten when all of it has arrived.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "runtime/plan/collective.h"
#include "runtime/plan/scenario.h"

namespace shoal {

struct PayloadId {
  std::uint64_t step = 0;  // after which it is contributed
  std::size_t rank = 0;    // place in the order of backward: 0 is the last layer
  friend auto operator<=>(const PayloadId&, const PayloadId&) = default;
};

struct TransferId {
  PayloadId payload;
  std::size_t hop = 0;
  friend auto operator<=>(const TransferId&, const TransferId&) = default;
};

struct StartedTransfer {
  TransferId id;
  double sent_s = 0;     // when the links are free again
  double arrives_s = 0;  // sent_s and the latency
};

class TransferNetwork {
 public:
  TransferNetwork(const Network& network, double payload_bits);

  void contribute(const PayloadId& id, std::size_t worker);
  // A worker that has contributed holds the contributions of all.
  [[nodiscard]] bool is_merged(const PayloadId& id, std::size_t worker) const;
  // Gives every hop its links that can have them.
  [[nodiscard]] std::vector<StartedTransfer> start_ready(double now_s);
  void end_sending(const TransferId& id);
  void arrive(const TransferId& id, double now_s);

  [[nodiscard]] std::size_t receiver(const TransferId& id) const { return hops_[id.hop].to; }
  // Bits of all workers by `now_s`, with the sent part of what is being sent; and what they have to send in all.
  [[nodiscard]] double sent_bits(double now_s) const;
  [[nodiscard]] double contributed_bits() const { return contributed_bits_; }
  // True when all payloads that were contributed after steps up to `step` are merged everywhere.
  [[nodiscard]] bool is_settled(std::uint64_t step) const;
  // Time at which the last of those arrived.
  [[nodiscard]] double settled_s(std::uint64_t step) const;

 private:
  struct Payload {
    std::vector<bool> contributed;     // per worker
    std::vector<std::size_t> missing;  // hops that have not arrived, per receiver
    std::vector<std::size_t> needs;    // per hop
    std::size_t hops_left = 0;
  };
  struct Sending {
    double begin_s = 0;
    double end_s = 0;
  };

  Payload& opened(const PayloadId& id);
  void make_ready(const PayloadId& id, const Payload& payload, std::size_t hop);
  [[nodiscard]] StartedTransfer start(const TransferId& id, double now_s);
  [[nodiscard]] double bits_of(const TransferId& id) const { return hops_[id.hop].share * payload_bits_; }

  Network network_;
  double payload_bits_;
  std::vector<ExchangeHop> hops_;
  std::map<PayloadId, Payload> payloads_;        // not yet whole everywhere
  std::map<std::uint64_t, double> arrived_s_;    // last arrival, per step after which it was contributed
  std::vector<std::set<TransferId>> ready_;      // per sender
  std::vector<bool> up_is_busy_, down_is_busy_;  // per worker
  std::map<TransferId, Sending> sending_;
  double sent_bits_ = 0;  // without what is being sent
  double contributed_bits_ = 0;
};

// exp of a normal variable, with mean 1 and that relative standard deviation (small); 1 for a jitter of 0.
[[nodiscard]] double jitter_factor(const Network& network, std::uint64_t index, std::uint64_t stream);

}  // namespace shoal
