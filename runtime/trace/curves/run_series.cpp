// Lines by their keys: an `event`, else a step.
#include "runtime/trace/curves/run_series.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "messages/values/run_events.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/text/json_fields.h"
#include "runtime/trace/metrics/metrics_lines.h"

namespace shoal {
namespace {

using KindOfEvent = std::pair<RunEventKind, MomentKind>;
constexpr std::array kKinds = {
    KindOfEvent{RunEventKind::kInjected, MomentKind::kFault},
    KindOfEvent{RunEventKind::kProcessLost, MomentKind::kFault},
    KindOfEvent{RunEventKind::kStageLost, MomentKind::kFault},
    KindOfEvent{RunEventKind::kStageEnded, MomentKind::kFault},
    KindOfEvent{RunEventKind::kRestarted, MomentKind::kFault},
    KindOfEvent{RunEventKind::kEscalated, MomentKind::kFault},
    KindOfEvent{RunEventKind::kPeerRefused, MomentKind::kFault},
    KindOfEvent{RunEventKind::kDigestMismatch, MomentKind::kFault},
    KindOfEvent{RunEventKind::kFailed, MomentKind::kFault},
    KindOfEvent{RunEventKind::kMicrobatchQuarantined, MomentKind::kFault},
    KindOfEvent{RunEventKind::kJoined, MomentKind::kJoin},
    KindOfEvent{RunEventKind::kReturned, MomentKind::kJoin},
    KindOfEvent{RunEventKind::kReplicaAdded, MomentKind::kJoin},
    KindOfEvent{RunEventKind::kRolledBack, MomentKind::kReturn},
    KindOfEvent{RunEventKind::kResumed, MomentKind::kReturn},
    KindOfEvent{RunEventKind::kRound, MomentKind::kRound},
    KindOfEvent{RunEventKind::kMoved, MomentKind::kJoin},
    KindOfEvent{RunEventKind::kCheckpoint, MomentKind::kCheckpoint},
    KindOfEvent{RunEventKind::kBranch, MomentKind::kBranch},
};

// True where it happened to weights, which a run that goes back has no more.
bool is_of_weights(MomentKind kind) {
  return kind == MomentKind::kSkip || kind == MomentKind::kRound || kind == MomentKind::kCheckpoint;
}

}  // namespace

struct RunSeriesReader::Fields {
  nlohmann::json json;

  [[nodiscard]] std::uint64_t count(const char* key) const { return count_field(json, key).value_or(0); }
  [[nodiscard]] double number(const char* key) const { return number_field(json, key).value_or(kNoNumber); }
  [[nodiscard]] std::string text(const char* key) const { return text_field(json, key).value_or(""); }
};

std::string text_of(const DamagedLines& damaged) {
  if (damaged.count == 1) return compose("line ", damaged.first, " is damaged and left out");
  return compose(damaged.count, " damaged lines are left out, the first is line ", damaged.first);
}

void RunSeriesReader::add(std::string_view line, std::uint64_t number) {
  const Fields fields{nlohmann::json::parse(line, nullptr, false)};
  if (!fields.json.is_object()) return add_damaged(number);
  if (fields.json.contains("event")) {
    add_event(fields);
  } else if (fields.json.contains("loss") && fields.json.contains("step")) {
    add_step(fields);
  }
}

void RunSeriesReader::add_damaged(std::uint64_t number) {
  if (++series_.damaged.count == 1) series_.damaged.first = number;
}

void RunSeriesReader::go_back_to(std::uint64_t applied) {
  const auto left = std::ranges::upper_bound(series_.steps, applied, {}, &SeriesStep::applied);
  series_.abandoned += static_cast<std::uint64_t>(series_.steps.end() - left);
  series_.steps.erase(left, series_.steps.end());
  std::erase_if(series_.moments,
                [&](const SeriesMoment& known) { return known.applied > applied && is_of_weights(known.kind); });
  for (SeriesMoment& known : series_.moments) known.is_abandoned = known.is_abandoned || known.applied > applied;
  std::erase_if(series_.evaluations, [&](const SeriesEvaluation& known) { return known.applied > applied; });
}

// An evaluation may stand before the line of the last step that it is of, which waits for reports: only a step that is
// there already says that the run went back.
void RunSeriesReader::add_step(const Fields& fields) {
  const std::uint64_t step = fields.count("step");
  if (!series_.steps.empty() && step < series_.steps.back().applied) go_back_to(step);
  const double step_ms = fields.number("step_ms");
  if (step_ms > 0) elapsed_s_ += step_ms / 1000;
  const auto rate = fields.json.find("tokens_per_s");
  const bool is_cut = std::exchange(is_cut_, false) || (rate != fields.json.end() && rate->is_null());
  const bool is_known = step_ms > 0 && !is_cut;
  series_.steps.push_back({step + 1, fields.count("tokens_total"), fields.count("tokens"), elapsed_s_,
                           is_known ? step_ms : 0, fields.number("loss"), !fields.text("skipped").empty()});
  if (series_.steps.back().is_skipped) series_.moments.push_back({MomentKind::kSkip, step + 1, elapsed_s_});
  went_back_to_.reset();
}

void RunSeriesReader::add_evaluation(const Fields& fields) {
  const auto found = fields.json.find("final");
  const bool is_final = found != fields.json.end() && *found == true;
  const SeriesEvaluation read{fields.count("step"), fields.number("val_loss"), is_final, fields.count("windows")};
  std::erase_if(series_.evaluations, [&read](const SeriesEvaluation& known) {
    return known.applied > read.applied || (known.applied == read.applied && known.is_final == read.is_final);
  });
  series_.evaluations.push_back(read);
}

void RunSeriesReader::add_event(const Fields& fields) {
  const auto event = run_event_kind(fields.text("event"));
  if (event == RunEventKind::kEvaluation) return add_evaluation(fields);
  std::uint64_t applied = fields.count("step");
  const bool is_of_run = fields.text("subject") == "run";
  const bool goes_back = is_of_run && (event == RunEventKind::kRolledBack || event == RunEventKind::kResumed);
  if (went_back_to_) applied = std::min(applied, *went_back_to_);
  if (goes_back || event == RunEventKind::kBranch) go_back_to(applied), went_back_to_ = applied;
  is_cut_ = is_cut_ || (event == RunEventKind::kResumed && fields.text("subject") == "spawner");
  if (event == RunEventKind::kFinished && !series_.evaluations.empty()) {  // a file of a version that did not say so
    SeriesEvaluation& last = series_.evaluations.back();
    last.is_final = last.is_final || last.applied == fields.count("steps");
  }
  if (event == RunEventKind::kRound && !fields.text("subject").starts_with("stage 0 "))
    return;  // one of each is enough
  const auto kind = std::ranges::find_if(kKinds, [&event](const KindOfEvent& known) { return known.first == event; });
  if (kind != kKinds.end()) series_.moments.push_back({kind->second, applied, elapsed_s_});
}

Result<RunSeries> read_run_series(const std::string& metrics_path) {
  auto file = open_input(metrics_path);
  if (!file) return file.failure();
  RunSeriesReader reader;
  MetricsLines lines(std::move(file->read_at));
  for (std::uint64_t expected = 1; const auto line = lines.next(); ++expected) {
    for (; expected < lines.number(); ++expected) reader.add_damaged(expected);
    reader.add(*line, expected);
  }
  const RunSeries& series = reader.series();
  if (series.steps.empty() && series.evaluations.empty()) {
    return fail(Error::kInvalidData,
                compose(metrics_path, " tells of no step yet: there is nothing to draw",
                        series.damaged.count == 0 ? std::string() : compose("; ", text_of(series.damaged))));
  }
  return series;
}

}  // namespace shoal
