// The wait for a text that cannot be read: it is said once, and reading is tried again after a pause.
//
// A shard may be gone for a while (a mount, a copy under way). A slow disk answers late (Error::kUnreachable): that is
// asked again at once, and said only when it lasts. Nothing is skipped meanwhile: the samples of a step are fixed.
// Pure; time comes in.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "messages/metrics.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"

namespace shoal {

class DataWait {
 public:
  static constexpr Duration kLateAgain = std::chrono::milliseconds(20);
  static constexpr Duration kLateTold = std::chrono::seconds(5);  // a disk that syncs may take seconds

  explicit DataWait(Duration pause) : pause_(pause) {}

  // True until the pause after the last failure is over.
  [[nodiscard]] bool lasts(Instant now) const { return now < again_; }
  // Reading failed. The event that says so, unless it said the same before.
  [[nodiscard]] std::optional<RunEvent> failed(const Failure& failure, std::uint64_t step, Instant now) {
    const bool is_late = failure.error == Error::kUnreachable;
    if (!is_late) late_since_.reset();
    if (is_late && !late_since_) late_since_ = now;
    again_ = now + (is_late ? kLateAgain : pause_);
    const bool is_too_early = is_late && now - *late_since_ < kLateTold;
    if (is_too_early || reason_ == failure.message) return std::nullopt;
    reason_ = failure.message;
    return RunEvent{RunEventKind::kDataUnreadable, "data_loader", failure.message, step};
  }
  // Reading went well. The event that says so, if it had been said before that it failed.
  [[nodiscard]] std::optional<RunEvent> read(std::uint64_t step) {
    again_ = {};
    late_since_.reset();
    if (!std::exchange(reason_, std::nullopt)) return std::nullopt;
    return RunEvent{RunEventKind::kDataReadAgain, "data_loader", "the text is read again", step};
  }

 private:
  Duration pause_;
  std::optional<std::string> reason_;  // as it was told
  std::optional<Instant> late_since_;
  Instant again_;
};

}  // namespace shoal
