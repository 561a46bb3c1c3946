// A group's rounds (P-19, P-20, P-21, P-31, P-31a): each is a small machine of its own; the counter of epochs is one
// for all of them.
#include <bit>

#include "tests/protocol/rounds/rounds_moves.h"

namespace shoal::protocol::rounds {
namespace {

constexpr const char* kForeignTokens = "P-33: a share has tokens that its member was not trained on in that round";
constexpr const char* kNoQuorum = "P-31a: a round is closed without a quorum of members that have tokens";

std::string named(int stage, int round) {
  return "group " + std::to_string(stage) + ", round " + std::to_string(round) + ": ";
}

// The tokens that a member named in its manifest of this epoch; -1: no manifest is there.
int tokens_in(const State& state, int member, int round, int epoch) {
  for (int k = 0; k < state.message_count; ++k) {
    const Message& found = state.messages[k];
    const bool is_it = found.kind == Kind::kManifest && found.from == member && found.round == round;
    if (is_it && found.epoch == epoch) return found.tokens;
  }
  return -1;
}

// The members of a stage whose sums a commit counted.
int trained_in(const State& state, int stage, int step) {
  int commits = 0;
  for (int i = 0; i < state.log_size; ++i) {
    if (state.log[i].kind == EntryKind::kCommit && commits++ == step) return view_at(state, i).members_of(stage);
  }
  return 0;
}

}  // namespace

void RoundsMoves::group(int stage) {
  if (now_.groups[stage].is_on == 0) return;
  group_reads(stage);
  for (int round = 1; round <= kRoundsMax; ++round) {
    const Byte phase = now_.groups[stage].rounds[round].phase;
    if (phase == kPreparing) group_reduces(stage, round);
    if (phase == kReducing) group_votes(stage, round);
    if (phase == kReducing) group_gives_up(stage, round);
  }
}

// P-20: a change of the stage begins every open round anew.
void RoundsMoves::group_reads(int stage) {
  const Group& group = now_.groups[stage];
  if (group.position >= now_.log_size) return;
  const Entry& entry = now_.log[group.position];
  State next = now_;
  Group& after = next.groups[stage];
  ++after.position;
  if (entry.kind == EntryKind::kRound && entry.stage == stage) after.rounds[entry.subject] = GroupRound{};
  if (entry.kind == EntryKind::kAppoint && entry.stage == stage) after = Group{};  // P-3c
  for (int round = 1; round <= kRoundsMax && entry.changes(stage); ++round) {
    if (after.rounds[round].phase != kClosed && !announce(next, stage, round)) return;
  }
  if (entry.kind == EntryKind::kCommit && !take_up(next, stage)) return;
  move(next, "group " + std::to_string(stage) + " reads entry " + std::to_string(group.position + 1));
}

// Takes up the rounds that were contributed to and are in no entry yet.
bool RoundsMoves::take_up(State& next, int stage) const {
  const View view = view_at(next, next.groups[stage].position);
  for (int round = 1; round <= view.committed; ++round) {
    const bool is_open = next.groups[stage].rounds[round].phase != kClosed;
    if (!is_open && !is_in(view.recorded[stage], round) && !announce(next, stage, round)) return false;
  }
  return true;
}

// P-15. The counter is bounded to keep a search finite; a run to the end may go beyond that bound.
bool RoundsMoves::announce(State& next, int stage, int round) const {
  constexpr int kMore = 6;
  Group& group = next.groups[stage];
  if (group.counter >= model_.scope.counters + (is_calm() ? kMore : 0)) return false;
  group.rounds[round] = {kPreparing, ++group.counter, 0, group.position};
  return true;
}

// P-31a: all members, or a quorum of those that have tokens and whoever else has answered by then.
void RoundsMoves::group_reduces(int stage, int round) {
  const Group& group = now_.groups[stage];
  const int members = view_at(now_, group.position).members_of(stage), epoch = group.epoch_of(round);
  int answered = 0, with_tokens = 0;
  for (int i = 0; i < kPerStage; ++i) {
    const int tokens = is_in(members, i) ? tokens_in(now_, first_of(stage) + i, round, epoch) : -1;
    if (tokens >= 0) answered |= 1 << i;
    if (tokens > 0 || (tokens == 0 && !rules_.quorum_of_tokens)) with_tokens |= 1 << i;
  }
  for (int taken = 1; taken < 1 << kPerStage; ++taken) {
    const bool is_quorum =
        model_.scope.quorum > 0 && std::popcount(static_cast<unsigned>(taken & with_tokens)) >= model_.scope.quorum;
    if ((taken & ~answered) != 0 || (taken != members && !is_quorum)) continue;
    if (pace_ == Pace::kSensible && taken != answered) continue;
    State next = now_;
    next.groups[stage].rounds[round].phase = kReducing;
    next.groups[stage].rounds[round].members = byte(taken);
    judge_shares(stage, round, taken);
    move(next, named(stage, round) + "reduces with " + std::to_string(taken));
  }
}

// P-33: with H = 1 a share is of one step, which the stage's commit counted for that member.
void RoundsMoves::judge_shares(int stage, int round, int members) {
  const Group& group = now_.groups[stage];
  const int all = view_at(now_, group.position).members_of(stage);
  int with_tokens = 0;
  for (int i = 0; i < kPerStage; ++i) {
    if (!is_in(members, i)) continue;
    const int tokens = tokens_in(now_, first_of(stage) + i, round, group.epoch_of(round));
    const bool was_counted = is_in(trained_in(now_, stage, round - 1), i);
    if (tokens != 0 && (tokens != 1 << (round - 1) || !was_counted)) break_property(kForeignTokens);
    with_tokens += int{tokens != 0};
  }
  if (members != all && with_tokens < model_.scope.quorum) break_property(kNoQuorum);
}

// P-19
void RoundsMoves::group_votes(int stage, int round) {
  const Group& group = now_.groups[stage];
  const int members = group.rounds[round].members, epoch = group.epoch_of(round);
  for (int i = 0; i < kPerStage && rules_.round_vote_reduced; ++i) {
    const Message reduced{Kind::kReduced, byte(first_of(stage) + i), 0, byte(round), byte(epoch), 0, 0, 0};
    if (is_in(members, i) && !now_.has(reduced)) return;
  }
  State next = now_;
  next.groups[stage].rounds[round].phase = kVoted;
  move(next, named(stage, round) + "votes for epoch " + std::to_string(epoch));
}

// P-19a
void RoundsMoves::group_gives_up(int stage, int round) {
  const bool may = is_calm() ? pace_ == Pace::kAnyCalm : now_.budget[kAbort] > 0;
  State next = now_;
  if (!may || !announce(next, stage, round)) return;
  if (!is_calm()) --next.budget[kAbort];
  move(next, named(stage, round) + "gives its sum up");
}

// P-21
void RoundsMoves::appoint(State& next, int stage) const {
  ++next.next_group;
  next.append({EntryKind::kAppoint, byte(stage), next.next_group, 0, 0});
  next.groups[stage] = Group{};
  next.groups[stage].is_on = 1;
  next.groups[stage].number = next.next_group;
  next.groups[stage].position = next.log_size;
  if (rules_.rounds_from_journal) (void)take_up(next, stage);
}

}  // namespace shoal::protocol::rounds
