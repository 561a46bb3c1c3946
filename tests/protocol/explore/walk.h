// Random walks: many faults in one run, deeper than a search through every state can come.
//
// A fault is taken in six of a hundred moves, so that a walk has time to repair what the last one broke. A walk is the
// same for the same seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/protocol/explore/search.h"

namespace shoal::protocol {

// Model has is_fault(before, after) besides what the concept asks for.
template <Model M>
class Walks {
 public:
  using State = typename M::State;

  Walks(const M& model, const SearchLimits& limits, std::uint64_t seed)
      : model_(model), limits_(limits), liveness_(model, limits.calm_states), random_(seed) {}

  [[nodiscard]] Outcome run(std::uint64_t walks) {
    for (std::uint64_t i = 0; i < walks && watch_.seconds() < limits_.seconds && !outcome_.broken; ++i) {
      outcome_.ends += walk() ? 1 : 0;
    }
    outcome_.states = seen_.size();
    outcome_.liveness_searches = liveness_.searches();
    outcome_.seconds = watch_.seconds();
    return outcome_;
  }

 private:
  static constexpr int kMovesMax = 400;
  static constexpr std::uint64_t kFaultsInHundred = 6;
  static constexpr std::uint64_t kLivenessEvery = 8;  // new states

  struct Choice {
    State state;
    const char* broken;
    std::string story;
  };

  // True: it came to the end.
  bool walk() {
    State state = model_.initial();
    outcome_.story.clear();
    for (int move = 0; move < kMovesMax && !outcome_.broken; ++move) {
      if (!step(state)) break;
      outcome_.depth = move > outcome_.depth ? move : outcome_.depth;
    }
    if (outcome_.broken) outcome_.story += model_.describe(state);
    return model_.is_finished(state);
  }

  bool step(State& state) {
    std::vector<Choice> calm, faults;
    const auto take = [&](const State& next, const char* broken, const std::string& story) {
      (model_.is_fault(state, next) ? faults : calm).push_back({next, broken, story});
    };
    SinkTo<State, decltype(take)> sink(take, true);
    model_.successors(state, Pace::kAny, sink);
    const bool takes_fault = calm.empty() || (!faults.empty() && random_() % 100 < kFaultsInHundred);
    const std::vector<Choice>& choices = takes_fault ? faults : calm;
    if (choices.empty()) return false;
    const Choice& choice = choices[random_() % choices.size()];
    ++outcome_.transitions;
    outcome_.story += "  " + choice.story + "\n";
    if (choice.broken != nullptr) outcome_.broken = choice.broken;
    state = choice.state;
    const bool is_new = seen_.insert(model_.fingerprint(state));
    const bool is_looked_at = is_new && limits_.checks_liveness && random_() % kLivenessEvery == 0;
    if (is_looked_at && !outcome_.broken && !liveness_.can_finish(state)) outcome_.broken = kStuck;
    return true;
  }

  const M& model_;
  const SearchLimits limits_;
  Stopwatch watch_;
  Liveness<M> liveness_;
  std::mt19937_64 random_;
  Fingerprints seen_{1 << 20};
  Outcome outcome_;
};

}  // namespace shoal::protocol
