// KeptMeans: the means of rounds that were closed without some members, for these to fetch (sync.quorum, P-34).
//
//   a question (FetchState of a member) and the entry it is about come in any order; the mean goes out once both are
//   there, and again when the question is repeated after kMeanLost, doubled each time: until then it is on its way,
//   unless the link that it was sent over broke
//   A question from before the entry may be none: the last word of a joiner about the version it holds, which looks the
//   same, and who said it can use no mean before it is a member. So the next question counts as the first.
//
// A mean is kept until the next step is applied: that step was prepared by every member of the stage, so nobody stands
// at the boundary before it any more. Bounded (S-6): rounds due at one boundary; one question of each member, of whom
// the newest kMembersMax are remembered. Pure: time comes in.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "messages/journal.h"
#include "messages/storage.h"
#include "runtime/base/bound.h"
#include "runtime/base/time/progress_watch.h"

namespace shoal {

class KeptMeans {
 public:
  static inline const Bound kMembersMax{"sync.members_that_ask_for_means", 256};
  static constexpr Duration kMeanLost = std::chrono::seconds(30);

  KeptMeans(Incarnation self, Branch branch) : self_(self), branch_(branch) {}

  // The round is agreed, and this member holds its mean, float32 [n].
  void keep(const CommitRound& entry, TensorBlob mean);
  // Takes the question of a member of the stage.
  void hear(const FetchState& question, Instant now);
  // Returns what goes out now.
  [[nodiscard]] std::vector<StepSum> due();
  // A mean that was given to that member, contributed to at that step, may not have arrived.
  void lost_on_its_way(Incarnation member, StepId step);
  void forget_means() { means_.clear(); }
  void forget(Incarnation member) { questions_.erase(member); }
  [[nodiscard]] std::size_t size() const { return means_.size(); }

 private:
  struct Mean {
    CommitRound entry;
    TensorBlob values;
    std::map<Incarnation, GivenOnce> given;
  };
  struct Question {
    StepId step;  // at the contributions of the round
    Instant at;
    bool is_early = false;  // the question came before the round that it is about
    bool is_open = true;
  };

  [[nodiscard]] static bool is_about(const Question& question, Incarnation member, const Mean& mean);
  [[nodiscard]] static bool is_due(Mean& mean, Incarnation member, const Question& question);

  Incarnation self_;
  Branch branch_;
  std::map<RoundId, Mean> means_;
  std::map<Incarnation, Question> questions_;
};

}  // namespace shoal
