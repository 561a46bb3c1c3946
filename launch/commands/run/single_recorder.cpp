// Whoever goes on with the run, this process or a pipeline, has all of its lines before it when it says the goodput.
#include "launch/commands/run/single_recorder.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "launch/say.h"
#include "runtime/trace/metrics/goodput.h"

namespace shoal {

Result<SingleRecorder> SingleRecorder::open(RecorderSettings settings) {
  SingleRecorder recorder(std::move(settings));
  if (!recorder.file_)
    return fail(Error::kIo, compose("cannot append to ", recorder.settings_.path, ": ", std::strerror(errno)));
  return recorder;
}

SingleRecorder::SingleRecorder(RecorderSettings settings)
    : settings_(std::move(settings)), file_(settings_.path, std::ios::app) {}

void SingleRecorder::write(const MetricsOutput& output) {
  settings_.show(output);
  file_ << std::visit([](const auto& record) { return to_json_line(record); }, output) << '\n' << std::flush;
  if (file_ || is_lossy_) return;
  is_lossy_ = true;
  say("warning: ", settings_.path, " cannot be written; training goes on without it");
}

void SingleRecorder::write_last(FinalRecord record) {
  record.goodput = GoodputReader(settings_.path).of(record.steps);
  write(record);
}

}  // namespace shoal
