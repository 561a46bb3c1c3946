// Whoever goes on with the run, this process or a pipeline, has all of its lines before it when it says the goodput.
#include "launch/commands/run/single_recorder.h"

#include <utility>

#include "launch/say.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/trace/metrics/goodput.h"

namespace shoal {

Result<SingleRecorder> SingleRecorder::open(RecorderSettings settings) {
  SingleRecorder recorder(std::move(settings));
  if (const auto opened = recorder.outbox_.open(); !opened) return opened.failure();
  return recorder;
}

SingleRecorder::SingleRecorder(RecorderSettings settings) : settings_(std::move(settings)), outbox_(settings_.path) {}

void SingleRecorder::write(const MetricsOutput& output) {
  settings_.show(output);
  if (const auto news = outbox_.write(output)) say("warning: ", *news);
}

void SingleRecorder::write_last(FinalRecord record) {
  GoodputReader lines(settings_.path);
  record.goodput = lines.of(record.steps);
  record.lost_tokens = lines.thrown_away(record.steps);
  write(record);
  if (outbox_.unwritten() > 0) say("warning: ", counted(outbox_.unwritten(), "line"), " not in ", outbox_.path());
}

}  // namespace shoal
