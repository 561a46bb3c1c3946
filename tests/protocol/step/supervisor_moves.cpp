// The supervisor's moves (protocol §5, §6): the journal is its alone. It commits, removes and adds.
#include "tests/protocol/step/moves.h"

namespace shoal::protocol {
namespace {

constexpr const char* kTakenAlong = "P-28a: a leaver takes a microbatch with it";
constexpr const char* kOutsideTheView = "S-4: a commit counts contributions of a replica outside the view";

}  // namespace

// P-22. The last two entries of the journal that a search allows are left to commits.
void Moves::supervisor() {
  if (now_.log_size < kLogMax && now_.commits() < model_.scope.steps && !now_.has_unwritten) {
    std::array<Message, kStages> votes{};
    gather_votes(votes, 0);
  }
  if (now_.has_unwritten) write_what_was_sent();
  change_members();
  if (!rules_.leaves_at_commit) leave(now_);
  if (!is_calm() && now_.budget[kQuarantine] > 0) quarantine();
  if (pace_ != Pace::kSensible) joiners();
}

// One vote of each stage, in every combination.
void Moves::gather_votes(std::array<Message, kStages>& votes, int stage) {
  if (stage == model_.scope.stages()) return commit(votes);
  for (int i = 0; i < now_.message_count; ++i) {
    if (!counts(now_.message(i), stage)) continue;
    votes[stage] = now_.message(i);
    gather_votes(votes, stage + 1);
  }
}

bool Moves::counts(Message message, int stage) const {
  if (message.kind() != Kind::kVote || message.stage() != stage || message.step() != now_.commits()) return false;
  const int incarnation = message.epoch() >> kCounterBits;
  if (rules_.vote_inst && incarnation != now_.incarnations[stage]) return false;
  return !rules_.vote_view || !model_.is_overtaken(now_, message);
}

void Moves::commit(const std::array<Message, kStages>& votes) {
  State next = now_;
  std::array<int, kStages> epochs{};
  int counted = 0;
  for (int stage = 0; stage < model_.scope.stages(); ++stage) {
    epochs[stage] = votes[stage].epoch();
    counted |= votes[stage].voting_members() << first_of(stage);
  }
  const Entry entry = Entry::commit(epochs);
  if (rules_.journal_first) {
    next.append(entry);
  } else {
    next.has_unwritten = 1;
    next.unwritten = entry;
  }
  const State committed = next;
  if ((counted & ~now_.members()) != 0) break_property(kOutsideTheView);
  move(next, [&] {
    return "the supervisor " +
           std::string(rules_.journal_first ? "commits" : "sends, before it writes, the commit of") + " step " +
           std::to_string(votes[0].step()) + " with " + told_epoch(epochs[0]) + " and " + told_epoch(epochs[1]);
  });
  if (rules_.journal_first && rules_.leaves_at_commit) leave(committed);
}

// P-28a: in the turn of the commit, while another one serves the stage.
void Moves::leave(const State& committed) {
  if (is_calm() || committed.budget[kLeave] == 0 || committed.log_size >= kLogMax - 2) return;
  const int members = committed.members();
  for (int r = 0; r < kReplicas; ++r) {
    const Replica& leaver = committed.replicas[r];
    bool has_other = false;
    for (int other = first_of(stage_of(r)); other < first_of(stage_of(r) + 1); ++other) {
      has_other |= other != r && is_in(members, other) && committed.replicas[other].is_alive;
    }
    if (!is_in(members, r) || !leaver.is_alive || !has_other) continue;
    const bool holds_work = leaver.ledger[0] != kNone || leaver.ledger[1] != kNone;
    if (leaver.version == committed.commits() && holds_work) break_property(kTakenAlong);
    State next = committed;
    --next.budget[kLeave];
    next.append(Entry::remove(r));
    move(next, [&] { return std::string(name_of(r)) + " leaves behind the commit"; });
  }
}

// Without journal_first.
void Moves::write_what_was_sent() {
  State next = now_;
  next.append(now_.unwritten);
  next.has_unwritten = 0;
  next.unwritten = Entry{};
  for (Replica& replica : next.replicas) {
    const bool has_applied = replica.is_alive && replica.position + 1 == next.log_size &&
                             replica.version != kNoVersion && replica.version == next.commits();
    if (has_applied) ++replica.position;
  }
  move(next, [] { return std::string("the supervisor writes the commit that it has sent"); });
}

// P-20a: a step keeps at least one microbatch. Which one ends replicas is not the model's matter: any may.
void Moves::quarantine() {
  const int plan = model_.plan_at(now_, now_.log_size);
  if (now_.log_size >= kLogMax - 2 || now_.commits() >= model_.scope.steps) return;
  for (int b = 0; b < model_.scope.microbatches; ++b) {
    if (!is_in(plan, b) || plan == 1 << b) continue;
    State next = now_;
    --next.budget[kQuarantine];
    next.append(Entry::quarantine(b));
    move(next, [&] { return "the supervisor takes microbatch " + std::to_string(b) + " out of its step"; });
  }
}

// P-28b, P-29: nobody is removed whose stage has no other living member.
void Moves::change_members() {
  if (now_.log_size >= kLogMax - 2) return;
  const int members = now_.members();
  for (int r = 0; r < kReplicas; ++r) {
    bool has_other = false;
    for (int other = first_of(stage_of(r)); other < first_of(stage_of(r) + 1); ++other) {
      has_other |= other != r && is_in(members, other) && now_.replicas[other].is_alive;
    }
    const bool is_dead = !now_.replicas[r].is_alive;
    const bool may_be_suspected = !is_calm() && now_.budget[kSuspect] > 0;
    if (!is_in(members, r) || !has_other || (!is_dead && !may_be_suspected)) continue;
    State next = now_;
    if (!is_dead) --next.budget[kSuspect];
    next.append(Entry::remove(r));
    move(next, [&] {
      return std::string("the supervisor removes ") + name_of(r) + (is_dead ? ", which is dead" : " by mistake");
    });
  }
}

// P-26, P-27.
void Moves::joiners() {
  const int members = now_.members();
  for (int j = 0; j < kReplicas; ++j) {
    const Replica& joiner = now_.replicas[j];
    if (!is_joiner(j) || !joiner.is_alive || is_in(members, j) || now_.was_added(j) || is_in(now_.first_members, j))
      continue;
    for (int donor = first_of(stage_of(j)); donor < j; ++donor) {
      const int version = now_.replicas[donor].version;
      const bool gives =
          now_.replicas[donor].is_alive && version != kNoVersion && (!rules_.donor_in_view || is_in(members, donor));
      if (!gives || (joiner.version != kNoVersion && joiner.version >= version)) continue;
      State next = now_;
      next.replicas[j].version = byte(version);
      move(next, [&] {
        return std::string(name_of(j)) + " copies version " + std::to_string(version) + " from " + name_of(donor);
      });
    }
    const bool is_current = joiner.version == now_.commits();
    if (joiner.version == kNoVersion || (rules_.admit_version && !is_current) || now_.log_size >= kLogMax - 2) continue;
    State next = now_;
    next.append(Entry::add(j));
    next.replicas[j].position = next.log_size;
    move(next, [&] {
      return std::string("the supervisor adds ") + name_of(j) + " with version " + std::to_string(joiner.version);
    });
  }
}

}  // namespace shoal::protocol
