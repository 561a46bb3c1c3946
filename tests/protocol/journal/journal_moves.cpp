// Groups, checkpoints and faults; what replicas and the spawner do stands in files of their own.
#include "tests/protocol/journal/journal_moves.h"

#include <algorithm>
#include <utility>

namespace shoal::protocol::journal {

void JournalMoves::all() {
  for (int p = 0; p < kProcesses; ++p) replica(p);
  for (int stage = 0; stage < kStages; ++stage) group(stage);
  save();
  spawner();
  if (!is_calm()) faults();
}

void JournalMoves::move(State& next, const std::string& story) {
  settle(next);
  sink_.take(next, broken_, story);
  broken_ = nullptr;
}

void JournalMoves::group(int stage) {
  if (now_.groups[stage].is_on == 0) return;
  group_reads(stage);
  group_orders(stage);
  group_votes(stage);
}

void JournalMoves::group_reads(int stage) {
  const Group& group = now_.groups[stage];
  if (group.position >= now_.log_size) return;
  const Entry& entry = now_.log[group.position];
  State next = now_;
  Group& after = next.groups[stage];
  ++after.position;
  const bool is_void = entry.kind == EntryKind::kCommit || entry.changes(stage);  // P-20
  if (is_void) after.phase = kIdle;
  const bool is_replaced = entry.kind == EntryKind::kAppoint && entry.stage == stage && entry.number != group.number;
  if (is_replaced || entry.branch > view_at(now_, group.position).branch) after = Group{};  // P-3c
  move(next, "group " + std::to_string(stage) + " reads entry " + std::to_string(group.position + 1));
}

// P-15, P-21. An order is Prepare and Reduce in one.
void JournalMoves::group_orders(int stage) {
  constexpr int kMore = 3;
  const Group& group = now_.groups[stage];
  const View view = view_at(now_, group.position);
  const int most = model_.scope.counters + (is_calm() ? kMore : 0);
  if (view.committed >= model_.scope.steps || !view.has_members(stage)) return;
  State next = now_;
  Group& after = next.groups[stage];
  if (group.phase == kIdle) {
    if (group.counter >= most) return;
    ++after.counter;
    after.phase = kOrdered;
    after.began_at = group.position;
  } else if (group.phase == kVoted) {
    return;
  }
  next.add({Kind::kOrder, byte(stage), byte(view.branch), byte(view.committed), byte(after.epoch()), 0, 0, 0});
  if (next == now_) return;
  move(next, "group " + std::to_string(stage) + " orders step " + std::to_string(view.committed));
}

// P-19: every member of its view has answered.
void JournalMoves::group_votes(int stage) {
  const Group& group = now_.groups[stage];
  const View view = view_at(now_, group.position);
  if (group.phase == kIdle) return;
  for (int p = 0; p < kProcesses; ++p) {
    if (stage_of(p) != stage || view.members[p] == 0) continue;
    const Message reduced{Kind::kReduced,
                          byte(stage),
                          byte(view.branch),
                          byte(view.committed),
                          byte(group.epoch()),
                          byte(view.members[p]),
                          0,
                          0};
    const auto end = now_.messages.begin() + now_.message_count;
    if (group.phase == kOrdered && !std::binary_search(now_.messages.begin(), end, reduced)) return;
  }
  State next = now_;
  next.groups[stage].phase = kVoted;
  next.add({Kind::kVote, byte(stage), byte(view.branch), byte(view.committed), byte(group.epoch()), 0, group.began_at,
            now_.spawner.term});
  if (next == now_) return;
  move(next, "group " + std::to_string(stage) + " votes for step " + std::to_string(view.committed));
}

// P-29a: a state that every stage has had is given to storage, which may complete it much later.
void JournalMoves::save() {
  if (now_.written.version != 0) {
    State next = now_;
    const bool is_newer =
        std::pair(now_.written.branch, now_.written.version) >= std::pair(now_.saved.branch, now_.saved.version);
    if (is_newer) next.saved = now_.written;
    next.written = Saved{};
    move(next, "storage completes version " + std::to_string(now_.written.version));
    return;
  }
  const Replica& one = now_.replicas[2];
  if (one.number == 0 || one.version == 0 || one.weights == now_.saved.weights) return;
  for (int p = 0; p < 2; ++p) {
    const Replica& other = now_.replicas[p];
    if (other.number == 0 || other.version != one.version || other.weights != one.weights) continue;
    State next = now_;
    next.written = {one.version, one.weights, one.branch};
    return move(next, "version " + std::to_string(one.version) + " is given to storage");
  }
}

void JournalMoves::faults() {
  for (int p = 0; p < kProcesses && now_.budget[kCrash] > 0; ++p) {
    if (now_.replicas[p].number == 0) continue;
    State next = now_;
    --next.budget[kCrash];
    next.replicas[p] = Replica{};
    move(next, "replica " + std::to_string(now_.replicas[p].number) + " ends");
  }
  if (now_.budget[kSpawner] > 0 && now_.spawner.phase != kDown) {
    State next = now_;
    --next.budget[kSpawner];
    next.spawner.phase = kDown;
    next.leaver = next.left_from = 0;
    next.groups.fill(Group{});
    move(next, "the spawner ends");
  }
  for (int p = 0; p < kProcesses && now_.budget[kLeave] > 0; ++p) {
    const bool is_last = p == 2 || model_.scope.replicas == 1;
    if (now_.spawner.phase != kTraining || !lives(p) || !is_last || now_.leaver != 0) continue;
    State next = now_;
    --next.budget[kLeave];
    next.leaver = byte(p + 1);
    next.left_from = byte(view_.committed);
    move(next, "replica " + std::to_string(now_.replicas[p].number) + " is told to leave");
  }
  if (now_.budget[kSnapshot] > 0 && now_.log_size > now_.floor + kKept) {
    State next = now_;
    --next.budget[kSnapshot];
    next.floor = byte(now_.log_size - kKept);
    move(next, "entries up to " + std::to_string(next.floor) + " become a snapshot");
  }
}

}  // namespace shoal::protocol::journal
