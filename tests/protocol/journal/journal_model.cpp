// The view that a position gives, the beginning and the end of a run; the moves are those of journal_moves.h.
#include "tests/protocol/journal/journal_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/protocol/explore/hash.h"
#include "tests/protocol/journal/journal_moves.h"

namespace shoal::protocol::journal {

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> kRules = {
      {"vote_fence", &Rules::vote_fence, "P-22", "a vote of any group, term and branch for the step counts"},
      {"order_branch", &Rules::order_branch, "P-29", "a replica obeys orders of another branch"},
      {"new_branch", &Rules::new_branch, "P-1", "a roll-back goes on in the same branch"},
      {"lineage", &Rules::lineage, "P-1", "a start compares versions alone, not the branches of what was saved"},
      {"ahead_ends", &Rules::ahead_ends, "P-30", "a replica that is ahead of the journal stays a member"},
      {"compares_terms", &Rules::compares_terms, "P-3b", "nobody compares the entries that were read with the journal"},
      {"left_behind_ends", &Rules::left_behind_ends, "P-3a", "a member adopts a snapshot"},
      {"leaves_saved", &Rules::leaves_saved, "P-28a", "the last of a stage leaves before its state is saved"},
      {"leaver_gate", &Rules::leaver_gate, "P-22a", "commits go on while the last of a stage waits for its checkpoint"},
  };
  return kRules;
}

bool State::add(const Message& message) {
  const auto end = messages.begin() + message_count;
  const auto at = std::lower_bound(messages.begin(), end, message);
  if (at != end && *at == message) return false;
  if (message_count >= kMessagesMax) {
    std::fprintf(stderr, "a state has more than %d messages\n", kMessagesMax);
    std::exit(3);
  }
  std::copy_backward(at, end, end + 1);
  *at = message;
  ++message_count;
  return true;
}

bool View::has_members(int stage) const {
  for (int p = 0; p < kProcesses; ++p) {
    if (stage_of(p) == stage && members[p] != 0) return true;
  }
  return false;
}

// A branch begins with the first replica that is added on it (P-1).
View view_at(const State& state, int position) {
  View view;
  for (int i = 0; i < position; ++i) {
    const Entry& entry = state.log[i];
    view.highest = std::max<int>(view.highest, entry.branch);
    const bool is_start = entry.kind == EntryKind::kAdd && !view.has_members(0) && !view.has_members(1);
    if (is_start) {
      view.branch = entry.branch;
      view.committed = entry.step;
      view.weights = entry.made;
      view.groups.fill(0);
    }
    if (entry.kind == EntryKind::kAdd) view.members[entry.process] = entry.number;
    if (entry.kind == EntryKind::kRemove) view.members[entry.process] = 0;
    if (entry.kind == EntryKind::kAppoint) view.groups[entry.stage] = entry.number;
    if (entry.kind == EntryKind::kCommit) {
      view.committed = entry.step + 1;
      view.weights = entry.made;
    }
    for (int stage = 0; stage < kStages; ++stage) {
      if (entry.changes(stage)) view.changed[stage] = i + 1;
    }
  }
  return view;
}

// All replicas have been added and have read that, the groups are appointed.
State JournalModel::initial() const {
  State state;
  std::memset(static_cast<void*>(&state), 0, sizeof state);
  state.spawner = {kTraining, 1, 0, 0, 0};
  for (int p = 0; p < kProcesses; ++p) {
    if (p == 1 && scope.replicas < 2) continue;
    ++state.next_number;
    state.append({EntryKind::kAdd, state.next_number, byte(p), byte(stage_of(p)), 0, 1, 0, 0, 0, {}});
    state.replicas[p] = {state.next_number, 1, 0, 0, 0, 0, 1, 1, 0, 0};
  }
  for (int stage = 0; stage < kStages; ++stage) {
    ++state.next_number;
    state.append({EntryKind::kAppoint, state.next_number, 0, byte(stage), 0, 1, 0, 0, 0, {}});
    state.groups[stage] = {1, state.next_number, 0, kIdle, state.log_size, 0};
  }
  for (Group& group : state.groups) group.position = state.log_size;
  for (Replica& replica : state.replicas) replica.position = replica.number != 0 ? state.log_size : 0;
  state.budget = scope.budget;
  return state;
}

void JournalModel::successors(const State& state, Pace pace, Sink<State>& sink) const {
  JournalMoves(*this, state, pace, sink).all();
}

std::uint64_t JournalModel::fingerprint(const State& state) const {
  return finish_hash(hash_bytes(&state, state.size()));
}

bool JournalModel::is_finished(const State& state) const {
  const View view = view_at(state, state.log_size);
  if (state.spawner.phase != kTraining || view.committed < scope.steps) return false;
  for (int p = 0; p < kProcesses; ++p) {
    const Replica& replica = state.replicas[p];
    const bool lives = view.members[p] != 0 && replica.number == view.members[p];
    if (lives && replica.weights != view.weights) return false;
  }
  return true;
}

bool JournalModel::is_exempt(const State& state) const { return state.log_size > kLogMax - 12; }

// Storage has what it was given: it lives on.
State JournalModel::becalmed(const State& state) const {
  State calm = state;
  calm.message_count = 0;
  calm.budget.fill(0);
  return calm;
}

int JournalModel::progress(const State& state) const {
  const View view = view_at(state, state.log_size);
  int value = 100 * view.committed + 20 * state.spawner.phase + 2 * state.log_size;
  for (const Replica& replica : state.replicas) value += replica.position + 4 * replica.has_sum;
  for (const Group& group : state.groups) value += group.position + 3 * group.phase - 5 * group.counter;
  return value;
}

std::string JournalModel::describe(const State& state) const {
  static constexpr std::array<const char*, 5> kNames = {"?", "add", "remove", "appoint", "commit"};
  std::string text = "  journal:";
  for (int i = 0; i < state.log_size; ++i) {
    const Entry& entry = state.log[i];
    text += std::string(" ") + kNames[static_cast<int>(entry.kind)] + " " + std::to_string(entry.number) + "{branch " +
            std::to_string(entry.branch) + " term " + std::to_string(entry.term) + " step " +
            std::to_string(entry.step) + " weights " + std::to_string(entry.made) + "}";
  }
  for (const Replica& replica : state.replicas) {
    text += "\n  replica " + std::to_string(replica.number) + ": branch " + std::to_string(replica.branch) +
            ", version " + std::to_string(replica.version) + ", weights " + std::to_string(replica.weights) +
            ", position " + std::to_string(replica.position) + ", epoch " + std::to_string(replica.epoch);
  }
  return text + "\n  spawner: phase " + std::to_string(state.spawner.phase) + ", term " +
         std::to_string(state.spawner.term) + "; saved: version " + std::to_string(state.saved.version) + ", weights " +
         std::to_string(state.saved.weights) + "\n";
}

std::string JournalModel::name() const {
  static constexpr std::array<const char*, kFaults> kNames = {"crash", "spawner", "truncate", "snapshot", "leave"};
  std::string text =
      "journal, replicas " + std::to_string(scope.replicas) + "+1, " + std::to_string(scope.steps) + " steps";
  for (int f = 0; f < kFaults; ++f) {
    if (scope.budget[f] > 0) text += std::string(", ") + kNames[f] + " " + std::to_string(scope.budget[f]);
  }
  for (const Rule& rule : all_rules()) {
    if (!(rules.*(rule.flag))) text += ", without " + std::string(rule.name);
  }
  return text;
}

}  // namespace shoal::protocol::journal
