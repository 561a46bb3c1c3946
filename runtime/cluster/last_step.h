// Which step is a run's last one, and what the run still waits for after its commit.
//
//   training ──a stop, or the target──▶ the last step is committed ──its checkpoint──▶ saved ──its evaluation──▶
//   nothing more; a run that was stopped is not evaluated
//
// The newest commit is the last one where the step in progress cannot be made. A failure that was ordered (training
// diverged, the journal refuses: what is good is saved first) is not undone by a stop. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "messages/values/run_events.h"

namespace shoal {

struct StopOrder {
  std::string reason;
  RunEventKind kind{};  // kStopped, or kFailed: training diverged, or no further step can be recorded
  int exit_status = 0;
};

enum class RunAwaits : std::uint8_t { kSteps, kCheckpoint, kEvaluation, kNothing };

class LastStep {
 public:
  explicit LastStep(std::uint64_t steps_target) : steps_target_(steps_target) {}

  void stop(StopOrder order) { stop_ = std::move(order); }
  [[nodiscard]] const std::optional<StopOrder>& stopped() const { return stop_; }
  // True for a stop that ends as a failure whatever comes.
  [[nodiscard]] bool has_failed() const { return stop_ && stop_->kind == RunEventKind::kFailed; }

  // True when the commit after which so many steps are committed is the last one.
  [[nodiscard]] bool is_at(std::uint64_t version) const { return stop_ || version >= steps_target_; }
  void committed(bool is_last) { is_committed_ = is_last; }
  // Drops the step in progress: nothing of it is committed, and the state after the newest commit is saved.
  void drop_step() { is_committed_ = true; }
  // The state that the run begins with, or goes on from: so many steps.
  void begin_from(std::uint64_t version) { is_committed_ = version >= steps_target_; }
  // The run is thrown back: what was done of its end is done again.
  void undo() { is_committed_ = is_evaluated_ = false; }
  // The last evaluation, of the state after so many steps.
  void evaluated(std::uint64_t version) { is_evaluated_ |= version >= steps_target_; }

  [[nodiscard]] bool is_committed() const { return is_committed_; }
  // is_saved: the state after the newest commit.
  [[nodiscard]] RunAwaits awaits(bool is_saved) const {
    if (!is_committed_) return RunAwaits::kSteps;
    if (!is_saved) return RunAwaits::kCheckpoint;
    return stop_ || is_evaluated_ ? RunAwaits::kNothing : RunAwaits::kEvaluation;
  }

 private:
  std::uint64_t steps_target_;
  std::optional<StopOrder> stop_;
  bool is_committed_ = false;
  bool is_evaluated_ = false;
};

}  // namespace shoal
