// Looks for a way to the end from a state with every message lost and no further fault (weak liveness).
//
// A run to the end is looked for best first with sensible moves, then in random sensible runs, then best first among
// all moves. "yes" is exact. "no" means that none was found among all states, or among states_max of them.
#pragma once

#include <cstdint>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "tests/protocol/explore/fingerprints.h"
#include "tests/protocol/explore/model.h"

namespace shoal::protocol {

template <Model M>
class Liveness {
 public:
  using State = typename M::State;

  Liveness(const M& model, std::size_t states_max) : model_(model), states_max_(states_max) {}

  [[nodiscard]] bool can_finish(const State& state) {
    const State calm = model_.becalmed(state);
    if (model_.is_exempt(calm) || is_good_.contains(model_.fingerprint(calm))) return true;
    ++searches_;
    return search(calm, Pace::kSensible, kSensibleStatesMax) || walk(calm) || search(calm, Pace::kAnyCalm, states_max_);
  }
  [[nodiscard]] std::uint64_t searches() const { return searches_; }

 private:
  static constexpr std::size_t kSensibleStatesMax = 3000;
  static constexpr int kWalksMax = 300;
  static constexpr int kMovesMax = 400;
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Node {
    State state;
    std::size_t parent;
  };

  bool search(const State& from, Pace pace, std::size_t states_max) {
    nodes_.clear();
    Fingerprints seen(1 << 12);
    std::priority_queue<std::pair<int, std::size_t>> open;
    nodes_.push_back({from, kNone});
    seen.insert(model_.fingerprint(from));
    open.push({model_.progress(from), 0});
    std::size_t last = kNone;
    while (!open.empty() && last == kNone && nodes_.size() <= states_max) {
      const std::size_t at = open.top().second;
      open.pop();
      const State state = nodes_[at].state;
      if (model_.is_finished(state)) last = at;
      if (last != kNone) break;
      for_each_successor(model_, state, pace, [&](const State& next, const char*, const std::string&) {
        const std::uint64_t fingerprint = model_.fingerprint(next);
        if (last != kNone || !seen.insert(fingerprint)) return;
        nodes_.push_back({next, at});
        if (is_good_.contains(fingerprint)) last = nodes_.size() - 1;
        open.push({model_.progress(next), nodes_.size() - 1});
      });
    }
    for (std::size_t at = last; at != kNone; at = nodes_[at].parent) {
      is_good_.insert(model_.fingerprint(nodes_[at].state));
    }
    return last != kNone;
  }

  bool walk(const State& from) {
    for (int i = 0; i < kWalksMax; ++i) {
      State state = from;
      for (int move = 0; move < kMovesMax; ++move) {
        const std::uint64_t fingerprint = model_.fingerprint(state);
        if (model_.is_finished(state) || is_good_.contains(fingerprint)) {
          is_good_.insert(model_.fingerprint(from));
          return true;
        }
        if (!step_at_random(state, fingerprint)) break;
      }
    }
    return false;
  }

  // Takes one of the sensible moves that change the state, each as likely as the others.
  bool step_at_random(State& state, std::uint64_t fingerprint) {
    State picked = state;
    std::uint64_t count = 0;
    for_each_successor(model_, state, Pace::kSensible, [&](const State& next, const char*, const std::string&) {
      if (model_.fingerprint(next) != fingerprint && random_() % ++count == 0) picked = next;
    });
    state = picked;
    return count > 0;
  }

  const M& model_;
  const std::size_t states_max_;
  Fingerprints is_good_{1 << 20};  // states from which the end was reached
  std::vector<Node> nodes_;
  std::mt19937_64 random_{7};
  std::uint64_t searches_ = 0;
};

}  // namespace shoal::protocol
