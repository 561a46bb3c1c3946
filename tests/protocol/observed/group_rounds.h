// The rounds of one observed sync group (PROTOCOL.md §8): what it says about each, in order, against what it can have
// heard. A trace has no shares of an entry: they are the members of the vote that it follows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "tests/protocol/observed/letter.h"
#include "tests/protocol/observed/standing.h"

namespace shoal::observed {

struct Hearing;

struct RoundVote {
  StepId step;  // steps applied at its contributions
  JournalPosition position;
  std::set<Incarnation> members;
};

class GroupRounds {
 public:
  // A letter that it sends about a round: to a member, or its vote.
  [[nodiscard]] std::optional<Objection> say(const Letter& letter, StageId stage, const Hearing& hearing);
  [[nodiscard]] const RoundVote* vote_of(const RoundId& round) const;

 private:
  struct Round {
    std::uint32_t counter = 0;
    Cause prepared;
    std::set<Incarnation> asked, reduced;  // members that it said Prepare and Reduce to
  };
  [[nodiscard]] std::optional<Objection> prepare(const Letter& letter, StageId stage, const Hearing& hearing);
  [[nodiscard]] std::optional<Objection> reduce(const Letter& letter, const Hearing& hearing);
  [[nodiscard]] std::optional<Objection> vote(const Letter& letter, StageId stage, const Hearing& hearing);

  std::uint32_t counter_ = 0;  // of the newest epoch, for any round
  std::map<RoundId, Round> rounds_;
  std::map<RoundId, RoundVote> votes_;  // of the newest epoch of each
};

}  // namespace shoal::observed
