// Assembles step records (see the header for when one is given out).
#include "runtime/trace/metrics/metrics_core.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/data/batch.h"
#include "runtime/trace/metrics/approximated.h"

namespace shoal {
namespace {

constexpr std::size_t kEarlyMax = 1024;  // reports; the oldest is given up

using TimeFields = std::array<double*, 7>;

TimeFields fields_of(TimeBreakdown& time) {
  return {&time.wait, &time.commit, &time.wire, &time.reduce, &time.apply, &time.forward, &time.backward};
}

void add(TimeBreakdown& sum, TimeBreakdown part) {
  const TimeFields sums = fields_of(sum);
  const TimeFields added = fields_of(part);
  for (std::size_t i = 0; i < sums.size(); ++i) *sums[i] += *added[i];
}

void divide(TimeBreakdown& sum, double count) {
  for (double* part : fields_of(sum)) *part /= count;
}

// A replica measures from apply to apply, the journal from commit to commit. What they differ by, the replicas waited
// at one end more or less than they know, so it is waiting that is corrected first, and the parts add up to the step.
void fit(TimeBreakdown& time, double step_ms) {
  double missing = step_ms;
  for (const double* part : fields_of(time)) missing -= *part;
  for (double* part : fields_of(time)) {
    const double corrected = std::max(0.0, *part + missing);
    missing -= corrected - *part;
    *part = corrected;
  }
}

void add(ByteCounts& sum, const ByteCounts& part) {
  sum.activation += part.activation;
  sum.gradient += part.gradient;
  sum.reduce += part.reduce;
  sum.state += part.state;
  sum.control += part.control;
  sum.checkpoint += part.checkpoint;
}

}  // namespace

namespace {

// Says from which step on lost microbatches are trained again: nothing without sync.requeue_lost.
[[nodiscard]] std::string trained_again(const CommitRound& round, std::uint32_t microbatches) {
  if (round.lost.empty()) return {};
  return compose("; ", counted(round.lost.size(), "microbatch"), " trained again from step ",
                 step_of(round.trained_again_from, microbatches), " on");
}

[[nodiscard]] ViewRecord record_of_round(JournalPosition position, const CommitRound& round,
                                         std::uint32_t microbatches) {
  std::uint64_t tokens = 0;
  for (const RoundShare& share : round.shares) tokens += share.token_count;
  return {position.value,
          compose("stage ", round.stage, " fragment ", round.round.fragment, " round ", round.round.number),
          round.step.value, RunEventKind::kRound,
          compose("the mean of ", counted(round.shares.size(), "replica"), " over ", counted(tokens, "token"), ", ",
                  counted(round.tokens_lost, "token"), " lost", trained_again(round, microbatches))};
}

// All replicas are there, at a start, after a roll-back, or back with a spawner that was started again.
[[nodiscard]] bool begins_training(const RunEvent& event) {
  return event.kind == RunEventKind::kTraining || (event.kind == RunEventKind::kResumed && event.subject == "spawner");
}

// Its step is the one from which the run goes on, 0 included.
[[nodiscard]] bool says_where_it_goes_on(const RunEvent& event) {
  return event.subject == "run" && (event.kind == RunEventKind::kRolledBack || event.kind == RunEventKind::kResumed);
}

}  // namespace

std::optional<std::uint64_t> steps_at_end(const MetricsOutput& output) {
  if (const auto* last = std::get_if<FinalRecord>(&output)) return last->steps;
  const auto* event = std::get_if<RunEvent>(&output);
  return event != nullptr && event->kind == RunEventKind::kFailed ? std::optional(event->step) : std::nullopt;
}

void MetricsCore::begin(JournalPosition live_after, std::optional<WrittenLines> written, Instant now, WorkEnd known) {
  live_after_ = live_after;
  written_ = written;
  is_end_written_ = written && written->is_final;
  last_commit_ = now;
  work_end_ = known.at == Instant{} ? WorkEnd{{}, now} : known;
}

// Output comes after the line that ended the run before.
std::vector<MetricsOutput> MetricsCore::given(std::vector<MetricsOutput> out) {
  is_end_written_ = is_end_written_ && out.empty();
  return out;
}

std::vector<MetricsOutput> MetricsCore::on(const JournalEntry& entry, Instant now) {
  std::vector<MetricsOutput> out;
  if (is_over_) return out;
  const auto* commit = std::get_if<Commit>(&entry.body);
  const bool is_new = is_live(entry);
  const bool ends_work = commit != nullptr || std::holds_alternative<CommitRound>(entry.body);
  if (ends_work && entry.position > work_end_.position) work_end_ = {entry.position, now};
  if (commit != nullptr && is_new) open_record(entry, *commit, now);
  std::optional<StepRecord> filled;
  if (commit != nullptr && !is_new) {
    const std::uint64_t lost = take_untold_losses();  // its line says so, or will
    if (is_unwritten(entry, *commit)) filled = record_of(entry, *commit);
    if (filled) {
      filled->is_filled = true;
      filled->lost_tokens = lost;
      if (config_.has_rounds) filled->approximated = static_cast<std::uint32_t>(approximated(*commit, {}).size());
    }
  }
  view_.apply(entry);
  stop_waiting_for(entry);
  if (filled) {
    filled->tokens_total = tokens_total();
    out.emplace_back(std::move(*filled));
  }
  if (!is_new) return given(std::move(out));
  if (commit != nullptr) {
    pending_.back().record.tokens_total = tokens_total();
    take_early(out);
    close_ready(out);
    return given(std::move(out));
  }
  if (const auto* round = std::get_if<CommitRound>(&entry.body)) {
    close_ready(out);
    out.emplace_back(record_of_round(entry.position, *round, config_.microbatches));
    return given(std::move(out));
  }
  if (is_first_step_) last_commit_ = now;
  close_ready(out);
  out.emplace_back(ViewRecord{entry.position.value, describe(entry), view_.committed_steps()});
  return given(std::move(out));
}

bool MetricsCore::is_live(const JournalEntry& entry) const {
  const bool is_commit = std::holds_alternative<Commit>(entry.body);
  if (!is_commit && written_ && written_->view.value > 0) return entry.position > written_->view;
  if (entry.position <= live_after_) return false;
  if (!is_commit) return true;  // lines without a journal: another process wrote them, or there is no step yet
  const auto& last = written_ ? written_->step : std::nullopt;
  const bool is_later_branch = !last || entry.branch > last->branch;
  return is_later_branch || view_.committed_steps() > last->step.value;
}

bool MetricsCore::is_unwritten(const JournalEntry& entry, const Commit& commit) const {
  return written_ && (!written_->step || WrittenStep{entry.branch, commit.step} > *written_->step);
}

// The journal may say less for a while after a roll-back, until the rounds are agreed again that it took back.
std::uint64_t MetricsCore::take_untold_losses() {
  const std::uint64_t told = std::exchange(tokens_lost_told_, std::max(tokens_lost_told_, view_.lost().count()));
  return tokens_lost_told_ - told;
}

// Reports of a replica that left, or of a branch that ended, will not come.
void MetricsCore::stop_waiting_for(const JournalEntry& entry) {
  const auto* removed = std::get_if<RemoveReplica>(&entry.body);
  for (auto& pending : pending_) {
    if (pending.record.branch < entry.branch.value) pending.expected.clear();
    if (removed != nullptr) std::erase(pending.expected, removed->replica);
  }
}

StepRecord MetricsCore::record_of(const JournalEntry& entry, const Commit& commit) const {
  StepRecord record;
  record.branch = entry.branch.value;
  record.step = commit.step.value;
  record.loss = commit.token_count == 0 ? 0 : commit.loss_sum / static_cast<double>(commit.token_count);
  record.grad_norm = commit.gradient_norm;
  record.lr = commit.learning_rate;
  record.tokens = commit.token_count;
  record.step_ms = commit.step_ms;
  record.is_partly_timed = commit.is_partly_timed;
  record.sequences_total = (commit.step.value + 1) * config_.sequences_per_step;
  record.view = entry.position.value;
  for (std::uint32_t stage = 0; stage < view_.stage_count(); ++stage) {
    record.replicas.push_back(static_cast<std::uint32_t>(view_.replicas_of(StageId{stage}).size()));
  }
  if (!commit.stages.empty()) {
    for (const auto& member : commit.stages.front().manifests) {
      record.microbatches += static_cast<std::uint32_t>(member.entries.size());
    }
  }
  if (commit.skip) record.skipped = compose(commit.skip->tensor, ", microbatch ", commit.skip->microbatch);
  return record;
}

void MetricsCore::open_record(const JournalEntry& entry, const Commit& commit, Instant now) {
  Pending pending;
  StepRecord& record = pending.record = record_of(entry, commit);
  if (record.step_ms == 0) record.step_ms = milliseconds(now - last_commit_);
  record.lost_tokens = take_untold_losses();
  for (std::uint32_t stage = 0; stage < view_.stage_count(); ++stage) {
    auto& reporters = pending.reporters.emplace_back();
    for (const auto& replica : view_.replicas_of(StageId{stage})) {
      pending.expected.push_back(replica.incarnation);
      reporters.push_back({replica.incarnation, {replica.process, {}}});
    }
  }
  if (config_.has_rounds) pending.commit = commit;
  last_commit_ = now;
  is_first_step_ = false;
  pending_.push_back(std::move(pending));
}

std::vector<MetricsOutput> MetricsCore::on(const ReplicaReport& report) {
  std::vector<MetricsOutput> out;
  if (is_over_) return out;
  if (is_early(report)) {
    keep_early(report);
    return out;
  }
  count(report, out);
  close_ready(out);
  return given(std::move(out));
}

// The nodes are told of a commit before the spawner's own actors are (supervisor.cpp: appended).
bool MetricsCore::is_early(const ReplicaReport& report) const {
  if (report.branch != view_.branch()) return report.branch > view_.branch();
  return report.step.value >= view_.committed_steps();
}

void MetricsCore::keep_early(const ReplicaReport& report) {
  if (early_.size() == kEarlyMax) early_.erase(early_.begin());
  early_.push_back(report);
}

void MetricsCore::take_early(std::vector<MetricsOutput>& out) {
  for (const ReplicaReport& report : std::exchange(early_, {})) {
    if (is_early(report)) {
      keep_early(report);
    } else {
      count(report, out);
    }
  }
}

void MetricsCore::count(const ReplicaReport& report, std::vector<MetricsOutput>& out) {
  for (auto& pending : pending_) {
    if (pending.record.step != report.step.value || pending.record.branch != report.branch.value) continue;
    if (std::erase(pending.expected, report.replica) == 0) return;
    ++pending.report_count;
    if (!pending.record.time) pending.record.time.emplace();
    if (!pending.record.bytes) pending.record.bytes.emplace();
    add(*pending.record.time, report.time);
    add(*pending.record.bytes, report.bytes);
    pending.record.retried += report.retried;
    for (auto& reporters : pending.reporters) {
      const auto its = std::ranges::find(reporters, report.replica, &Reporter::replica);
      if (its != reporters.end()) its->on.use = report.use;
    }
    if (config_.has_rounds) pending.reports.push_back(report);
    const auto [known, is_first] = pending.digests.emplace(report.stage, report.state_digest);
    if (!is_first && known->second != report.state_digest) {
      out.emplace_back(RunEvent{RunEventKind::kDigestMismatch,
                                compose("stage ", report.stage, " replica ", report.replica),
                                "replicas of a stage differ after a commit (S-3)", report.step.value});
    }
    return;
  }
}

void MetricsCore::close_ready(std::vector<MetricsOutput>& out) {
  while (!pending_.empty() && (pending_.front().expected.empty() || pending_.size() > kPendingMax)) {
    close(std::move(pending_.front()), out);
    pending_.pop_front();
  }
}

void MetricsCore::add_devices(Pending& pending) const {
  std::vector<ComputedOn> all;
  StepRecord& record = pending.record;
  for (const auto& reporters : pending.reporters) {
    auto& uses = record.devices.emplace_back();
    for (const Reporter& reporter : reporters) {
      all.push_back(reporter.on);
      uses.push_back(reporter.on.use);
    }
  }
  if (const auto tokens_per_s = tokens_per_s_of(record)) {
    record.mfu = model_flops_utilisation(config_.multiply_adds, *tokens_per_s, peak_multiply_adds_s(all));
  }
}

void MetricsCore::close(Pending&& pending, std::vector<MetricsOutput>& out) {
  if (pending.record.time) {
    divide(*pending.record.time, pending.report_count);
    fit(*pending.record.time, pending.record.step_ms);
  }
  if (pending.report_count > 0) add_devices(pending);
  if (config_.has_rounds) {
    const auto found = approximated(pending.commit, pending.reports);
    pending.record.approximated = static_cast<std::uint32_t>(found.size());
  }
  out.emplace_back(std::move(pending.record));
}

// Finds whether it was made again after a restart. The last evaluation is another one than a periodic one of the same
// step, and than one of another size.
bool MetricsCore::is_written(const EvaluationResult& result, double val_loss) const {
  const auto& last = written_ ? written_->evaluation : std::nullopt;
  if (!last || last->branch != result.branch || last->step != result.step) return false;
  if (!last->is_final) return !result.complete || last->val_loss == val_loss;
  return *last->is_final == result.complete && last->windows == result.windows;
}

std::vector<MetricsOutput> MetricsCore::on(const EvaluationResult& result, Instant now) {
  if (is_over_) return {};
  if (result.windows < result.windows_planned) {
    return {EvalProgress{result.step, result.windows, result.windows_planned}};
  }
  const bool is_repeated = evaluated_ && evaluated_->branch == result.branch && evaluated_->step == result.step &&
                           evaluated_->complete == result.complete;
  evaluated_ = result;
  if (is_repeated) return {};
  EvalRecord record;
  record.step = result.step;
  record.is_of_agreed = config_.has_rounds;
  record.is_final = result.complete;
  record.windows = result.windows;
  record.tokens = result.token_count;
  record.eval_ms = milliseconds(now - work_end_.at);
  record.val_loss = result.token_count == 0 ? 0 : result.loss_sum / static_cast<double>(result.token_count);
  if (is_written(result, record.val_loss)) return {};
  if (result.token_count > 0) {
    record.bits_per_byte = bits_per_byte(record.val_loss, result.token_count, result.target_bytes);
  }
  return given({record});
}

std::vector<MetricsOutput> MetricsCore::on(const RunEvent& event, Instant now) {
  if (is_over_) return {};
  if (begins_training(event)) work_end_ = {std::max(work_end_.position, view_.position()), now};
  const bool is_end = ends_run(event.kind);
  if (is_end) return end(event);
  RunEvent told = event;
  if (told.step == 0 &&
      !says_where_it_goes_on(event)) {  // the sender knows no steps; before the journal is heard again, the lines do
    const std::uint64_t in_lines = written_ && written_->step ? written_->step->step.value + 1 : 0;
    told.step = view_.position().value > 0 ? view_.committed_steps() : in_lines;
  }
  return given({told});
}

std::vector<MetricsOutput> MetricsCore::end(const RunEvent& event) {
  is_over_ = true;
  std::vector<MetricsOutput> out;
  const bool is_failure = event.kind == RunEventKind::kFailed;
  if (is_end_written_ && !is_failure) return out;
  for (auto& pending : pending_) close(std::move(pending), out);
  pending_.clear();
  if (is_failure) {
    out.emplace_back(event);
    return out;
  }
  FinalRecord final_record;
  final_record.kind = event.kind;
  final_record.steps = event.step;
  final_record.tokens_total = tokens_total();
  LostTokens lost = view_.lost();
  if (event.step < view_.committed_steps()) {  // the steps beyond its weights are lost
    final_record.tokens_total = event.step * config_.tokens_per_step;
    lost.go_back_to(event.step, tokens_total() - std::min(tokens_total(), final_record.tokens_total));
  }
  final_record.lost_tokens = lost.count();
  final_record.weights_sha256 = event.subject;
  out.emplace_back(std::move(final_record));
  return out;
}

std::uint64_t MetricsCore::tokens_total() const {
  const std::uint64_t journaled = view_.tokens_total();
  return journaled > 0 ? journaled : view_.committed_steps() * config_.tokens_per_step;
}

}  // namespace shoal
