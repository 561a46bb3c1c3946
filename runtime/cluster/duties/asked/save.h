// Saves a checkpoint when a person asks for one (P-29b), and says how far it is.
//
//   asked ──▶ the newest state is saved, or on its way ──▶ that one is the goal
//         └─▶ otherwise the next commit saves ──CheckpointSaved──▶ saved
//                          ▲      └──CheckpointFailed──▶ failed: told, and not tried again
//                          └── a roll-back: the first commit of the new branch
//
// The checkpoint itself is one like all others: this duty only makes one due.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "messages/local/save_request.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

// The answer to a person, and what follows from the request.
struct SaveHeard {
  SaveAnswer answer;
  Answers answers = {};
};

class SaveDuty {
 public:
  explicit SaveDuty(const Truth& truth) : truth_(truth) {}

  [[nodiscard]] SaveHeard hear(const SaveRequest& request, Instant now);

  [[nodiscard]] Answers on(const CheckpointSaved& saved, Instant now);
  [[nodiscard]] Answers on(const CheckpointFailed& failed, Instant now);
  [[nodiscard]] Answers on(const CheckpointDelayed& delayed, Instant now);
  [[nodiscard]] Answers on(const BranchBegins& begins, Instant now);

 private:
  struct Failed {
    std::uint64_t step = 0;
    std::string reason;
  };

  [[nodiscard]] SaveGoal newest() const;
  [[nodiscard]] SaveGoal goal_of(const SaveRequest& request) const;
  [[nodiscard]] bool is_failed(const SaveGoal& goal) const;
  [[nodiscard]] SaveAnswer refusal() const;
  [[nodiscard]] std::string words_of(const SaveGoal& goal, Instant now) const;
  void want(const SaveGoal& goal, const std::string& reason, Answers& answers);

  const Truth& truth_;
  std::optional<std::uint64_t> wanted_;  // by a person: the state after so many steps, or a later one
  std::string delayed_;                  // why the last commit did not save it
  std::optional<Failed> failed_;         // the newest that a person wanted and that could not be saved
};

}  // namespace shoal
