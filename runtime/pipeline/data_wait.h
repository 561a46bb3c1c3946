// The wait for a text that cannot be read: it is said once, and reading is tried again after a pause.
//
// A shard may be gone for a while (a mount, a copy under way). Nothing is skipped meanwhile: the samples of a step are
// fixed. Pure; time comes in.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "messages/metrics.h"
#include "runtime/base/clock.h"

namespace shoal {

class DataWait {
 public:
  explicit DataWait(Duration pause) : pause_(pause) {}

  // True until the pause after the last failure is over.
  [[nodiscard]] bool lasts(Instant now) const { return reason_.has_value() && now < again_; }
  // Reading failed. The event that says so, unless it said the same before.
  [[nodiscard]] std::optional<RunEvent> failed(const std::string& reason, std::uint64_t step, Instant now) {
    again_ = now + pause_;
    if (reason_ == reason) return std::nullopt;
    reason_ = reason;
    return RunEvent{RunEventKind::kDataUnreadable, "data_loader", reason, step};
  }
  // Reading went well. The event that says so, if it had failed before.
  [[nodiscard]] std::optional<RunEvent> read(std::uint64_t step) {
    if (!std::exchange(reason_, std::nullopt)) return std::nullopt;
    return RunEvent{RunEventKind::kDataReadAgain, "data_loader", "the text is read again", step};
  }

 private:
  Duration pause_;
  std::optional<std::string> reason_;
  Instant again_;
};

}  // namespace shoal
