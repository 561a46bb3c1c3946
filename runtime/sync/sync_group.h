// SyncGroupCore: brings one stage's replicas to one sum per step, and votes for it (protocol rules P-14 .. P-22).
//
//   open ──hints cover the plan──▶ preparing ──exactly once──▶ reducing ──all, equal digests──▶ voted ──Commit──▶ open
//                                                                                                       (step + 1)
//    ▲                              │ gap: Open + Missing       │ time-out, digests differ       │
//    │                              │ twice: Zero, Missing(all) │                                │ membership change
//    └──────────────────────────────┴───────────────────────────┴────────────────────────────────┘ of the stage (P-20)
//
// A data loader that asks who holds what is answered from manifests: an open group prepares for it, and opens again
// when every member of the view has answered, however long the work takes that a member has to end first (P-14a). Every
// arrow that gives an order takes a new, higher epoch (P-15). Hints are never proof: manifests are. Nothing here trusts
// order, timing or single delivery of messages: unanswered orders are repeated, time-outs double with each try of a
// step that was in vain (changes of membership are none: their storm would make a standstill endless). A sum that its
// members say is moving is waited for, however long it takes (sum_agreement.h). After a Zero it asks for the plan when
// all members have obeyed it: what overtakes a Zero is answered from what the Zero throws away. Pure: time comes in,
// letters and reasons go out. It is idle until it reads its own AppointGroup (P-3c).
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/clock.h"
#include "runtime/journal/view.h"
#include "runtime/sync/collective/collective_choice.h"
#include "runtime/sync/holder_survey.h"
#include "runtime/sync/missing_question.h"
#include "runtime/sync/patience.h"
#include "runtime/sync/step_hints.h"
#include "runtime/sync/sum_agreement.h"

namespace shoal {

struct SyncGroupConfig {
  RunId run;
  Term term;
  StageId stage;
  Incarnation self;
  std::uint32_t microbatches = 0;                         // planned per step
  Duration repeat_after = std::chrono::seconds(2);        // for an unanswered order; doubles with each repeat and try
  Duration ask_again_within = std::chrono::seconds(8);    // longest first wait before a Missing is repeated
  Duration zero_within = std::chrono::milliseconds(250);  // for the members' word that they have obeyed a Zero
  // Patience with a sum that stands still, until one was measured; doubles with each try of a step.
  Duration reduce_timeout = std::chrono::seconds(30);
  Duration reduce_floor = std::chrono::seconds(2);  // and four times the measured average, its time-out from then on
  Duration probe_after = std::chrono::minutes(5);   // without a hint of more: look anyway; doubles likewise
  bool keeps_sums_apart = false;  // each member applies its own sum (sync.mode = diloco): digests differ
  Duration look_max = kLookMax;   // between two ticks
};

// Letters to send, in order, and one sentence for each decision (log, trace).
struct SyncGroupEffects {
  std::vector<Letter> letters;
  std::vector<std::string> reasons;
};

class SyncGroupCore {
 public:
  using Phase = SumAgreement::Phase;

  explicit SyncGroupCore(SyncGroupConfig config);

  // Before the first entry, and not as late as the own appointment: those up to the view's position are not given.
  void begin_at(const View& past);
  // Entries from there on, in order, none skipped (P-3).
  [[nodiscard]] SyncGroupEffects follow(const JournalEntry& entry, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const Progress& progress, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const AllAnswered& hint, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const Manifest& manifest, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const Reduced& reduced, Instant now);
  [[nodiscard]] SyncGroupEffects hear(const AskHolders& question, Instant now);
  [[nodiscard]] SyncGroupEffects tick(Instant now);

  [[nodiscard]] Phase phase() const { return sum_.phase(); }
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] StepId step() const { return StepId{view_.committed_steps()}; }
  [[nodiscard]] const View& view() const { return view_; }
  // Members whose counts are kept.
  [[nodiscard]] std::size_t counts() const { return hints_.counts(); }
  // "step 7: waiting for manifests of 12 14": for `shoal status`.
  [[nodiscard]] std::string explain() const;

 private:
  using Order = std::variant<Open, Zero, Prepare, Reduce>;

  [[nodiscard]] const std::vector<ReplicaMember>& members() const { return view_.replicas_of(config_.stage); }
  [[nodiscard]] bool hints_cover_plan(Instant now) const;
  // How long AllAnswered is no hint once something is known to be missing.
  [[nodiscard]] Duration first_interval() const;

  void begin_step();
  void begin_epoch(Instant now);
  void open(Instant now, const std::string& why);
  void begin_another_try(Instant now);
  void try_again(Instant now, const std::string& why);
  void zero(Instant now);
  void prepare_if_due(Instant now);
  void prepare(Instant now);
  void decide(Instant now);
  void begin_anew(Instant now, const std::string& why);
  void begin_survey(Instant now);
  void tell_holders();
  void reduce(Instant now, std::uint64_t token_count);
  void sum_came_to_nothing(Instant now, const SumFailure& failure);
  void conclude(Instant now);
  void vote();
  void ask_again(Instant now, std::vector<MicrobatchId> microbatches);
  void repeat(Instant now);
  void give_order(const Order& order);
  void ask_for_missing(Instant now);
  void send_to_replica(Incarnation replica, MessageBody body);
  void note(const std::string& reason);
  void announce(RunEventKind kind, const std::string& reason);
  [[nodiscard]] SyncGroupEffects take_effects();

  SyncGroupConfig config_;
  View view_;
  bool is_appointed_ = false;
  Epoch epoch_;      // of the last order given
  Epoch last_zero_;  // of the current step; 0.0: none
  // State of the current step:
  SumAgreement sum_;
  StepHints hints_;
  HolderSurvey survey_;
  MissingQuestion missing_;
  std::optional<Order> order_;  // the last one: what unanswered members are told again
  SumPatience patience_;
  CollectiveChoice choice_;
  std::string chosen_because_;  // as people were told last
  SyncGroupEffects effects_;
};

}  // namespace shoal
