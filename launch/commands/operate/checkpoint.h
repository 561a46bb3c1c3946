// Decides what `shoal checkpoint` does with an answer of the spawner: prints it, waits on, or ends, and how.
// Pure; the clock and the connection are in checkpoint.cpp.
#pragma once

#include <optional>
#include <string>

#include "messages/local/save_request.h"
#include "runtime/base/error.h"

namespace shoal {

// Follows one request from its first answer to its end.
class CheckpointWait {
 public:
  CheckpointWait(bool waits, double timeout_s) : waits_(waits), timeout_s_(timeout_s) {}

  // Returns the next request, for the same goal again.
  [[nodiscard]] SaveRequest next() const { return {"shoal checkpoint", goal_}; }
  // The sentence that a person has not read yet; none: nothing is new.
  [[nodiscard]] std::optional<std::string> news() const { return is_news_ ? std::optional(text_) : std::nullopt; }

  // The checkpoint's step once the command has nothing to wait for; none: ask again. Errors: kIo, it could not be
  // saved; kUnreachable, not within the time.
  [[nodiscard]] Result<std::optional<std::uint64_t>> hear(const SaveAnswer& answer, double waited_s);
  [[nodiscard]] bool is_saved() const { return is_saved_; }
  [[nodiscard]] const std::optional<SaveGoal>& goal() const { return goal_; }

 private:
  bool waits_;
  double timeout_s_;
  std::optional<SaveGoal> goal_;
  std::string text_;
  bool is_news_ = false;
  bool is_saved_ = false;
};

}  // namespace shoal
