// The next part of the run, by this process or a pipeline, has all of these lines before it when it says the goodput.
#include "launch/commands/run/single_recorder.h"

#include <utility>

#include "launch/say.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/trace/metrics/run_summary.h"

namespace shoal {

Result<SingleRecorder> SingleRecorder::open(RecorderSettings settings) {
  SingleRecorder recorder(std::move(settings));
  if (const auto opened = recorder.outbox_.open(); !opened) return opened.failure();
  return recorder;
}

// One process has no journal that would need what the disk has left.
SingleRecorder::SingleRecorder(RecorderSettings settings)
    : settings_(std::move(settings)), outbox_(settings_.path, 0) {}

void SingleRecorder::write(const MetricsOutput& output) {
  settings_.show(output);
  if (const auto news = outbox_.write(output, BothClocks::now())) say("warning: ", *news);
}

void SingleRecorder::write_failure(const RunEvent& failed) {
  SummaryReader lines(settings_.path);
  write(lines.read_all().of(failed.step, outbox_.by_clock_of_last_line(BothClocks::now())));
  write(failed);
}

void SingleRecorder::write_last(FinalRecord record) {
  SummaryReader lines(settings_.path);
  const RunSummary& summary = lines.read_all();
  record.goodput = summary.goodput().of(record.steps);
  record.lost_tokens = summary.goodput().thrown_away(record.steps);
  write(summary.of(record.steps, outbox_.by_clock_of_last_line(BothClocks::now()), record.lost_tokens));
  write(record);
  if (outbox_.unwritten() > 0) say("warning: ", counted(outbox_.unwritten(), "line"), " not in ", outbox_.path());
}

}  // namespace shoal
