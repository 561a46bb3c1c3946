// Journals as no supervisor would write them all, but as a View takes them: members come and go, steps are committed
// and skipped, rounds lose samples, runs end and go on, branches go back. From a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "runtime/journal/view.h"

namespace shoal {

class RandomJournal {
 public:
  static constexpr std::uint32_t kStages = 2;
  static constexpr std::uint32_t kMicrobatches = 4;
  static constexpr std::uint32_t kFragments = 3;

  explicit RandomJournal(std::uint64_t seed) : random_(seed) {}

  // The entry that comes next; the view has read it.
  const JournalEntry& next() {
    append(draw());
    return entries_.back();
  }
  [[nodiscard]] const std::vector<JournalEntry>& entries() const { return entries_; }
  [[nodiscard]] const View& view() const { return view_; }

 private:
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] StageId a_stage() { return StageId{static_cast<std::uint32_t>(below(kStages))}; }
  [[nodiscard]] std::uint64_t version() const { return view_.committed_steps(); }

  void append(JournalBody body) {
    entries_.push_back({JournalPosition{view_.position().value + 1}, branch_, Term{1}, std::move(body)});
    view_.apply(entries_.back());
  }
  [[nodiscard]] AddReplica a_replica(std::uint64_t at) {
    ++incarnations_;
    const ReplicaId slot{static_cast<std::uint32_t>(below(9))};
    return {a_stage(), slot, Incarnation{incarnations_}, ProcessIncarnation{incarnations_ + 100}, at};
  }

  [[nodiscard]] JournalBody draw() {
    if (view_.position().value == 0) return a_replica(below(3));
    const std::uint64_t dice = below(100);
    if (dice < 45) return commit();
    if (dice < 62) return round();
    if (dice < 72) return a_replica(version());
    if (dice < 80) return removed();
    if (dice < 88) return AppointGroup{a_stage(), Incarnation{++incarnations_}};
    if (dice < 92) return Quarantine{StepId{version() + below(3)}, a_microbatch(), "it ended two"};
    if (dice < 95) return FinishRun{"it was stopped"};
    return branch();
  }
  [[nodiscard]] MicrobatchId a_microbatch() { return MicrobatchId{static_cast<std::uint32_t>(below(kMicrobatches))}; }

  [[nodiscard]] JournalBody commit() {
    Commit commit;
    commit.step = StepId{version()};
    commit.token_count = 10 + below(5);
    commit.optimizer_step = version() + 1;
    commit.is_last = below(6) == 0;
    if (below(4) == 0) commit.skip = SkipStep{"wte.weight", MicrobatchId{}};
    if (below(4) == 0) commit.checkpoint_by = {Incarnation{1 + below(9)}, Incarnation{10}};
    for (std::uint32_t stage = 0; stage < kStages; ++stage) {
      const MemberManifest manifest{Incarnation{1}, {{a_microbatch(), 5, 1.0, {}}}};
      commit.stages.push_back({StageId{stage}, Epoch{Incarnation{2}, 1}, below(99), {manifest}});
    }
    return commit;
  }
  [[nodiscard]] JournalBody round() {
    const StageId stage = a_stage();
    const auto fragment = static_cast<std::uint32_t>(below(kFragments));
    const auto newest = view_.rounds().newest_of(stage, fragment);
    CommitRound round;
    round.stage = stage;
    round.step = StepId{version()};
    round.round = {fragment, (newest ? newest->number : 0) + 1};
    if (below(2) == 0) round.tokens_lost = below(20);
    if (below(2) == 0 && version() > 1) lose(round);
    return round;
  }
  void lose(CommitRound& round) {
    const PlaceId not_begun = place_of(StepId{version() + 1}, MicrobatchId{}, kMicrobatches);
    round.trained_again_from = std::max(view_.requeued().end(), not_begun);
    const std::uint64_t first = below(not_begun.value - kMicrobatches);
    for (std::uint64_t place = first; place <= first + below(3); ++place) round.lost.push_back(PlaceId{place});
  }
  [[nodiscard]] JournalBody removed() {
    const StageId stage = a_stage();
    const auto& members = view_.replicas_of(stage);
    if (members.empty()) return commit();
    return RemoveReplica{stage, members[below(members.size())].incarnation, "lost"};
  }
  // Back to a step that was committed before, or to the one that is next.
  [[nodiscard]] JournalBody branch() {
    branch_ = Branch{branch_.value + 1};
    return a_replica(version() - std::min(version(), below(8)));
  }

  std::mt19937_64 random_;
  View view_;
  Branch branch_;
  std::uint64_t incarnations_ = 0;
  std::vector<JournalEntry> entries_;
};

}  // namespace shoal
