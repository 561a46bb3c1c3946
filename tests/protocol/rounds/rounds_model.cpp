// The view that a position gives, the beginning and the end of a run; the moves are those of rounds_moves.h.
#include "tests/protocol/rounds/rounds_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/protocol/explore/hash.h"
#include "tests/protocol/rounds/rounds_moves.h"

namespace shoal::protocol::rounds {

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> kRules = {
      {"gate_rounds", &Rules::gate_rounds, "P-22a", "a commit waits for no round"},
      {"round_place", &Rules::round_place, "P-32", "a round becomes an entry as soon as it is voted for"},
      {"round_once", &Rules::round_once, "S-2", "a round that is in the journal is written again"},
      {"round_position", &Rules::round_position, "P-22", "a round's vote counts although its stage has changed since"},
      {"round_vote_inst", &Rules::round_vote_inst, "P-22", "a round's vote of a group that was replaced counts"},
      {"round_part_epoch", &Rules::round_part_epoch, "P-15", "the sum of a round takes parts of any epoch"},
      {"round_vote_reduced", &Rules::round_vote_reduced, "P-19", "a group votes for a round before it is summed"},
      {"contribution_stays", &Rules::contribution_stays, "P-31", "a new epoch drops the contribution"},
      {"boundary_first", &Rules::boundary_first, "P-32", "a member begins the next step at the boundary"},
      {"joined_contributes", &Rules::joined_contributes, "P-31", "a joiner answers no order from before it came"},
      {"joined_weighs_nothing", &Rules::joined_weighs_nothing, "P-31", "a joiner brings the tokens of its donor"},
      {"quorum_of_tokens", &Rules::quorum_of_tokens, "P-31a", "members without tokens fill a quorum"},
      {"missed_waits", &Rules::missed_waits, "P-34", "a member goes on without the mean that it missed"},
      {"missed_asks_next", &Rules::missed_asks_next, "P-34", "a member asks one for a mean, and nobody else"},
      {"missed_ends", &Rules::missed_ends, "P-34", "a member waits for a mean that nobody has any more"},
      {"missed_tokens_lost", &Rules::missed_tokens_lost, "P-33", "what missed a round enters the next one"},
      {"mean_is_kept", &Rules::mean_is_kept, "P-34", "a member that has applied a mean cannot give it"},
      {"rounds_from_journal", &Rules::rounds_from_journal, "P-21", "a new group knows of no round that is open"},
      {"last_closes", &Rules::last_closes, "P-35", "the last commit makes no round due"},
      {"copy_at_version", &Rules::copy_at_version, "P-36", "a joiner copies a state at a boundary"},
      {"leaver_first", &Rules::leaver_first, "P-28a", "a leaver goes behind the entry of a round that others missed"},
  };
  return kRules;
}

bool State::has(const Message& message) const {
  return std::binary_search(messages.begin(), messages.begin() + message_count, message);
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

View view_at(const State& state, int position) {
  View view;
  for (int i = 0; i < position; ++i) {
    const Entry& entry = state.log[i];
    if (entry.kind == EntryKind::kAdd) view.members |= 1 << entry.subject;
    if (entry.kind == EntryKind::kRemove) view.members &= ~(1 << entry.subject);
    if (entry.kind == EntryKind::kAppoint) view.groups[entry.stage] = entry.subject;
    if (entry.kind == EntryKind::kCommit) ++view.committed;
    if (entry.kind == EntryKind::kRound) view.recorded[entry.stage] |= 1 << entry.subject;
    for (int stage = 0; stage < kStages; ++stage) {
      if (entry.changes(stage)) view.changed[stage] = i + 1;
    }
  }
  return view;
}

bool RoundsModel::is_due(int round, int committed) const {
  const bool is_last = committed == scope.steps && rules.last_closes;
  return round <= committed && (is_last || round + scope.delay <= committed);
}

// All replicas have been added and have read that, the groups are appointed.
State RoundsModel::initial() const {
  State state;
  std::memset(static_cast<void*>(&state), 0, sizeof state);
  for (int stage = 0; stage < scope.stages; ++stage) {
    for (int r = first_of(stage); r < first_of(stage) + scope.replicas; ++r) {
      state.append({EntryKind::kAdd, byte(stage), byte(r), 0, 0});
      state.replicas[r].is_alive = state.replicas[r].is_member = 1;
    }
    ++state.next_group;
    state.append({EntryKind::kAppoint, byte(stage), state.next_group, 0, 0});
    state.groups[stage].is_on = 1;
    state.groups[stage].number = state.next_group;
  }
  for (int stage = 0; stage < scope.stages; ++stage) state.groups[stage].position = state.log_size;
  for (Replica& replica : state.replicas) replica.position = replica.is_alive != 0 ? state.log_size : 0;
  for (Replica& replica : state.replicas) replica.has_trained = replica.is_alive;
  state.budget = scope.budget;
  return state;
}

void RoundsModel::successors(const State& state, Pace pace, Sink<State>& sink) const {
  RoundsMoves(*this, state, pace, sink).all();
}

std::uint64_t RoundsModel::fingerprint(const State& state) const {
  return finish_hash(hash_bytes(&state, state.size()));
}

bool RoundsModel::is_finished(const State& state) const {
  const View view = view_at(state, state.log_size);
  if (!is_served(state)) return true;
  if (view.committed < scope.steps) return false;
  for (int r = 0; r < kReplicas; ++r) {
    const Replica& replica = state.replicas[r];
    if (replica.is_alive == 0 || !is_in(view.members, r)) continue;
    if (replica.version != scope.steps || replica.is_at_boundary != 0) return false;
    for (int round = 1; round <= scope.steps; ++round) {
      if (replica.rounds[round].phase != kOver) return false;
    }
  }
  return true;
}

bool RoundsModel::is_exempt(const State& state) const { return state.log_size > kLogMax - 3 || !is_served(state); }

bool RoundsModel::is_served(const State& state) const {
  const View view = view_at(state, state.log_size);
  for (int stage = 0; stage < scope.stages; ++stage) {
    bool has_member = false;
    for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
      has_member |= state.replicas[r].is_alive != 0 && is_in(view.members, r);
    }
    if (!has_member) return false;
  }
  return true;
}

State RoundsModel::becalmed(const State& state) const {
  State calm = state;
  calm.message_count = 0;
  calm.budget.fill(0);
  return calm;
}

int RoundsModel::progress(const State& state) const {
  const View view = view_at(state, state.log_size);
  int value = 100 * view.committed;
  for (int stage = 0; stage < kStages; ++stage) {
    value += 20 * __builtin_popcount(static_cast<unsigned>(view.recorded[stage])) + state.groups[stage].position -
             3 * state.groups[stage].counter;
    for (const GroupRound& round : state.groups[stage].rounds) value += 4 * round.phase;
  }
  for (const Replica& replica : state.replicas) {
    value += replica.position + 4 * replica.has_trained;
    for (const Part& part : replica.rounds) value += 2 * part.phase;
  }
  return value;
}

std::string RoundsModel::describe(const State& state) const {
  static constexpr std::array<const char*, 6> kNames = {"?", "commit", "round", "remove", "add", "appoint"};
  std::string text = "  journal:";
  for (int i = 0; i < state.log_size; ++i) {
    const Entry& entry = state.log[i];
    text += std::string(" ") + kNames[static_cast<int>(entry.kind)] + " " + std::to_string(entry.subject);
    if (entry.kind != EntryKind::kRound) continue;
    text += "{stage " + std::to_string(entry.stage) + " epoch " + std::to_string(entry.epoch) + " members " +
            std::to_string(entry.members) + "}";
  }
  for (int r = 0; r < kReplicas; ++r) {
    const Replica& replica = state.replicas[r];
    if (replica.is_alive == 0) continue;
    text += "\n  " + std::to_string(r) + ": position " + std::to_string(replica.position) + ", version " +
            std::to_string(replica.version) + (replica.is_at_boundary != 0 ? ", at the boundary" : "") + ", rounds";
    for (int round = 1; round <= kRoundsMax; ++round) text += " " + std::to_string(replica.rounds[round].phase);
  }
  for (const Group& group : state.groups) {
    if (group.is_on == 0) continue;
    text += "\n  group " + std::to_string(group.number) + ": position " + std::to_string(group.position) + ", rounds";
    for (int round = 1; round <= kRoundsMax; ++round) {
      text += " " + std::to_string(group.rounds[round].phase) + "." + std::to_string(group.rounds[round].counter);
    }
  }
  return text + "\n";
}

std::string RoundsModel::name() const {
  static constexpr std::array<const char*, kFaults> kNames = {"crash", "suspect", "spawner", "group",
                                                              "join",  "abort",   "leave"};
  std::string text = "rounds, " + std::to_string(scope.stages) + " stages of " + std::to_string(scope.replicas) + ", " +
                     std::to_string(scope.steps) + " steps, delay " + std::to_string(scope.delay) + ", quorum " +
                     std::to_string(scope.quorum);
  for (int f = 0; f < kFaults; ++f) {
    if (scope.budget[f] > 0) text += std::string(", ") + kNames[f] + " " + std::to_string(scope.budget[f]);
  }
  for (const Rule& rule : all_rules()) {
    if (!(rules.*(rule.flag))) text += ", without " + std::string(rule.name);
  }
  return text;
}

}  // namespace shoal::protocol::rounds
