// Goodput is against the median step, so that evaluations and checkpoints count as time lost.
#include "launch/commands/run/single_recorder.h"

#include <algorithm>
#include <utility>

#include "launch/say.h"

namespace shoal {
namespace {

constexpr std::size_t kRatesMax = 4096;

}  // namespace

Result<SingleRecorder> SingleRecorder::open(RecorderSettings settings) {
  SingleRecorder recorder(std::move(settings));
  if (!recorder.file_) return fail(Error::kIo, "cannot append to " + recorder.settings_.path);
  return recorder;
}

SingleRecorder::SingleRecorder(RecorderSettings settings)
    : settings_(std::move(settings)), file_(settings_.path, std::ios::app) {}

void SingleRecorder::write(const MetricsOutput& output) {
  if (const auto* step = std::get_if<StepRecord>(&output)) {
    tokens_ += step->tokens;
    if (step->step_ms > 0 && rates_.size() < kRatesMax) {
      rates_.push_back(1000.0 * static_cast<double>(step->tokens) / step->step_ms);
    }
  }
  settings_.show(output);
  file_ << std::visit([](const auto& record) { return to_json_line(record); }, output) << '\n' << std::flush;
  if (file_ || is_lossy_) return;
  is_lossy_ = true;
  say("warning: ", settings_.path, " cannot be written; training goes on without it");
}

void SingleRecorder::write_last(FinalRecord record, double wall_ms) {
  if (!rates_.empty() && wall_ms > 0) {
    const auto middle = rates_.begin() + static_cast<std::ptrdiff_t>(rates_.size() / 2);
    std::nth_element(rates_.begin(), middle, rates_.end());
    record.goodput = static_cast<double>(tokens_) / (*middle * wall_ms / 1000.0);
  }
  write(record);
}

}  // namespace shoal
