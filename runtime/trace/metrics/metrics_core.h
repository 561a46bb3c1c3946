// Makes records of commits and reports, one per step and in order, and events.
//
// A step's record waits for the reports of the replicas that were in the view at its commit. It is given out without
// those that leave the view meanwhile, and in any case once two later steps are committed, so that a dead replica
// delays nothing for long. A report may also come before its commit: it waits for it. Replicas of a stage must report
// equal digests after a commit (S-3); a difference is an event. Each (branch, step) is given out once, also by a core
// that replaces one which died: what that one had not written yet is filled in from the journal, which knows how
// long a step took but not what for.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "messages/journal.h"
#include "messages/metrics.h"
#include "runtime/base/clock.h"
#include "runtime/journal/view.h"
#include "runtime/trace/metrics/device_figures.h"
#include "runtime/trace/metrics/step_record.h"

namespace shoal {

struct MetricsConfig {
  std::uint32_t sequences_per_step = 0;
  std::uint64_t tokens_per_step = 0;  // planned: what a step that the journal lacks counts (one process trained it)
  std::uint32_t microbatches = 1;     // planned per step
  double multiply_adds = 0;           // of the whole model, to train a token; 0: not known, and so is no MFU
  bool has_rounds = false;            // sync.mode = diloco: what is evaluated is what was agreed last
};

// The last step record that is in metrics.jsonl.
struct WrittenStep {
  Branch branch;
  StepId step;
  friend auto operator<=>(const WrittenStep&, const WrittenStep&) = default;
};

// The last evaluation there, and the branch it belongs to.
struct WrittenEvaluation {
  Branch branch;
  std::uint64_t step = 0;  // steps applied
  double val_loss = 0;     // nats per token
  // Nothing: a file of a version that did not say so.
  std::optional<bool> is_final = std::nullopt;
  std::uint64_t windows = 0;
  friend bool operator==(const WrittenEvaluation&, const WrittenEvaluation&) = default;
};

struct WrittenLines {
  std::optional<WrittenStep> step;
  std::optional<WrittenEvaluation> evaluation;
  bool is_final = false;      // the last line says how the run ended
  JournalPosition view = {};  // up to here, entries that are no commits are written; 0: not known
};

// When the work before an evaluation ended: with a commit or round, or when training went on after it. A metrics actor
// that is started again meanwhile reads that entry again, and must not take its own start for it.
struct WorkEnd {
  JournalPosition position = {};  // entries up to here are no news of it
  Instant at{};
};

using MetricsOutput =
    std::variant<StepRecord, EvalRecord, EvalProgress, FinalRecord, ViewRecord, RunEvent, SummaryRecord>;

// Returns the steps applied of an output that ends a run (ends_run()). A summary goes before it.
[[nodiscard]] std::optional<std::uint64_t> steps_at_end(const MetricsOutput& output);

class MetricsCore {
 public:
  // Steps whose record may wait for reports, while lines of what comes after them in the journal are written.
  static constexpr std::size_t kPendingMax = 2;

  explicit MetricsCore(MetricsConfig config) : config_(config) {}

  // Call it after begin() and before the first entry: entries up to the view's position are not given, nor recorded.
  void begin_at(const View& past) { view_ = past, tokens_lost_told_ = past.lost().count(); }
  // Entries up to begin()'s live_after (what a resumed journal already held) change the view and give no events; their
  // commits give records where they are not written yet.
  [[nodiscard]] std::vector<MetricsOutput> on(const JournalEntry& entry, Instant now);
  [[nodiscard]] std::vector<MetricsOutput> on(const ReplicaReport& report);
  [[nodiscard]] std::vector<MetricsOutput> on(const EvaluationResult& result, Instant now);
  // "finished", "stopped" and "failed" end the run: nothing is given out afterwards. The first two carry the weights'
  // SHA-256 in their subject and become a FinalRecord, without its goodput.
  [[nodiscard]] std::vector<MetricsOutput> on(const RunEvent& event, Instant now);

  // Call it before the first entry. written: none where the file cannot be read, which is then not filled either.
  // known: what the metrics actor before this one in its process knew.
  void begin(JournalPosition live_after, std::optional<WrittenLines> written, Instant now, WorkEnd known = {});
  [[nodiscard]] WorkEnd work_end() const { return work_end_; }

 private:
  [[nodiscard]] bool is_written(const EvaluationResult& result, double val_loss) const;
  // A replica that was in the view at the commit, and what it told.
  struct Reporter {
    Incarnation replica;
    ComputedOn on;
  };
  struct Pending {
    StepRecord record;
    std::vector<std::vector<Reporter>> reporters;  // by stage
    std::vector<Incarnation> expected;
    std::map<StageId, std::uint64_t> digests;
    Commit commit;  // with rounds, and so are the reports
    std::vector<ReplicaReport> reports;
    std::uint32_t report_count = 0;
  };

  [[nodiscard]] StepRecord record_of(const JournalEntry& entry, const Commit& commit) const;
  void open_record(const JournalEntry& entry, const Commit& commit, Instant now);
  [[nodiscard]] bool is_live(const JournalEntry& entry) const;
  [[nodiscard]] bool is_unwritten(const JournalEntry& entry, const Commit& commit) const;
  [[nodiscard]] std::uint64_t take_untold_losses();
  void stop_waiting_for(const JournalEntry& entry);
  [[nodiscard]] bool is_early(const ReplicaReport& report) const;
  void keep_early(const ReplicaReport& report);
  void take_early(std::vector<MetricsOutput>& out);
  void count(const ReplicaReport& report, std::vector<MetricsOutput>& out);
  void close_ready(std::vector<MetricsOutput>& out);
  void close(Pending&& pending, std::vector<MetricsOutput>& out);
  void add_devices(Pending& pending) const;
  [[nodiscard]] std::vector<MetricsOutput> given(std::vector<MetricsOutput> out);
  [[nodiscard]] std::vector<MetricsOutput> end(const RunEvent& event);
  [[nodiscard]] std::uint64_t tokens_total() const;

  MetricsConfig config_;
  View view_;
  JournalPosition live_after_;
  std::optional<WrittenLines> written_;
  bool is_end_written_ = false;                // and nothing after it
  bool is_over_ = false;                       // the end was given out: nothing comes after it
  std::optional<EvaluationResult> evaluated_;  // the last one: a data loader that was started again may repeat it
  Instant last_commit_{};      // or when the last of the first members came: for commits that do not say
  WorkEnd work_end_{};         // an evaluation begins here
  bool is_first_step_ = true;  // the first that this process sees
  std::deque<Pending> pending_;
  std::vector<ReplicaReport> early_;    // for steps whose commit has not come yet, at most kEarlyMax
  std::uint64_t tokens_lost_told_ = 0;  // the part of what the journal says is lost that records name
};

}  // namespace shoal
