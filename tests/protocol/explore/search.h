// Searches: breadth first through every state, or random walks through deep ones.
//
// A search ends at the first state that breaks a property, or from which no run to the end is found, and tells the
// shortest run that leads there. Of the states behind it keeps the fingerprints alone, of the frontier the bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/protocol/explore/fingerprints.h"
#include "tests/protocol/explore/liveness.h"
#include "tests/protocol/explore/model.h"

namespace shoal::protocol {

inline constexpr const char* kStuck =
    "L-1: with every message in flight lost and no further fault, the steps "
    "cannot be finished";

struct SearchLimits {
  double seconds = 600;
  std::size_t states = 60'000'000;
  bool checks_liveness = true;
  std::size_t calm_states = 200'000;  // among which a run to the end is looked for
};

struct Outcome {
  std::optional<std::string> broken;  // the property
  std::string story;                  // the run that breaks it, and its last state
  bool is_complete = false;           // every state was visited
  std::uint64_t states = 0, transitions = 0,
                ends = 0;  // ends: finished states, or walks that came to the end
  int depth = 0;
  std::uint64_t liveness_searches = 0;
  double seconds = 0;
};

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

template <Model M>
class BreadthFirst {
 public:
  using State = typename M::State;

  BreadthFirst(const M& model, const SearchLimits& limits)
      : model_(model), limits_(limits), liveness_(model, limits.calm_states) {}

  [[nodiscard]] Outcome run() {
    const State first = model_.initial();
    visit(first, 0);
    frontier_.swap(next_frontier_);
    while (!frontier_.ids.empty()) {
      next_frontier_ = {};
      expand_frontier();
      if (outcome_.broken || is_cut()) break;
      frontier_.swap(next_frontier_);
      ++outcome_.depth;
    }
    outcome_.is_complete = frontier_.ids.empty();
    outcome_.states = seen_.size();
    outcome_.liveness_searches = liveness_.searches();
    outcome_.seconds = watch_.seconds();
    return outcome_;
  }

 private:
  struct Visited {
    std::uint32_t parent;
    std::uint64_t fingerprint;
  };
  struct Frontier {
    std::vector<unsigned char> bytes;
    std::vector<std::uint32_t> ids;
    void swap(Frontier& other) {
      bytes.swap(other.bytes);
      ids.swap(other.ids);
    }
  };

  [[nodiscard]] bool is_cut() const { return seen_.size() > limits_.states || watch_.seconds() > limits_.seconds; }

  void visit(const State& state, std::uint32_t parent) {
    const std::uint64_t fingerprint = model_.fingerprint(state);
    if (!seen_.insert(fingerprint)) return;
    next_frontier_.ids.push_back(static_cast<std::uint32_t>(visited_.size()));
    visited_.push_back({parent, fingerprint});
    const auto* bytes = reinterpret_cast<const unsigned char*>(&state);
    next_frontier_.bytes.insert(next_frontier_.bytes.end(), bytes, bytes + state.size());
  }

  void expand_frontier() {
    std::size_t at = 0;
    for (const std::uint32_t id : frontier_.ids) {
      State state = model_.initial();
      const std::size_t head =
          sizeof(State) < frontier_.bytes.size() - at ? sizeof(State) : frontier_.bytes.size() - at;
      std::memcpy(static_cast<void*>(&state), &frontier_.bytes[at], head);
      at += state.size();
      expand(state, id);
      if (outcome_.broken || is_cut()) return;
    }
  }

  void expand(const State& state, std::uint32_t id) {
    outcome_.ends += model_.is_finished(state) ? 1 : 0;
    std::optional<std::uint64_t> last;
    for_each_successor(model_, state, Pace::kAny, [&](const State& next, const char* broken, const std::string&) {
      ++outcome_.transitions;
      if (broken != nullptr && !outcome_.broken) {
        outcome_.broken = broken;
        last = model_.fingerprint(next);
      }
      if (!outcome_.broken) visit(next, id);
    });
    if (!outcome_.broken && limits_.checks_liveness && !liveness_.can_finish(state)) outcome_.broken = kStuck;
    if (outcome_.broken) tell(id, last);
  }

  // Runs again from the first state, along the fingerprints.
  void tell(std::uint32_t id, std::optional<std::uint64_t> last) {
    std::vector<std::uint64_t> chain;
    if (last) chain.push_back(*last);
    for (; id != 0; id = visited_[id].parent) chain.push_back(visited_[id].fingerprint);
    State state = model_.initial();
    for (std::size_t step = chain.size(); step-- > 0;) {
      std::optional<State> found;
      std::string happened;
      const auto take = [&](const State& next, const char*, const std::string& story) {
        if (found || model_.fingerprint(next) != chain[step]) return;
        found = next;
        happened = story;
      };
      SinkTo<State, decltype(take)> sink(take, true);
      model_.successors(state, Pace::kAny, sink);
      outcome_.story += "  " + std::to_string(chain.size() - step) + " " + happened + "\n";
      if (found) state = *found;
    }
    outcome_.story += model_.describe(state);
  }

  const M& model_;
  const SearchLimits limits_;
  Stopwatch watch_;
  Liveness<M> liveness_;
  Fingerprints seen_{1 << 20};
  std::vector<Visited> visited_;
  Frontier frontier_, next_frontier_;
  Outcome outcome_;
};

}  // namespace shoal::protocol
