// The beginning and the end of a run; the moves are those of moves.h.
#include "tests/protocol/step/step_model.h"

#include <bit>
#include <cstring>

#include "tests/protocol/step/moves.h"

namespace shoal::protocol {
namespace {

constexpr std::array<const char*, kFaults> kFaultNames = {"crash",  "suspect", "retry",      "loader",
                                                          "group",  "spawner", "join",       "abort",
                                                          "zombie", "early",   "quarantine", "leave"};

std::string hex(int value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%x", static_cast<unsigned>(value));
  return text.data();
}

// Counts what brings a replica near the end: what it applied, read and accumulated once.
int progress_of(const Replica& replica, int microbatches) {
  int value = replica.version * 60 + replica.phase * 8 + replica.position * 6 - (replica.epoch & 31);
  for (int b = 0; b < microbatches; ++b) value += replica.ledger[b] * 4 - 30 * int{replica.accumulated[b] > 1};
  return value;
}

}  // namespace

State StepModel::initial() const {
  State state;
  std::memset(static_cast<void*>(&state), 0, sizeof state);
  for (int r = 0; r < kReplicas; ++r) {
    Replica& replica = state.replicas[r];
    replica.clear();
    if (r % kReplicasPerStage >= scope.replicas[stage_of(r)]) continue;
    replica.is_alive = 1;
    state.first_members = static_cast<std::uint16_t>(state.first_members | 1 << r);
  }
  state.loader.requests.clear();
  state.loader.held.fill(kNoHolders);
  for (int stage = 0; stage < scope.stages(); ++stage) state.groups[stage].is_on = 1;
  state.budget = scope.budget;
  return state;
}

void StepModel::successors(const State& state, Pace pace, Sink<State>& sink) const {
  Moves(*this, state, pace, sink).all();
}

bool StepModel::is_finished(const State& state) const {
  if (state.commits() < scope.steps || is_exempt(state)) return false;
  const int members = state.members();
  for (int r = 0; r < kReplicas; ++r) {
    const Replica& replica = state.replicas[r];
    if (is_in(members, r) && replica.is_alive && replica.version != scope.steps) return false;
  }
  return true;
}

bool StepModel::is_exempt(const State& state) const {
  const int members = state.members();
  for (int stage = 0; stage < scope.stages(); ++stage) {
    bool has_somebody = false;
    for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
      has_somebody |= is_in(members, r) && state.replicas[r].is_alive;
    }
    if (!has_somebody) return true;
  }
  return false;
}

// Data loader and groups live in one process: what the one has said to the others is not lost.
State StepModel::becalmed(const State& state) const {
  State calm = state;
  calm.drop_all_but_local();
  calm.budget.fill(0);
  for (int g = kStages; g < 2 * kStages; ++g) calm.groups[g] = Group{};
  return calm;
}

int StepModel::progress(const State& state) const {
  const int members = state.members();
  int value = state.commits() * 400 + state.loader.position * 6;
  value += std::popcount(static_cast<unsigned>(state.loader.answered)) * 5;
  for (int r = 0; r < kReplicas; ++r) {
    if (!is_in(members, r)) continue;
    value += state.replicas[r].is_alive ? progress_of(state.replicas[r], scope.microbatches) : -60;
  }
  for (int b = 0; b < scope.microbatches; ++b) {
    for (int stage = 0; stage < kStages; ++stage) {
      int holders = 0;
      for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
        holders += int{is_in(members, r) && state.replicas[r].ledger[b] == kAccumulated};
      }
      const bool is_planned = is_in(plan_at(state, state.log_size), b);
      value += !is_planned ? -20 * holders : holders == 0 ? -5 : holders == 1 ? 10 : -20;
    }
  }
  static constexpr std::array<int, 6> kOfPhase = {0, 8, 24, 40, 0, 0};
  for (int stage = 0; stage < kStages; ++stage) {
    const Group& group = state.groups[stage];
    value += group.position * 6 + kOfPhase[group.phase] - 3 * group.counter;
  }
  for (int k = 0; k < state.message_count; ++k) value += 20 * int{state.message(k).kind() == Kind::kVote};
  return value;
}

const char* StepModel::broken_in(const State& state) const {
  static constexpr const char* kLonely = "L-1: a microbatch is left that nobody would ever send again";
  for (int r = 0; r < first_of(scope.stages() - 1); ++r) {
    const Replica& replica = state.replicas[r];
    const int plan = plan_at(state, replica.position);
    for (int b = 0; b < scope.microbatches; ++b) {
      const int request = replica.requests.state[b];
      if (!is_in(plan, b)) continue;
      if (replica.ledger[b] == kInFlight && request != kAsked && replica.kept[b] == 0) return kLonely;
      if (replica.ledger[b] == kAccumulated && request == kNotSent) return kLonely;
    }
  }
  for (int b = 0; b < scope.microbatches; ++b) {
    const bool is_planned = is_in(plan_at(state, state.loader.position), b);
    const bool is_answered = state.loader.requests.state[b] == kAnswered;
    if (is_planned && is_answered && !is_in(state.loader.answered, b)) return kLonely;
  }
  return nullptr;
}

bool StepModel::is_overtaken(const State& state, Message vote) const {
  for (int k = vote.position(); k < state.log_size; ++k) {
    const Entry entry = state.log[k];
    const bool voids = entry.is_removal() || (entry.is_quarantine() ? rules.quarantine_voids : rules.add_voids);
    if (entry.changes(vote.stage()) && voids) return true;
  }
  return false;
}

std::string StepModel::describe(const State& state) const {
  std::string text = "  journal:";
  for (int k = 0; k < state.log_size; ++k) {
    const Entry entry = state.log[k];
    if (entry.is_commit()) {
      text += " commit{" + hex(entry.epoch_of(0)) + "," + hex(entry.epoch_of(1)) + "," + hex(entry.epoch_of(2)) + "}";
    } else {
      text += entry.is_quarantine() ? " without " + std::to_string(entry.microbatch())
                                    : std::string(entry.is_removal() ? " -" : " +") + name_of(entry.replica());
    }
  }
  const auto pair = [](const auto& values) { return std::to_string(values[0]) + std::to_string(values[1]); };
  for (int r = 0; r < kReplicas; ++r) {
    const Replica& replica = state.replicas[r];
    if (!replica.is_alive) continue;
    text += std::string("\n  ") + name_of(r) + ": position " + std::to_string(replica.position) + ", version " +
            std::to_string(replica.version) + ", epoch " + hex(replica.epoch) + ", phase " +
            std::to_string(replica.phase) + ", ledger " + pair(replica.ledger) + ", accumulated " +
            pair(replica.accumulated) + ", sum " + pair(replica.sum);
  }
  for (int stage = 0; stage < scope.stages(); ++stage) {
    const Group& group = state.groups[stage];
    text += "\n  group " + std::to_string(stage) + ": epoch " + hex(group.epoch()) + ", phase " +
            std::to_string(group.phase) + ", position " + std::to_string(group.position);
  }
  return text + "\n  loader: position " + std::to_string(state.loader.position) + ", answered " +
         std::to_string(state.loader.answered) + "\n";
}

std::string StepModel::name() const {
  std::string text = std::to_string(scope.microbatches) + " microbatches, " + std::to_string(scope.steps) +
                     " steps, replicas " + std::to_string(scope.replicas[0]) + "+" + std::to_string(scope.replicas[1]) +
                     (scope.stages() > 2 ? "+" + std::to_string(scope.replicas[2]) : "") + ", epochs " +
                     std::to_string(scope.epochs);
  for (int f = 0; f < kFaults; ++f) {
    if (scope.budget[f] > 0) text += std::string(", ") + kFaultNames[f] + " " + std::to_string(scope.budget[f]);
  }
  for (const std::string_view rule : removed_rules(rules)) text += ", without " + std::string(rule);
  return text;
}

}  // namespace shoal::protocol
