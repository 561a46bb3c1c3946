// Sums over lines (see the header for which line accounts for what).
#include "runtime/trace/metrics/run_summary.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>
#include <variant>

namespace shoal {
namespace {

constexpr double kMsPerSecond = 1000;

double ms_between(WallTime from, WallTime to) { return std::chrono::duration<double, std::milli>(to - from).count(); }

// Says whether an event belongs to an undisturbed run; a word of another version is no part of one.
bool is_calm(const EventFacts& event) { return event.kind && row_of(*event.kind).is_calm; }

void add(ByteCounts& sum, const LineBytes& bytes) {
  sum.activation += bytes[0];
  sum.gradient += bytes[1];
  sum.reduce += bytes[2];
  sum.state += bytes[3];
  sum.control += bytes[4];
  sum.checkpoint += bytes[5];
}

// Returns the N of "step_N".
std::optional<std::uint64_t> version_of(std::string_view subject) {
  constexpr std::string_view kPrefix = "step_";
  std::uint64_t version = 0;
  if (!subject.starts_with(kPrefix)) return std::nullopt;
  const auto [rest, error] = std::from_chars(subject.data() + kPrefix.size(), subject.data() + subject.size(), version);
  return error == std::errc() ? std::optional(version) : std::nullopt;
}

// Takes off the moment of a line what the clock was set by.
void set_back(LineFacts& facts, std::chrono::milliseconds by) {
  auto* const step = std::get_if<StepFacts>(&facts);
  auto* const event = std::get_if<EventFacts>(&facts);
  if (step != nullptr && step->at) *step->at -= by;
  if (event != nullptr && event->at) *event->at -= by;
}

WallTime::duration wall_time_of(double ms) {
  return std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

void SpanTally::add(const LineFacts& facts) {
  const bool is_former = is_of_former(facts);
  if (is_former && !former_) return;
  if (const auto* event = std::get_if<EventFacts>(&facts)) add(*event);
  if (const auto* step = std::get_if<StepFacts>(&facts)) {
    if (is_former) {
      add(placed_in(*former_, *step), *former_);
    } else {
      begin_training();
      add(*step, start_);
    }
  }
  goodput_.add(facts);
}

// Moves a step whose line came after its start had died to where it ended there, as far as is known.
StepFacts SpanTally::placed_in(const Start& start, StepFacts step) {
  if (const auto before = start.stepped ? start.stepped : start.began) step.at = *before + wall_time_of(step.step_ms);
  if (!start.stepped) step.at = std::max(start.told, step.at);
  return step;
}

bool SpanTally::is_of_former(const LineFacts& facts) const {
  if (start_.has_trained) return false;
  if (const auto* step = std::get_if<StepFacts>(&facts)) return step->is_filled;
  const auto* event = std::get_if<EventFacts>(&facts);
  return event != nullptr && (event->kind == RunEventKind::kRound || event->kind == RunEventKind::kCheckpoint);
}

void SpanTally::begin_training() {
  start_.has_trained = true;
  end_former();
}

void SpanTally::add(const EventFacts& event) {
  if (event.kind == RunEventKind::kStarted) {
    end_former();
    settle_checkpoint();
    if (start_.told) former_ = start_;
    start_ = Start();
    start_.began = event.at;
  }
  if (!start_.began) start_.began = event.at;
  // The line of a branch stands before that of the start which takes it.
  if (event.at && event.kind != RunEventKind::kBranch) start_.told = event.at;
  const bool is_taken_over = event.kind == RunEventKind::kResumed && event.subject == "spawner";
  if (is_taken_over || event.kind == RunEventKind::kTraining) begin_training();
  const bool goes_on = is_taken_over || (event.kind == RunEventKind::kTraining && start_.is_disturbed);
  if (goes_on && start_.stepped) start_.went_on = event.at;
  start_.is_taken_over = start_.is_taken_over || is_taken_over;
  if (is_taken_over) {  // the next step is timed from this spawner's start: no evaluation before it is in its time
    const double evaluated_ms = std::exchange(start_.evaluated_ms, 0);
    evaluation_ms_ += evaluated_ms;
    (start_.stepped ? gaps_ms_ : start_ms_) -= evaluated_ms;
  }
  start_.evaluated_ms += event.eval_ms;
  start_.is_disturbed = start_.is_disturbed || !is_calm(event);
  start_.is_unread = start_.is_unread || event.kind == RunEventKind::kDataUnreadable;
  start_.is_left = start_.is_left || event.kind == RunEventKind::kProcessLeft;
  if (event.kind == RunEventKind::kStopping) start_.stopping = event.at;
  const bool is_saved_by_one = event.kind == RunEventKind::kCheckpoint && start_.stepped && !steps_sent_;
  if (is_saved_by_one) start_.saved_ms = start_.saved_ms.value_or(0) + event.saved_s * kMsPerSecond;
  count(event);
}

void SpanTally::count(const EventFacts& event) {
  FaultCounts& faults = sum_.faults;
  if (event.kind == RunEventKind::kProcessLost) ++faults.processes;
  if (event.kind == RunEventKind::kStageEnded || event.kind == RunEventKind::kRestarted) ++faults.actors;
  if (event.kind == RunEventKind::kResumed && event.subject == "spawner") ++faults.spawners;
  if (event.kind == RunEventKind::kRolledBack) count_rollback(event.branch);
  if (event.kind == RunEventKind::kMicrobatchQuarantined) ++faults.quarantined;
  if (event.kind == RunEventKind::kRound && event.subject.starts_with("stage 0 ")) ++sum_.rounds;
  sum_.lines_lost += event.lost_lines;
  if (event.kind != RunEventKind::kCheckpoint) return;
  ++sum_.checkpoints.count;
  sum_.checkpoints.bytes += event.saved_bytes;
  sum_.checkpoints.seconds += event.saved_s;
  const auto version = version_of(event.subject);
  if (version && steps_sent_ && *version >= *steps_sent_) unreported_ = Unreported{*version, event.saved_bytes};
}

void SpanTally::count_rollback(std::optional<std::uint64_t> branch) {
  const bool is_again = branch && branch == std::exchange(begun_by_rollback_, branch);
  if (!is_again) ++sum_.faults.rollbacks;
}

void SpanTally::add(const StepFacts& step, Start& start) {
  const auto before = start.stepped ? start.stepped : start.began;
  const double since_ms = step.at && before ? ms_between(*before, *step.at) : 0;
  const double step_ms = step.step_ms > 0 ? step.step_ms : start.stepped ? std::max(0.0, since_ms) : 0;
  double left_ms = step_ms;
  const auto take = [&left_ms](double& sum, double ms) {
    const double taken = std::clamp(ms, 0.0, left_ms);
    sum += taken;
    left_ms -= taken;
  };
  const double evaluated_ms = std::exchange(start.evaluated_ms, 0);
  take(evaluation_ms_, evaluated_ms);
  if (step.is_of_one_process) {
    const double waited_ms = step.wait_ms - evaluated_ms;
    const double saved_ms = start.is_unread ? start.saved_ms.value_or(0) : waited_ms;
    take(checkpoint_ms_, std::min(waited_ms, saved_ms));
    take(stalled_ms_, waited_ms - saved_ms);
  }
  start.is_unread = false;
  const bool is_held_up = std::exchange(start.is_disturbed, false) || step.retried > 0;
  start.is_left = false;
  start.saved_ms.reset();
  start.is_taken_over = false;
  start.stopping.reset();
  start.went_on.reset();
  // The rate is that of thousands of steps: only where it is asked for.
  const double rate = is_held_up ? goodput_.usual_rate() : 0;
  if (rate > 0) take(stalled_ms_, left_ms - static_cast<double>(step.tokens) / rate);
  training_ms_ += left_ms;
  history_.add(step.step, step.tokens, left_ms);
  if (step.at && before) add_gap(since_ms - step_ms, start);
  if (!start.began && step.at) start.began = *step.at - wall_time_of(step_ms);
  if (step.at) start.stepped = step.at;
  start.told = std::max(start.told, step.at);
  sum_.lost_tokens += step.lost_tokens;
  sum_.approximated += step.approximated;
  if (unreported_ && step.step >= unreported_->version) unreported_.reset();
  steps_sent_ = step.is_of_one_process ? std::nullopt : std::optional(step.step + 1);
  if (step.bytes) {
    shoal::add(sum_.bytes, *step.bytes);
  } else {
    ++sum_.uncounted_steps;
  }
}

void SpanTally::add_gap(double gap_ms, const Start& start) {
  if (start.stepped || gap_ms < 0) {
    gaps_ms_ += gap_ms;
  } else {
    start_ms_ += gap_ms;
  }
}

// The time after the last step is that of its evaluation, and of what is waited for besides: the last checkpoint, and
// before a stop, or before the run went on, whoever was missing. An evaluation is timed from the commit: what the last
// step's line came later is in no pause.
void SpanTally::end(Start start, WallTime until) {
  const auto from = start.stepped ? start.stepped : start.began;
  if (!from) return;
  const double rest_ms = std::max(0.0, ms_between(*from, until));
  evaluation_ms_ += start.evaluated_ms;
  gaps_ms_ += std::min(0.0, rest_ms - start.evaluated_ms);
  const double waited_ms = std::max(0.0, rest_ms - start.evaluated_ms);
  const bool was_short = start.stepped && start.stopping && (start.is_disturbed || start.is_left);
  const double until_stop_ms = was_short ? ms_between(*from, *start.stopping) - start.evaluated_ms : 0;
  const double until_on_ms = start.went_on ? ms_between(*from, *start.went_on) : 0;
  const bool waits_for_text = start.is_unread && start.stepped && !steps_sent_;
  const double unread_ms = waits_for_text ? waited_ms - start.saved_ms.value_or(0) : 0;
  const double short_ms = std::clamp(std::max({until_stop_ms, until_on_ms, unread_ms}), 0.0, waited_ms);
  const double broken_off = std::clamp(broken_off_ms(start, until), 0.0, waited_ms - short_ms);
  (start.is_taken_over ? gaps_ms_ : stalled_ms_) += short_ms;  // of a gap an evaluation before it is taken off
  evaluation_ms_ += broken_off;
  (start.stepped ? checkpoint_ms_ : start_ms_) += waited_ms - short_ms - broken_off;
}

double SpanTally::broken_off_ms(const Start& start, WallTime until) {
  const bool is_calm_end = !start.is_disturbed && !start.is_left;
  if (!start.stepped || !is_calm_end || start.evaluated_ms > 0) return 0;
  if (start.saved_ms) return ms_between(*start.stepped, until) - *start.saved_ms;
  return start.stopping ? ms_between(*start.stepped, *start.stopping) : 0;
}

void SpanTally::end_former() {
  if (former_ && former_->told) end(*former_, *former_->told);
  if (former_) settle_checkpoint();
  former_.reset();
}

void SpanTally::settle_checkpoint() {
  if (unreported_) sum_.bytes.checkpoint += unreported_->bytes;
  unreported_.reset();
}

SpanSummary SpanTally::of(std::uint64_t steps, WallTime now) const {
  SpanTally ended = *this;
  ended.end_former();
  ended.settle_checkpoint();
  ended.end(start_, now);
  const HistorySum kept = history_.up_to(steps);
  const double gaps_ms = ended.gaps_ms_;
  const bool had_pause = ended.sum_.faults.spawners > 0;  // else lines came late: nothing held the run up
  const double pauses_ms = had_pause ? std::max(0.0, gaps_ms) : 0;
  SpanSummary out = ended.sum_;
  out.steps = kept.steps;
  out.tokens = kept.tokens;
  out.goodput = goodput_.of(steps);
  out.goodput_loss = goodput_.loss_of(steps);
  out.time.start = ended.start_ms_ / kMsPerSecond;
  out.time.training = std::max(0.0, kept.ms + gaps_ms - pauses_ms) / kMsPerSecond;
  out.time.evaluation = ended.evaluation_ms_ / kMsPerSecond;
  out.time.checkpoint = ended.checkpoint_ms_ / kMsPerSecond;
  out.time.stalled = (ended.stalled_ms_ + pauses_ms) / kMsPerSecond;
  out.time.repeated = std::max(0.0, training_ms_ - kept.ms) / kMsPerSecond;
  const TimeParts& time = out.time;
  out.seconds = time.start + time.training + time.evaluation + time.checkpoint + time.stalled + time.repeated;
  return out;
}

void RunSummary::add(std::string_view line) {
  LineFacts facts = facts_of(line);
  clock_set_ += std::chrono::milliseconds(clock_set_ms(line));
  set_back(facts, clock_set_);
  const auto* event = std::get_if<EventFacts>(&facts);
  if (event != nullptr && event->kind == RunEventKind::kStarted) {
    life_ = SpanTally();
    ++starts_;
  }
  life_.add(facts);
  run_.add(facts);
}

SummaryRecord RunSummary::of(std::uint64_t steps, WallTime now) const {
  now -= clock_set_;
  SummaryRecord record{steps, std::max<std::uint64_t>(1, starts_), 0, life_.of(steps, now), run_.of(steps, now)};
  record.untold_steps = steps - record.run.steps;
  return record;
}

SummaryRecord RunSummary::of(std::uint64_t steps, WallTime now, std::uint64_t lost_at_the_end) const {
  SummaryRecord record = of(steps, now);
  const std::uint64_t untold = lost_at_the_end - std::min(lost_at_the_end, record.run.lost_tokens);
  record.run.lost_tokens += untold;
  record.life.lost_tokens += untold;
  return record;
}

bool SummaryReader::read_on(std::size_t bytes) {
  if (!lines_) {
    auto file = open_input(path_);
    if (!file) return false;
    lines_.emplace(std::move(file->read_at));
  }
  for (const std::uint64_t until = lines_->end() + bytes; lines_->end() < until;) {
    const auto line = lines_->next();
    if (!line) return false;
    summary_.add(*line);
  }
  return true;
}

const RunSummary& SummaryReader::read_all() {
  constexpr std::size_t kPiece = 1 << 20;
  while (read_on(kPiece)) {
  }
  return summary_;
}

}  // namespace shoal
