// One sync group of an observed run: what it says, in order, against what it can have heard (PROTOCOL.md §4).
//
// A trace shows every letter of a group, and every answer that the router of its process took for it. It does not show
// how far the group has read the journal; what it says must fit some position between the last one that is certain and
// the end of the journal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "tests/protocol/observed/group_rounds.h"
#include "tests/protocol/observed/letter.h"
#include "tests/protocol/observed/replica_state.h"
#include "tests/protocol/observed/standing.h"

namespace shoal::observed {

// Answers to the orders of a stage, as the spawner's router took them.
class Answers {
 public:
  void take(const Letter& letter) {
    heard_.insert(key_of(letter.kind, letter.cause, letter.subject, letter.round.value_or(RoundId{})));
  }
  [[nodiscard]] bool has(Kind kind, const Cause& order, Incarnation member, const RoundId& round = {}) const {
    return heard_.contains(key_of(kind, order, member, round));
  }

 private:
  using Key = std::tuple<Kind, Term, Branch, StepId, std::uint32_t, std::uint32_t, Incarnation, RoundId>;
  static Key key_of(Kind kind, const Cause& cause, Incarnation member, const RoundId& round) {
    return {kind, cause.term, cause.branch, cause.step, cause.hop, cause.attempt, member, round};
  }
  std::set<Key> heard_;
};

// Facts that a group is judged by besides its own state.
struct Hearing {
  const Standings* journal = nullptr;
  JournalPosition end;  // of the journal, as far as it is written
  const Answers* answers = nullptr;
  // Manifests of its epoch, of those members that can have named only one set.
  std::map<Incarnation, Microbatches> manifests;
  std::set<Incarnation> contributors;  // who took part in the sum of its epoch
  Microbatches plan;
};

class Group {
 public:
  Group(Incarnation self, StageId stage) : self_(self), stage_(stage) {}

  // A letter that it sends: to a member, to who is upstream (Missing), or its vote.
  [[nodiscard]] std::optional<Objection> say(const Letter& letter, const Hearing& hearing);

  [[nodiscard]] Incarnation self() const { return self_; }
  [[nodiscard]] StageId stage() const { return stage_; }
  [[nodiscard]] const GroupRounds& rounds() const { return rounds_; }
  [[nodiscard]] OrderName order() const;
  // The members that it has said the order in force to.
  [[nodiscard]] const std::set<Incarnation>& receivers() const { return receivers_; }
  // The position that its vote of an epoch names.
  [[nodiscard]] std::optional<JournalPosition> vote_of(StepId step, std::uint32_t counter) const;

 private:
  [[nodiscard]] std::optional<Objection> begin_epoch(const Letter& letter, const Hearing& hearing);
  [[nodiscard]] std::optional<Objection> judge_appointment(const Hearing& hearing);
  [[nodiscard]] std::optional<Objection> judge_step(const Letter& letter, const Hearing& hearing);
  [[nodiscard]] std::optional<Objection> zero(const Hearing& hearing) const;
  [[nodiscard]] std::optional<Objection> reduce(const Letter& letter, const Hearing& hearing);
  [[nodiscard]] std::optional<Objection> vote(const Letter& letter, const Hearing& hearing);
  [[nodiscard]] bool has_all(Kind kind, const Cause& order, const Hearing& hearing) const;

  const Incarnation self_;
  const StageId stage_;
  bool was_appointed_ = false;
  Microbatches plan_;  // of the step, when its order in force began
  std::uint32_t counter_ = 0;
  Kind kind_ = Kind::kOther;  // of the order in force
  StepId step_;
  std::uint32_t last_zero_ = 0;  // of the step
  bool is_reducing_ = false;
  std::set<Incarnation> receivers_;
  GroupRounds rounds_;
  Cause prepared_;  // of the Prepare in force or before it
  std::map<std::pair<StepId, std::uint32_t>, JournalPosition> votes_;
};

}  // namespace shoal::observed
