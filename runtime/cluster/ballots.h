// Which stages have agreed: the votes for the step in progress and for rounds that count in the view (P-22), and what
// is committed of them. A vote is said again until it is an entry, so one that is dropped here is not missed for long.
//
// A round's vote may come before the round is due; it waits here. One that is handed out for an entry is kept no more.
// Pure. Bounded (S-6) by one vote of each stage, and one of each of its rounds that is no entry yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/sync.h"
#include "runtime/journal/commit.h"

namespace shoal {

class Ballots {
 public:
  // Counts votes of this run and term, and of the stages 0 .. stages-1.
  Ballots(RunId run, Term term, std::uint32_t stages) : run_(run), term_(term), stages_(stages) {}

  // Keeps the vote; or says why it is refused.
  [[nodiscard]] std::optional<std::string> hear(const Prepared& vote, const View& view);
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

  // The step in progress is committed, or done again.
  void forget_step() { steps_.clear(); }
  // True when the stage has voted for the step, for a vote that counts still or no more.
  [[nodiscard]] bool has_voted(StageId stage) const { return steps_.contains(stage); }
  // Those that have no vote for the step that counts in this view.
  [[nodiscard]] std::vector<StageId> stages_without(const View& view) const;
  // The commit of the step, when no stage is without a vote.
  [[nodiscard]] Commit commit(const View& view, const CommitPolicy& policy) const;

  // The votes for those of the open rounds that come next of their fragment.
  [[nodiscard]] std::vector<Prepared> take_rounds(const std::vector<std::pair<StageId, RoundId>>& open,
                                                  const View& view);
  // True when a round is voted for that not all members of its stage contributed to.
  [[nodiscard]] bool is_round_missed(const View& view) const;

 private:
  RunId run_;
  Term term_;
  std::uint32_t stages_;
  std::uint64_t refused_ = 0;
  std::map<StageId, Prepared> steps_;
  std::map<std::pair<StageId, RoundId>, Prepared> rounds_;
};

}  // namespace shoal
