// The supervisor of a run of rounds (P-22, P-22a, P-28a, P-32, P-36): each entry is a move of its own, so that the
// spawner can end between any two of them.
#include "tests/protocol/rounds/rounds_moves.h"

namespace shoal::protocol::rounds {
namespace {

constexpr const char* kTwice = "S-2: a stage's round is committed twice";
constexpr const char* kOutsideTheView = "S-4: a round counts the share of a replica outside the view";
constexpr const char* kPlace = "P-32: a round is not between the commit after which it is due and the next one";
constexpr const char* kNotHeldByAMember = "P-24: a round counts a living member that does not hold its mean";

}  // namespace

void RoundsMoves::all() {
  for (int r = 0; r < kReplicas; ++r) member(r);
  for (int stage = 0; stage < model_.scope.stages; ++stage) group(stage);
  supervisor();
  State next = now_;
  settle(next, true);
  if (!(next == now_)) move(next, "what is in force is said again");
  if (!is_calm()) faults();
}

void RoundsMoves::supervisor() {
  if (now_.log_size >= kLogMax - 1) return;
  commit_rounds();
  commit();
  change_members();
  leave();
  joiners();
  for (int stage = 0; stage < model_.scope.stages; ++stage) {
    if (now_.groups[stage].is_on != 0) continue;
    State next = now_;
    appoint(next, stage);
    move(next, "the supervisor appoints group " + std::to_string(next.next_group));
  }
}

// The vote of a stage for its step is a flag of each member here.
void RoundsMoves::commit() {
  if (view_.committed >= model_.scope.steps) return;
  for (int r = 0; r < kReplicas; ++r) {
    const Replica& replica = now_.replicas[r];
    const bool has_voted = replica.has_trained != 0 && replica.version == view_.committed;
    if (is_in(view_.members, r) && !has_voted) return;
  }
  for (int stage = 0; stage < model_.scope.stages; ++stage) {
    for (int round = 1; round <= view_.committed; ++round) {
      const bool is_open = model_.is_due(round, view_.committed) && !is_in(view_.recorded[stage], round);
      if (is_open && rules_.gate_rounds) return;
      if (is_open) break_property(kPlace);
    }
  }
  State next = now_;
  next.append({EntryKind::kCommit, 0, byte(view_.committed), 0, 0});
  move(next, "the supervisor commits step " + std::to_string(view_.committed));
}

// P-22: of the group appointed last, and nothing behind its position changed the stage. A fragment's rounds come in
// order.
bool RoundsMoves::counts(const Message& vote) const {
  const int stage = vote.from;
  const bool is_recorded = is_in(view_.recorded[stage], vote.round);
  const bool is_next = vote.round == 1 || is_in(view_.recorded[stage], vote.round - 1);
  if (vote.kind != Kind::kVote || (is_recorded && rules_.round_once) || !is_next) return false;
  if (rules_.round_vote_inst && vote.epoch >> kCounterBits != view_.groups[stage]) return false;
  if (rules_.round_position && vote.position < view_.changed[stage]) return false;
  return model_.is_due(vote.round, view_.committed) || !rules_.round_place;
}

void RoundsMoves::commit_rounds() {
  for (int k = 0; k < now_.message_count; ++k) {
    const Message& vote = now_.messages[k];
    if (!counts(vote)) continue;
    judge_round(vote);
    State next = now_;
    next.append({EntryKind::kRound, vote.from, vote.round, vote.epoch, vote.members});
    move(next, "the supervisor commits round " + std::to_string(vote.round) + " of stage " + std::to_string(vote.from) +
                   ", the mean of " + std::to_string(vote.members));
  }
}

void RoundsMoves::judge_round(const Message& vote) {
  const int stage = vote.from;
  if (is_in(view_.recorded[stage], vote.round)) break_property(kTwice);
  if ((vote.members & ~view_.members_of(stage)) != 0) break_property(kOutsideTheView);
  if (!model_.is_due(vote.round, view_.committed)) break_property(kPlace);
  for (int i = 0; i < kPerStage; ++i) {
    const Replica& replica = now_.replicas[first_of(stage) + i];
    const Part& part = replica.rounds[vote.round];
    const bool holds = part.phase == kSummed && part.epoch == vote.epoch && part.members == vote.members;
    if (is_in(vote.members, i) && replica.is_alive != 0 && !holds) break_property(kNotHeldByAMember);
  }
}

bool RoundsMoves::has_other(int r) const {
  for (int other = first_of(stage_of(r)); other < first_of(stage_of(r) + 1); ++other) {
    if (other != r && is_in(view_.members, other) && now_.replicas[other].is_alive != 0) return true;
  }
  return false;
}

// P-28b, P-29
void RoundsMoves::change_members() {
  for (int r = 0; r < kReplicas; ++r) {
    const bool is_dead = now_.replicas[r].is_alive == 0;
    const bool may_be_suspected = !is_calm() && now_.budget[kSuspect] > 0;
    if (!is_in(view_.members, r) || !has_other(r) || (!is_dead && !may_be_suspected)) continue;
    State next = now_;
    if (!is_dead) --next.budget[kSuspect];
    next.append({EntryKind::kRemove, byte(stage_of(r)), byte(r), 0, 0});
    move(next, "the supervisor removes " + std::to_string(r) + (is_dead ? ", which is dead" : " by mistake"));
  }
}

// P-28a: in the turn of a commit, when no round is an entry yet that somebody missed.
bool RoundsMoves::may_leave_now() const {
  for (int i = now_.log_size; i-- > 0;) {
    const Entry& entry = now_.log[i];
    if (entry.kind == EntryKind::kCommit) return true;
    const bool has_all = entry.kind == EntryKind::kRound && entry.members == view_at(now_, i).members_of(entry.stage);
    if (!has_all && (entry.kind != EntryKind::kRound || rules_.leaver_first)) return false;
  }
  return false;
}

void RoundsMoves::leave() {
  if (is_calm() || now_.budget[kLeave] == 0 || !may_leave_now()) return;
  for (int r = 0; r < kReplicas; ++r) {
    if (!is_in(view_.members, r) || !has_other(r)) continue;
    State next = now_;
    --next.budget[kLeave];
    next.append({EntryKind::kRemove, byte(stage_of(r)), byte(r), 0, 0});
    move(next, std::to_string(r) + " leaves");
  }
}

// P-26, P-27, P-36: a state of a version holds the rounds that are due there.
void RoundsMoves::joiners() {
  for (int j = 0; j < kReplicas; ++j) {
    const Replica& joiner = now_.replicas[j];
    if (joiner.is_alive == 0 || joiner.is_member != 0 || is_in(view_.members, j)) continue;
    for (int donor = first_of(stage_of(j)); donor < first_of(stage_of(j) + 1); ++donor) {
      const Replica& from = now_.replicas[donor];
      const bool gives =
          from.is_alive != 0 && is_in(view_.members, donor) && (from.is_at_boundary == 0 || !rules_.copy_at_version);
      if (!gives || joiner.version == from.version + 1) continue;
      State next = now_;
      Replica& after = next.replicas[j];
      after.version = byte(from.version + 1);  // 0: it has copied nothing yet
      for (int round = 1; round <= kRoundsMax; ++round) {
        after.rounds[round].phase = from.rounds[round].phase == kOver ? kOver : kNone;
      }
      move(next,
           std::to_string(j) + " copies version " + std::to_string(from.version) + " from " + std::to_string(donor));
    }
    if (joiner.version != view_.committed + 1) continue;
    State next = now_;
    next.append({EntryKind::kAdd, byte(stage_of(j)), byte(j), 0, 0});
    next.replicas[j].version = byte(view_.committed);
    next.replicas[j].position = byte(now_.log_size);
    move(next, "the supervisor adds " + std::to_string(j));
  }
}

void RoundsMoves::faults() {
  for (int r = 0; r < kReplicas; ++r) {
    State next = now_;
    if (now_.replicas[r].is_alive != 0 && now_.budget[kCrash] > 0) {
      --next.budget[kCrash];
      next.replicas[r] = Replica{};
      move(next, "*** " + std::to_string(r) + " ends");
    }
    const bool is_free = r % kPerStage == kPerStage - 1 && stage_of(r) < model_.scope.stages &&
                         model_.scope.replicas < kPerStage && now_.replicas[r].is_alive == 0;
    if (!is_free || now_.budget[kJoin] == 0 || is_in(view_.members, r)) continue;
    State joined = now_;
    --joined.budget[kJoin];
    joined.replicas[r].is_alive = 1;
    joined.replicas[r].position = now_.log_size;
    move(joined, "*** " + std::to_string(r) + " is started");
  }
  if (now_.budget[kSpawner] > 0) {
    State next = now_;
    --next.budget[kSpawner];
    next.groups.fill(Group{});
    move(next, "*** the spawner ends: supervisor and groups start from the journal");
  }
  for (int stage = 0; stage < model_.scope.stages && now_.budget[kGroup] > 0; ++stage) {
    if (now_.groups[stage].is_on == 0) continue;
    State next = now_;
    --next.budget[kGroup];
    next.groups[stage] = Group{};
    move(next, "*** group " + std::to_string(stage) + " ends");
  }
}

}  // namespace shoal::protocol::rounds
