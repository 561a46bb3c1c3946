// P-15, P-19, P-20, P-31, P-31a of a group's rounds.
#include "tests/protocol/observed/group_rounds.h"

#include "runtime/base/compose.h"
#include "tests/protocol/observed/group.h"

namespace shoal::observed {

const RoundVote* GroupRounds::vote_of(const RoundId& round) const {
  const auto found = votes_.find(round);
  return found == votes_.end() ? nullptr : &found->second;
}

std::optional<Objection> GroupRounds::say(const Letter& letter, StageId stage, const Hearing& hearing) {
  switch (letter.kind) {
    case Kind::kPrepare: return prepare(letter, stage, hearing);
    case Kind::kReduce: return reduce(letter, hearing);
    case Kind::kPrepared: return vote(letter, stage, hearing);
    default: return Objection{"P-31", compose("says ", text_of(letter), ", which no round has")};
  }
}

// Epochs of rounds have a counter of their own, one for all of them.
std::optional<Objection> GroupRounds::prepare(const Letter& letter, StageId stage, const Hearing& hearing) {
  const Cause& cause = letter.cause;
  Round& round = rounds_[*letter.round];
  if (cause.attempt != round.counter) {
    if (cause.attempt <= counter_) {
      return Objection{"P-15", compose("begins an order with counter ", cause.attempt, " behind ", counter_)};
    }
    if (cause.step.value > hearing.journal->at(hearing.end).committed) {
      return Objection{"P-31", compose("asks for contributions after ", cause.step, " steps, which are not committed")};
    }
    const RoundVote* const voted = vote_of(*letter.round);
    const auto& changed = hearing.journal->at(hearing.end).changed;
    const auto last = changed.find(stage);
    if (voted != nullptr && (last == changed.end() || last->second <= voted->position)) {
      return Objection{"P-19", "begins another order for a round that it has voted for"};
    }
    counter_ = cause.attempt;
    round = {counter_, cause, {}, {}};
    votes_.erase(*letter.round);
  }
  round.asked.insert(letter.subject);
  return std::nullopt;
}

// P-31a: the mean is of those whose manifests are in.
std::optional<Objection> GroupRounds::reduce(const Letter& letter, const Hearing& hearing) {
  Round& round = rounds_[*letter.round];
  if (round.counter == 0 || letter.cause.attempt != round.counter) {
    return Objection{"P-15", "has a mean made of another order than its Prepare"};
  }
  if (!round.asked.contains(letter.subject)) return Objection{"P-18", "has a mean made by somebody it did not ask"};
  if (!hearing.answers->has(Kind::kManifest, round.prepared, letter.subject, *letter.round)) {
    return Objection{"P-31a", "has a mean made by a member whose manifest is not in"};
  }
  round.reduced.insert(letter.subject);
  return std::nullopt;
}

std::optional<Objection> GroupRounds::vote(const Letter& letter, StageId stage, const Hearing& hearing) {
  const Round& round = rounds_[*letter.round];
  if (round.reduced.empty() || letter.cause.attempt != round.counter) {
    return Objection{"P-19", "votes for a round without a mean"};
  }
  for (const Incarnation member : round.reduced) {
    if (!hearing.answers->has(Kind::kReduced, round.prepared, member, *letter.round)) {
      return Objection{"P-19", compose("votes for a round before replica ", member, " holds its mean")};
    }
  }
  const JournalPosition position = letter.cause.position;
  if (position > hearing.end) return Objection{"P-19", "names a position that is not written"};
  if (hearing.journal->at(position).members_of(stage) != round.asked) {
    return Objection{"P-19", "names a position with other members than it asked"};
  }
  votes_[*letter.round] = {letter.cause.step, position, round.reduced};
  return std::nullopt;
}

}  // namespace shoal::observed
