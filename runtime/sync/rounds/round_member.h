// RoundMember: a replica's part in the rounds of its stage (sync.mode = diloco; DESIGN.md §6, P-31).
//
//   (none) ──own step applied, contribution due──▶ contributed ──Reduce(e), every part of e──▶ summed
//              Prepare(e): answered with a Manifest;  e' > e: the sum of e is dropped, the contribution stays
//   summed ──CommitRound of e, after the steps it is due at──▶ agreed ──update done──▶ (none)
//   contributed ──CommitRound that does not name this member: it was late──▶ missed ──the mean, of a peer──▶ agreed
//
// The boundary after a step: contributions due there are taken first, then the updates due there are waited for and
// made; the next step begins when none is left. At the end of a run the rounds in flight are due, too; a run that goes
// on from there has nothing in flight, as at its start. A member that has trained on nothing since it came weighs
// nothing, and takes part for the mean alone; so does one whose contribution is not finite, and one that missed the
// round. An entry that names this member, which has no sum of it, is none that it can go on from (P-24). Pure: orders
// and entries come in, answers come out; the replica's core runs the jobs. Bounded (S-6): rounds by those that are
// open at once by the schedule, parts that came early by kEarlyPartsMax each, means that did by one of each fragment.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/bound.h"
#include "runtime/executor/stage_executor.h"
#include "runtime/journal/round_plan.h"
#include "runtime/sync/reduction.h"
#include "runtime/sync/rounds/kept_means.h"
#include "runtime/sync/rounds/missed_rounds.h"
#include "runtime/sync/rounds/round_boundary.h"
#include "runtime/sync/rounds/round_weights.h"
#include "runtime/sync/sum_progress.h"
#include "runtime/sync/wire/error_feedback.h"

namespace shoal {

struct RoundMemberSetup {
  RunId run;
  Branch branch;
  StageId stage;
  Incarnation self;
  SyncConfig sync;  // inner_state: what becomes of averages that there are (inner_state_of)
  std::size_t bucket_bytes = kBucketBytes;
};

// Answers to the group and to the other members.
struct RoundAnswers {
  std::vector<Manifest> manifests;
  std::vector<AddressedPart> parts;
  std::vector<Reduced> reduced;
  std::vector<AddressedMark> marks = {};
  std::vector<MissingParts> questions = {};
};

class RoundMember {
 public:
  static inline const Bound kEarlyPartsMax{"sync.early_parts_of_a_round", 4096};

  explicit RoundMember(RoundMemberSetup setup);

  // The state it holds is that after `version` steps and the rounds due there. Before it serves, and after a new copy.
  void start_at(std::uint64_t version);

  // An own step was trained on so many tokens, of so many of the whole stage.
  void trained(std::uint64_t tokens, std::uint64_t tokens_of_stage);
  // The own step is applied: `version` steps are. Contributions and updates due there come next.
  void reach(std::uint64_t version);
  // The step was the last one of the run: rounds in flight are due, too.
  void close();
  // The round whose contribution is to be taken now: contribute_round(), then contributed().
  [[nodiscard]] std::optional<RoundId> wanted_contribution() const { return boundary_.next_contribution(); }
  [[nodiscard]] RoundAnswers contributed(TensorBlob values);
  // At the boundary, and nothing is waited for: contributions are taken, rounds agreed.
  [[nodiscard]] bool is_ready() const;
  // Then, the updates to make, in order: apply_round(), then updated(). None where no round moves anything.
  [[nodiscard]] std::vector<RoundUpdate> updates() const;
  void updated();
  [[nodiscard]] bool is_at_boundary() const { return boundary_.is_at_it(); }

  // Orders are those of this run, branch and stage. Parts and sums are told to members alone.
  [[nodiscard]] RoundAnswers hear(const Prepare& order);
  [[nodiscard]] RoundAnswers hear(const Reduce& order);
  [[nodiscard]] RoundAnswers hear(const Part& part);
  [[nodiscard]] RoundAnswers hear(const PartsSent& mark);
  [[nodiscard]] RoundAnswers hear(const MissingParts& question);
  // A piece of a part came. Whoever is to hear of it hears it as news().
  [[nodiscard]] RoundAnswers hear(const Progress& arriving);
  // Returns what the group is to hear now of sums under way.
  [[nodiscard]] std::vector<Progress> news(Instant now);
  // Follows a round of the own stage of so many members. An error: the entry names this one without such a sum (P-24).
  [[nodiscard]] std::optional<std::string> follow(const CommitRound& entry, std::size_t member_count);
  // Takes the question of a member that missed rounds, and a mean; then what is asked and given now.
  void hear(const FetchState& question, Instant now) { kept_.hear(question, now); }
  // A mean that this member gave may not have arrived: it is given when it is asked for again.
  void lost_on_its_way(const StateUnavailable& sum) { kept_.lost_on_its_way(sum.replica, StepId{sum.step}); }
  void hear(const StepSum& mean);
  [[nodiscard]] std::vector<FetchState> questions(Instant now) { return missed_.due(now); }
  [[nodiscard]] std::vector<StepSum> means() { return kept_.due(); }
  // A member of the stage left the view. An error: only it had a mean that is missing here.
  [[nodiscard]] std::optional<std::string> lost(Incarnation member);
  // Before it serves: the journal says that the round is over, so the state it starts with has it.
  void pass_over(const RoundId& round);
  // Likewise: that state holds every round with contributions of so many steps or fewer.
  void pass_over_until(std::uint64_t version);

  [[nodiscard]] std::uint64_t stale_orders() const { return stale_orders_; }
  // Parts kept for sums that have not begun here.
  [[nodiscard]] std::size_t early_parts() const;

 private:
  struct Round {
    std::uint64_t contributed_at = 0;     // steps applied
    std::optional<TensorBlob> values;     // base - local, float32 [n]
    std::uint64_t tokens = 0;             // its weight
    std::optional<Prepare> order;         // the newest
    std::unique_ptr<GroupReduction> sum;  // the newest epoch's
    SumProgress news;                     // about that sum
    TensorBlob weighed;                   // values that that sum encoded, float32 [n]
    std::uint64_t total_tokens = 0;       // tokens of that sum
    HeldParts early{kEarlyPartsMax};
    std::optional<Reduced> reduced;
    bool is_agreed = false;         // the journal has it
    bool is_missed = false;         // without this member, and its mean has not come yet
    TensorBlob mean;                // agreed and not missed, float32 [n]
    TensorBlob merged;              // eager: the own values as that sum holds them, float32 [n]
    bool has_joined_since = false;  // taken for the mean alone
  };

  [[nodiscard]] Round* find_or_open(const OrderId& order);
  [[nodiscard]] GroupReduction* find_sum(const RoundId& id);
  [[nodiscard]] Manifest manifest_of(const Round& round) const;
  [[nodiscard]] float share_of(const Round& round) const;
  [[nodiscard]] TensorBlob weighed(const RoundId& id, const Round& round) const;
  [[nodiscard]] TensorBlob merged_values(const RoundId& id, const Round& round) const;
  void conclude(Round& round, RoundAnswers& answers) const;
  void miss(const CommitRound& entry);
  [[nodiscard]] bool may_be_missed(const StepSum& mean) const;
  [[nodiscard]] RoundUpdate update_of(const RoundId& id) const;
  [[nodiscard]] bool is_done(const RoundId& id) const;

  RoundMemberSetup setup_;
  RoundSchedule schedule_;
  std::uint64_t version_ = 0;
  std::uint64_t started_at_ = 0;
  RoundBoundary boundary_;
  RoundWeights weights_;
  std::map<std::uint32_t, std::uint64_t> newest_done_;  // rounds updated, by fragment
  ErrorFeedback feedback_;
  MissedRounds missed_;
  std::deque<StepSum> early_means_;  // came before their entries
  KeptMeans kept_;
  std::map<RoundId, Round> rounds_;
  std::uint64_t stale_orders_ = 0;
};

}  // namespace shoal
