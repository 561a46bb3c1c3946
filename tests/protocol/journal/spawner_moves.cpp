// The spawner: it starts, takes back what comes back, starts over from a checkpoint, trains (P-1, P-4, P-22, P-29,
// P-30). Each entry is a move of its own, so that the spawner can end between any two of them.
#include <algorithm>

#include "tests/protocol/journal/journal_moves.h"

namespace shoal::protocol::journal {
namespace {

constexpr const char* kTwoCommits = "S-2: a step of a branch is committed twice";
constexpr const char* kSumNotHeld = "S-4: a commit counts a sum that a living member does not hold";
constexpr const char* kUnsaved = "P-28a: a step is lost because the last of a stage left";
constexpr const char* kOtherState = "P-1: a branch goes on from another state than that after its newest commit";

}  // namespace

void JournalMoves::spawner() {
  if (now_.log_size >= kLogMax - 1) return;
  switch (now_.spawner.phase) {
    case kDown: return start();
    case kReturning: return come_back();
    case kGathering: return gather();
    default: return train();
  }
}

bool JournalMoves::is_served(int stage) const {
  for (int p = 0; p < kProcesses; ++p) {
    if (stage_of(p) == stage && lives(p)) return true;
  }
  return false;
}

// A copy of the journal may lack its newest entry.
void JournalMoves::start() {
  for (int lost = 0; lost <= 1; ++lost) {
    const bool may = lost == 0 || (!is_calm() && now_.budget[kTruncate] > 0 && now_.log_size > now_.floor + 1);
    if (!may) continue;
    State next = now_;
    ++next.spawner.term;
    if (lost != 0) {
      --next.budget[kTruncate];
      next.log[--next.log_size] = Entry{};
    }
    const View view = view_at(next, next.log_size);
    next.spawner.branch = byte(view.branch);
    next.spawner.phase = kReturning;
    if (!view.has_members(0) || !view.has_members(1)) start_over(next, false);
    move(next,
         "the spawner starts term " + std::to_string(next.spawner.term) + (lost != 0 ? " without its last entry" : ""));
  }
}

// P-30, P-3b: who is ahead of the journal, has read another one, or is in none is ended.
void JournalMoves::come_back() {
  State next = now_;
  bool has_anybody = false;
  std::array<bool, kStages> served{};
  for (int p = 0; p < kProcesses; ++p) {
    Replica& replica = next.replicas[p];
    if (replica.number == 0) continue;
    const bool is_member = view_.members[p] == replica.number;
    const bool is_ahead = rules_.ahead_ends && is_member && replica.version > view_.committed;
    const bool has_read_another = replica.position > now_.log_size ||
                                  (replica.position > 0 && now_.log[replica.position - 1].term != replica.read_term);
    if (!is_member || is_ahead || (rules_.compares_terms && has_read_another)) {
      replica = Replica{};
      continue;
    }
    has_anybody = true;
    served[stage_of(p)] = true;
  }
  next.spawner.phase = kTraining;
  if (!served[0] || !served[1]) start_over(next, has_anybody);
  move(next, "the return ends");
}

// The branch: an unfinished one keeps its number; any other state than that after the newest commit is a new one.
void JournalMoves::start_over(State& next, bool is_thrown_back) const {
  const View view = view_at(next, next.log_size);
  Saved from = next.saved;
  if (is_thrown_back && from.version > view.committed) from = Saved{};
  const bool is_same = from.version == view.committed && (!rules_.lineage || from.branch == view.branch);
  const bool is_other_history = is_thrown_back || !is_same;
  int branch = view.highest > view.branch ? view.highest : view.branch + int{is_other_history && rules_.new_branch};
  branch = std::max<int>(branch, from.branch);
  next.spawner = {kGathering, next.spawner.term, byte(branch), from.version, from.weights};
  next.groups.fill(Group{});
  for (int p = 0; p < kProcesses; ++p) {
    if (next.replicas[p].number != view.members[p]) next.replicas[p] = Replica{};
  }
}

void JournalMoves::append(State& next, Entry entry) const {
  entry.term = now_.spawner.term;
  entry.branch = now_.spawner.branch;
  next.append(entry);
}

// P-29: all members are removed, then new ones start, are added when all are ready, and groups are appointed.
void JournalMoves::gather() {
  const Spawner& spawner = now_.spawner;
  const auto is_new = [&](int p) {
    const Replica& replica = now_.replicas[p];
    return replica.number != 0 && replica.branch == spawner.branch && replica.term == spawner.term;
  };
  int waiting = 0, to_add = -1;
  for (int p = 0; p < kProcesses; ++p) {
    if (!is_used(p)) continue;
    const bool is_old = view_.members[p] != 0 && !(is_new(p) && view_.members[p] == now_.replicas[p].number);
    State next = now_;
    if (is_old) {
      append(next, {EntryKind::kRemove, byte(view_.members[p]), byte(p), byte(stage_of(p)), 0, 0, 0, 0, 0, {}});
      return move(next, "the spawner removes replica " + std::to_string(view_.members[p]));
    }
    if (view_.members[p] == 0 && !is_new(p)) ++waiting;
    if (view_.members[p] == 0 && is_new(p) && to_add < 0) to_add = p;
  }
  for (int p = 0; p < kProcesses; ++p) {
    if (!is_used(p) || view_.members[p] != 0 || is_new(p)) continue;
    State next = now_;
    ++next.next_number;
    next.replicas[p] = {next.next_number,
                        spawner.term,
                        spawner.branch,
                        spawner.version,
                        spawner.weights,
                        now_.log_size,
                        now_.log[now_.log_size - 1].term,
                        0,
                        0,
                        0};
    move(next,
         "replica " + std::to_string(next.next_number) + " starts from version " + std::to_string(spawner.version));
  }
  if (waiting > 0) return;
  State next = now_;
  if (to_add < 0) {
    next.spawner.phase = kTraining;
    return move(next, "all are added");
  }
  const Replica& added = now_.replicas[to_add];
  const bool goes_on = spawner.branch == view_.branch && spawner.version == view_.committed;
  if (goes_on && added.weights != view_.weights) break_property(kOtherState);
  append(
      next,
      {EntryKind::kAdd, added.number, byte(to_add), byte(stage_of(to_add)), 0, 0, added.version, added.weights, 0, {}});
  move(next, "the spawner adds replica " + std::to_string(added.number));
}

// P-28a: when its state is saved, as of the newest commit; then the run goes back to that (P-29).
void JournalMoves::leave() {
  if (now_.leaver == 0) return;
  const int p = now_.leaver - 1;
  const bool is_saved = now_.saved.weights == view_.weights && now_.saved.version == view_.committed;
  State next = now_;
  next.leaver = next.left_from = 0;
  if (!lives(p)) return move(next, "the leaver has ended");
  if (!is_saved && rules_.leaves_saved) return;
  if (!is_saved) break_property(kUnsaved);
  next.replicas[p] = Replica{};
  move(next, "replica " + std::to_string(now_.replicas[p].number) + " leaves");
}

void JournalMoves::train() {
  leave();
  for (int stage = 0; stage < kStages; ++stage) {
    if (!is_served(stage)) {
      State next = now_;
      start_over(next, true);
      return move(next, "stage " + std::to_string(stage) + " has nobody left: all go back to version " +
                            std::to_string(next.spawner.version));
    }
  }
  for (int p = 0; p < kProcesses; ++p) {
    if (view_.members[p] == 0 || lives(p)) continue;
    State next = now_;
    append(next, {EntryKind::kRemove, byte(view_.members[p]), byte(p), byte(stage_of(p)), 0, 0, 0, 0, 0, {}});
    move(next, "the spawner removes replica " + std::to_string(view_.members[p]));
  }
  for (int stage = 0; stage < kStages; ++stage) {
    if (now_.groups[stage].is_on != 0) continue;
    State next = now_;
    ++next.next_number;
    append(next, {EntryKind::kAppoint, next.next_number, 0, byte(stage), 0, 0, 0, 0, 0, {}});
    next.groups[stage] = {1, next.next_number, 0, kIdle, next.log_size, 0};
    move(next, "the spawner appoints group " + std::to_string(next.next_number));
  }
  commit();
}

// P-22
bool JournalMoves::counts(const Message& vote, int stage) const {
  if (vote.kind != Kind::kVote || vote.stage != stage || vote.step != view_.committed) return false;
  if (!rules_.vote_fence) return true;
  return vote.epoch >> kCounterBits == view_.groups[stage] && vote.term == now_.spawner.term &&
         vote.branch == view_.branch && vote.position >= view_.changed[stage];
}

void JournalMoves::commit() {
  if (view_.committed >= model_.scope.steps) return;
  if (now_.leaver != 0 && view_.committed > now_.left_from && rules_.leaver_gate) return;
  for (int i = 0; i < now_.message_count; ++i) {
    for (int j = 0; j < now_.message_count; ++j) {
      if (!counts(now_.messages[i], 0) || !counts(now_.messages[j], 1)) continue;
      State next = now_;
      const std::array<Byte, kStages> epochs = {now_.messages[i].epoch, now_.messages[j].epoch};
      for (int p = 0; p < kProcesses; ++p) {
        const Replica& replica = now_.replicas[p];
        const bool holds = replica.has_sum != 0 && replica.epoch == epochs[stage_of(p)];
        if (lives(p) && !holds) break_property(kSumNotHeld);
      }
      for (int k = 0; k < now_.log_size; ++k) {
        const Entry& other = now_.log[k];
        const bool is_same = other.kind == EntryKind::kCommit && other.branch == now_.spawner.branch;
        if (is_same && other.step == view_.committed) break_property(kTwoCommits);
      }
      ++next.commits_made;
      append(next, {EntryKind::kCommit, 0, 0, 0, 0, 0, byte(view_.committed), next.commits_made, byte(view_.weights),
                    epochs});
      move(next, "the spawner commits step " + std::to_string(view_.committed));
    }
  }
}

}  // namespace shoal::protocol::journal
