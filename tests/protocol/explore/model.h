// The questions of an explorer to a model: its states, what may follow each of them, and when a run is at its end.
//
// A model is safe if no move breaks a property. It is live in the weak sense if from every reachable state, with every
// message in flight lost and no further fault, a state at the end can be reached.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

namespace shoal::protocol {

// Which moves of a state are given.
enum class Pace : std::uint8_t {
  kAny,       // every move and every fault
  kSensible,  // no faults; whoever has a choice takes a good one
  kAnyCalm,   // every move, no faults
};

// Takes the states that follow from one, one call each.
template <class State>
class Sink {
 public:
  virtual ~Sink() = default;
  // broken: the property that the move breaks, or nullptr. story: what happened; empty unless wants_story().
  virtual void take(const State& next, const char* broken, const std::string& story) = 0;
  [[nodiscard]] virtual bool wants_story() const { return false; }
};

// A sink that calls a function of (next, broken, story).
template <class State, class Function>
class SinkTo final : public Sink<State> {
 public:
  explicit SinkTo(Function function, bool with_story = false) : function_(function), with_story_(with_story) {}
  void take(const State& next, const char* broken, const std::string& story) override {
    function_(next, broken, story);
  }
  [[nodiscard]] bool wants_story() const override { return with_story_; }

 private:
  Function function_;
  bool with_story_;
};

template <class M>
concept Model = requires(const M& model, const typename M::State& state, Sink<typename M::State>& sink) {
  { model.initial() } -> std::same_as<typename M::State>;
  model.successors(state, Pace::kAny, sink);
  { model.fingerprint(state) } -> std::same_as<std::uint64_t>;
  { model.is_finished(state) } -> std::same_as<bool>;
  { model.is_exempt(state) } -> std::same_as<bool>;
  { model.becalmed(state) } -> std::same_as<typename M::State>;
  { model.progress(state) } -> std::same_as<int>;
  { model.describe(state) } -> std::same_as<std::string>;
  { state.size() } -> std::same_as<std::size_t>;
};

// Calls function(next, broken, story) for everything that may follow `state`.
template <Model M, class Function>
void for_each_successor(const M& model, const typename M::State& state, Pace pace, Function function) {
  SinkTo<typename M::State, Function> sink(function);
  model.successors(state, pace, sink);
}

}  // namespace shoal::protocol
