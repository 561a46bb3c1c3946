// One line each for time, goodput, bytes, rounds and faults.
#include "runtime/trace/metrics/summary_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/enumerate.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/trace/metrics/human_units.h"

namespace shoal {
namespace {

std::string time_text(double seconds) {
  constexpr double kWholeFrom = 60;
  return seconds < kWholeFrom ? number_text(seconds, 1) + "s" : human_seconds(std::round(seconds));
}

std::string rate_text(std::uint64_t tokens, double seconds) {
  return seconds > 0 ? number_text(static_cast<double>(tokens) / seconds, 0) : "0";
}

std::string faults_text(const FaultCounts& faults) {
  const std::array<std::pair<std::uint64_t, const char*>, 5> all = {{{faults.processes, "lost process"},
                                                                     {faults.actors, "ended actor"},
                                                                     {faults.spawners, "ended spawner"},
                                                                     {faults.rollbacks, "roll-back"},
                                                                     {faults.quarantined, "quarantined microbatch"}}};
  std::vector<std::string> parts;
  for (const auto& [count, noun] : all) {
    if (count > 0) parts.push_back(counted(count, noun));
  }
  return parts.empty() ? "none" : enumerate(parts);
}

// Says what the goodput lacks to 1; empty where nobody knows.
std::string loss_text(const std::optional<GoodputLoss>& loss) {
  if (!loss) return {};
  const auto text = [](double seconds) { return time_text(std::max(0.0, seconds)); };
  return compose("; lost to first steps ", text(loss->first_steps), ", steps with events ", text(loss->eventful),
                 ", roll-backs ", text(loss->repeated), ", uneven steps ", text(loss->uneven));
}

void add_span(const std::string& whose, const SpanSummary& span, std::vector<std::string>& lines) {
  const TimeParts& time = span.time;
  const ByteCounts& sent = span.bytes;
  const auto bytes = [](std::uint64_t count) { return human_bytes(static_cast<double>(count)); };
  lines.push_back(compose("[summary] ", whose, ": ", counted(span.steps, "step"), ", ", counted(span.tokens, "token"),
                          " in ", time_text(span.seconds), ", ", rate_text(span.tokens, span.seconds), " tok/s; ",
                          rate_text(span.tokens, time.training), " tok/s while it trained"));
  lines.push_back(compose("  time: start ", time_text(time.start), ", training ", time_text(time.training),
                          ", evaluation ", time_text(time.evaluation), ", checkpoints ", time_text(time.checkpoint),
                          ", held up by faults ", time_text(time.stalled), ", steps rolled back ",
                          time_text(time.repeated)));
  if (span.steps > 0 || span.goodput) {
    lines.push_back(
        compose("  goodput: ", span.goodput ? number_text(*span.goodput, 3) : "not known",
                " = tokens kept / (tok/s of undisturbed steps x time of all steps, without start and evaluations)",
                loss_text(span.goodput_loss)));
  }
  lines.push_back(compose(
      "  sent: activations ", bytes(sent.activation), ", gradients ", bytes(sent.gradient), ", sums ",
      bytes(sent.reduce), ", copies of states ", bytes(sent.state), ", checkpoints ", bytes(sent.checkpoint),
      ", control ", bytes(sent.control),
      span.uncounted_steps == 0 ? std::string() : compose("; not known of ", counted(span.uncounted_steps, "step"))));
  if (const CheckpointSum& saved = span.checkpoints; saved.count > 0) {
    lines.push_back(compose("  saved: ", counted(saved.count, "checkpoint"), ", ", bytes(saved.bytes), " in ",
                            time_text(saved.seconds), " (pipelines train meanwhile)"));
  }
  if (span.rounds > 0) lines.push_back(compose("  rounds: ", span.rounds));
  if (span.lost_tokens > 0 || span.approximated > 0) {
    lines.push_back(compose("  lost: ", counted(span.lost_tokens, "token"),
                            " that were trained and are not in the model; ", counted(span.approximated, "microbatch"),
                            " approximated"));
  }
  lines.push_back(compose("  faults survived: ", faults_text(span.faults)));
}

// Says what the sums do not have; empty: they have all.
std::string missing_text(const SummaryRecord& record) {
  std::vector<std::string> parts;
  if (record.untold_steps > 0) {
    parts.push_back(compose(record.untold_steps, " of ", counted(record.steps, "step")));
  }
  if (record.run.lines_lost > 0) parts.push_back(counted(record.run.lines_lost, "lost line"));
  if (parts.empty()) return {};
  return compose("  missing in these figures, because metrics.jsonl has no line of them: ", enumerate(parts));
}

}  // namespace

std::vector<std::string> summary_lines(const SummaryRecord& record) {
  std::vector<std::string> lines;
  if (record.starts > 1) {
    add_span("this start", record.life, lines);
    add_span(compose("the whole run, ", counted(record.starts, "start")), record.run, lines);
  } else {
    add_span("the run", record.run, lines);
  }
  if (const std::string missing = missing_text(record); !missing.empty()) lines.push_back(missing);
  return lines;
}

}  // namespace shoal
