// The data loader's decisions: which microbatch leaves when, on which path, and when a step or an evaluation is done.
//
//   following ──every stage served──▶ asking holders ──all told, or time-out──▶ training ◀──answered──┐
//                                                                                  │ Commit that is due ─▶ evaluating
//                                                                                  └ FinishRun ─▶ over
// A step is planned when committed_steps equals it; its samples are a pure function of (seed, step, index) and of the
// journal, which may say that lost ones come first (requeued_samples.h). So nothing here is durable: after a restart
// the journal says the step, the sync groups who holds what, and every microbatch is sent again (P-14). Holders,
// AllAnswered and Missing are hints; manifests are the proof. What is quarantined is not sent, and not waited for: the
// step is the sum over the others, its mean that sum divided by the tokens of the others.
//
// Bounded (S-6): at most `credits` microbatches in flight per replica, of each stage, and up to `credits_most` where
// links take long or another stage has more replicas (schedule.h): who is slow holds no more, slows those that wait for
// it, and leaves the credits of all others to them. (Whoever takes over from a removed replica has what that one had,
// too.) One work list (a step or an evaluation) at a time. No training microbatch leaves while an evaluation is
// unanswered and not given up (P-6a). Pure: time comes in, letters go out; the router keeps, repeats and re-routes what
// was sent (request_table.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/journal/round_plan.h"
#include "runtime/journal/view.h"
#include "runtime/pipeline/data_wait.h"
#include "runtime/pipeline/path_planner.h"
#include "runtime/pipeline/schedule.h"
#include "runtime/pipeline/work/work_list.h"

namespace shoal {

// One microbatch's tensors, int32 [B, T]; targets -1 are not counted.
struct Sample {
  TensorBlob inputs;
  TensorBlob targets;
  std::uint64_t target_bytes = 0;  // of an evaluation: the bytes of text that its targets stand for
};

enum class EvaluationExtent : std::uint8_t { kPeriodic, kLast };  // eval.batches of them, or eval.final_batches

// Source of microbatches: pure functions of their arguments. Errors: the text cannot be read now.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  [[nodiscard]] virtual Result<Sample> training(StepId step, MicrobatchId microbatch) const = 0;
  [[nodiscard]] virtual std::uint32_t evaluation_count(EvaluationExtent extent) const = 0;
  [[nodiscard]] virtual std::uint64_t evaluation_windows(EvaluationExtent extent) const = 0;
  [[nodiscard]] virtual Result<Sample> evaluation(MicrobatchId microbatch) const = 0;
};

struct DataLoaderConfig {
  RunId run;
  Term term;
  std::uint32_t stages = 1;
  std::uint32_t microbatches = 1;  // per step
  std::uint32_t credits = 1;       // schedule.h
  std::uint32_t credits_most = 0;  // schedule.h; below `credits`: as many as those
  Routing routing = Routing::kIwrr;
  std::uint64_t seed = 1;
  std::uint64_t target_steps = 1;    // plan no step at or beyond it; the last evaluation follows its commit
  std::uint64_t evaluate_every = 0;  // steps applied; 0: only the one at the end
  // For the answers of all groups: they come when every member has ended the work it is at (holder_survey.h).
  Duration holders_timeout = std::chrono::minutes(5);
  Duration ask_again = std::chrono::seconds(2);            // a group that may have been started after the question came
  Duration repeat_first = std::chrono::milliseconds(200);  // repeats AllAnswered, until the Commit is read; doubles
  Duration repeat_ceiling = std::chrono::seconds(5);
  Duration send_again = std::chrono::seconds(30);         // a Forward whose router may have lost its memory; doubles
  Duration evaluation_timeout = std::chrono::minutes(2);  // without any answer: the periodic one is given up
  Duration read_again = std::chrono::seconds(1);          // after a text that could not be read
  Duration tell_every = std::chrono::seconds(10);         // how far the last one is, while it comes further
  std::optional<RoundSchedule> rounds{};                  // sync.mode = diloco: replicas answer when they are applied
};

class DataLoaderCore {
 public:
  // `source` outlives the core.
  DataLoaderCore(DataLoaderConfig config, const SampleSource& source);

  // Before the first entry: those up to the view's position are not given.
  void begin_at(const View& past);
  [[nodiscard]] std::vector<Letter> follow(const JournalEntry& entry, Instant now);
  [[nodiscard]] std::vector<Letter> answered(const Backward& backward, Instant now);
  // The router re-sends what it kept; here they only count as unanswered again.
  void missing(const Missing& missing, Instant now);
  [[nodiscard]] std::vector<Letter> holders(const Holders& holders, Instant now);
  [[nodiscard]] std::vector<Letter> tick(Instant now);
  // Nothing more is sent to these replicas while others serve their stage.
  void avoid(const std::vector<Incarnation>& replicas) { avoided_ = {replicas.begin(), replicas.end()}; }

  // Returns in a few words why the newest path of that microbatch takes its replica of a stage; nothing where the
  // policy says nothing.
  [[nodiscard]] std::string_view reason_of(MicrobatchId microbatch, std::size_t stage) const;

  // Why it sends or does not: for `shoal ps`.
  [[nodiscard]] const char* state() const;
  [[nodiscard]] std::uint64_t evaluations_given_up() const { return evaluations_given_up_; }
  // The microbatches of the step or evaluation under way; nothing between them.
  [[nodiscard]] const WorkList* items() const { return work_ ? &work_->items : nullptr; }

 private:
  enum class Phase : std::uint8_t { kFollowing, kAskingHolders, kWorking };
  // Tells which replicas have no credit left.
  struct CreditBook {
    std::vector<std::uint32_t> credits{};  // of a replica, by stage
    std::set<Incarnation> without_credit{};
  };
  // The microbatches of one step or of one evaluation.
  struct Work {
    Purpose purpose = Purpose::kTrain;
    EvaluationExtent extent = EvaluationExtent::kPeriodic;
    StepId step;  // evaluation: steps applied
    WorkList items;
    Instant silent_since{};             // evaluation: without an answer that could have come
    Instant told_at{};                  // the last evaluation: when it was said how far it is
    std::optional<std::size_t> told{};  // answered then
    Instant announce_due{};             // time of the next AllAnswered
    int announcements = 0;
  };

  [[nodiscard]] bool is_over() const;
  [[nodiscard]] std::optional<EvaluationExtent> evaluation_due() const;
  void begin_work(Instant now);
  void begin_evaluation(EvaluationExtent extent, Instant now);
  [[nodiscard]] Letter question_for(StageId stage) const;
  [[nodiscard]] std::vector<Letter> ask_holders(Instant now);
  [[nodiscard]] std::vector<Letter> ask_unheard(Instant now);
  [[nodiscard]] std::vector<Letter> ask_new_group(const JournalEntry& entry) const;
  [[nodiscard]] Members candidates() const;
  [[nodiscard]] std::vector<Letter> dispatch(Instant now);
  [[nodiscard]] bool plan(MicrobatchId microbatch, const Members& members, const CreditBook& credits, Instant now);
  [[nodiscard]] Result<Sample> sample_of(MicrobatchId microbatch) const;
  [[nodiscard]] std::vector<Letter> send(MicrobatchId microbatch, Instant now);
  [[nodiscard]] std::vector<Letter> note_reading(const Result<Sample>& read, Instant now);
  [[nodiscard]] std::vector<Letter> finish_if_answered(Instant now);
  [[nodiscard]] std::vector<Letter> announce(Instant now);
  [[nodiscard]] std::vector<Letter> repeat_overdue(Instant now);
  [[nodiscard]] bool waits_for_rounds() const;
  [[nodiscard]] std::vector<Letter> give_up_evaluation(Instant now);
  [[nodiscard]] std::vector<Letter> tell_how_far(Instant now);
  [[nodiscard]] EvaluationResult evaluation_result() const;
  [[nodiscard]] std::vector<Letter> finish_evaluation(Instant now);
  [[nodiscard]] CreditBook credits_now() const;
  void note_credits(const std::vector<Incarnation>& path, CreditBook& credits) const;
  void learn(const WorkItem& item, const Backward& backward, Instant now);
  void replica_removed(Incarnation replica, StageId stage);
  [[nodiscard]] bool leave_out_quarantined();

  DataLoaderConfig config_;
  const SampleSource* source_;
  std::unique_ptr<PathPlanner> planner_;
  LinkCredits credits_;
  View view_;
  Phase phase_ = Phase::kFollowing;
  Instant holders_due_;
  Instant ask_again_at_;
  std::set<StageId> holders_heard_;
  std::set<Incarnation> avoided_;
  std::map<Incarnation, Instant> visited_;                       // members, when a trail last named them
  std::map<MicrobatchId, std::map<StageId, Incarnation>> held_;  // those of the first step after a (re)start
  std::optional<Work> work_;
  std::optional<std::pair<Branch, std::uint64_t>> evaluated_;  // the last evaluation ended, answered or given up
  std::uint64_t evaluations_given_up_ = 0;
  DataWait data_;
};

}  // namespace shoal
