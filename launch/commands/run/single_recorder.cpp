#include "launch/commands/run/single_recorder.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "launch/say.h"

namespace shoal {
namespace {

constexpr std::size_t kRatesMax = 4096;

ProgressStyle style_of(std::uint64_t steps_target) {
  ProgressStyle style;
  style.steps_target = steps_target;
  style.is_terminal = ::isatty(STDERR_FILENO) == 1;
  winsize window{};
  if (style.is_terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
    style.columns = window.ws_col;
  }
  return style;
}

void show(const std::string& line) {
  const std::string text = line + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

Result<SingleRecorder> SingleRecorder::open(RecorderSettings settings) {
  SingleRecorder recorder(std::move(settings));
  if (!recorder.file_) return fail(Error::kIo, "cannot append to " + recorder.settings_.path);
  show(progress_legend());
  return recorder;
}

SingleRecorder::SingleRecorder(RecorderSettings settings)
    : settings_(std::move(settings)), style_(style_of(settings_.steps_target)), file_(settings_.path, std::ios::app) {}

void SingleRecorder::write(const StepRecord& record) {
  append(to_json_line(record));
  tokens_ += record.tokens;
  if (record.step_ms > 0 && rates_.size() < kRatesMax) {
    rates_.push_back(1000.0 * static_cast<double>(record.tokens) / record.step_ms);
  }
  const std::uint64_t applied = record.step + 1;
  const bool is_due = settings_.every > 0 && (applied % settings_.every == 0 || applied == 1);
  if (is_due || record.skipped || applied == settings_.steps_target) show(progress_line(record, style_));
}

void SingleRecorder::write(const EvalRecord& record) {
  append(to_json_line(record));
  show(progress_line(record));
}

void SingleRecorder::write(const RunEvent& event) {
  append(to_json_line(event));
  say(event.event, " ", event.subject, ": ", event.reason);
}

void SingleRecorder::write(FinalRecord record, double wall_ms) {
  if (!rates_.empty() && wall_ms > 0) {
    const auto middle = rates_.begin() + static_cast<std::ptrdiff_t>(rates_.size() / 2);
    std::nth_element(rates_.begin(), middle, rates_.end());
    record.goodput = static_cast<double>(tokens_) / (*middle * wall_ms / 1000.0);
  }
  append(to_json_line(record));
}

void SingleRecorder::append(const std::string& line) {
  file_ << line << '\n' << std::flush;
  if (file_ || is_lossy_) return;
  is_lossy_ = true;
  say("warning: ", settings_.path, " cannot be written; training goes on without it");
}

}  // namespace shoal
