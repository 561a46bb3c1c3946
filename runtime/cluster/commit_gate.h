// May the next step be committed now, or what is waited for: one decision, whose reason `shoal status` shows (P-22a).
//
//   quorum   contributions follow it, and a stage has fewer replicas than sync.quorum: they can still join before it
//   votes    a stage has none that counts (P-22)
//   rounds   one is due before it and is no entry yet
//   joiner   somebody who joins is late by a step and is waited for: for a time that the JoiningReplicas bounds (P-27)
//   leaver   the last of a stage leaves, and the state that it leaves behind is being saved: until nothing more of it
//            has come for save_within, for what cannot be saved must not stop the others
//
// Asked again at every tick and after every message that may end one of these, so nobody has to wake anybody. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/sync.h"
#include "runtime/base/clock.h"

namespace shoal {

// A leaver that is the last of its stage, with nobody on the way to it.
struct LastOfStage {
  StageId stage;
  std::string name;
};

struct CommitQuestion {
  std::string lacking_for_quorum;  // "1 more replica of stage 0: ..."; empty: none
  std::vector<StageId> without_vote;
  std::vector<std::pair<StageId, RoundId>> open_rounds;
  bool is_joiner_late = false;
  std::optional<LastOfStage> leaver;
  bool is_saving = false;       // the state after the newest commit
  Duration without_progress{};  // for the state that is saved, since the commit
  Duration save_within{};
};

enum class CommitWait : std::uint8_t { kQuorum, kVotes, kRounds, kJoiner, kLeaver };

struct CommitDecision {
  std::vector<CommitWait> waits;  // in that order; empty: now
  std::string reason;             // "waiting for the sum of stage 0 1"
  [[nodiscard]] bool is_now() const { return waits.empty(); }
};

[[nodiscard]] CommitDecision decide_commit(const CommitQuestion& question);

}  // namespace shoal
