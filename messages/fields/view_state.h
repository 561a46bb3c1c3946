// The fields of what stands for a journal's oldest entries: ViewState and JournalSnapshot. Private to codec.cpp.
//
// A View is made from what is read here as it is, so every list is checked: for its bound, and for what a View relies
// on. A stored snapshot must stay readable by later versions: fields are only ever added.
#pragma once

#include <algorithm>
#include <set>

#include "messages/fields/step.h"
#include "messages/journal.capnp.h"

namespace shoal::codec {

// Bounds as View and its parts keep them, with room for a version that keeps more.
inline constexpr std::size_t kPastStagesMax = 4096;
inline constexpr std::size_t kPastReplicasMax = 65536;
inline constexpr std::size_t kPastListMax = 65536;
inline constexpr std::size_t kPastPlacesMax = std::size_t{1} << 18;
inline constexpr std::uint32_t kPastSkipsMax = 1U << 30;

// Checks the size of a list before any of it is held.
template <class List>
void check_count(const List& list, std::size_t count_max, const char* what) {
  if (list.size() > count_max) throw Malformed{std::string("too many ") + what};
}

// Each above the one before it.
template <class T, class Key>
void check_ascending(const std::vector<T>& list, Key key, const char* what) {
  const auto is_out_of_order = [&](const T& one, const T& next) { return !(key(one) < key(next)); };
  const bool is_ascending = std::adjacent_find(list.begin(), list.end(), is_out_of_order) == list.end();
  if (!is_ascending) throw Malformed{std::string(what) + " out of order"};
}

#define BOUNDED(Name, count_max, what)                                            \
  do {                                                                            \
    if constexpr (!Io::kWrites) check_count(wire.get##Name(), (count_max), what); \
  } while (false)

SHOAL_FIELDS(AppointGroup) {
  FIELD(stage, Stage);
  FIELD(group, Group);
}

SHOAL_FIELDS(ReplicaMember) {
  FIELD(incarnation, Incarnation);
  FIELD(slot, Slot);
  FIELD(process, Process);
}

SHOAL_FIELDS(StageMembers) {
  BOUNDED(Replicas, kPastReplicasMax, "replicas");
  LIST(replicas, Replicas);
  FIELD(last_change, LastChange);
}

SHOAL_FIELDS(StepTotals) {
  FIELD(version, Version);
  FIELD(optimizer_step, OptimizerStep);
  FIELD(tokens, Tokens);
  FIELD(is_saved, IsSaved);
}

SHOAL_FIELDS(RoundLoss) {
  FIELD(version, Version);
  FIELD(number, Number);
  FIELD(lost, Lost);
}

SHOAL_FIELDS(LostTokensState) {
  BOUNDED(Rounds, kPastListMax, "rounds with losses");
  LIST(rounds, Rounds);
  FIELD(in_rounds, InRounds);
  FIELD(thrown_away, ThrownAway);
}

SHOAL_FIELDS(TakenPlaces) {
  BOUNDED(Lost, kPastPlacesMax, "lost places");
  BOUNDED(Samples, kPastPlacesMax, "samples");
  FIELD(version, Version);
  FIELD(first, First);
  FIELD(before, Before);
  SCALARS(lost, Lost);
  SCALARS(samples, Samples);
}

SHOAL_FIELDS(RequeuedState) {
  BOUNDED(Taken, kPastPlacesMax, "taken places");
  LIST(taken, Taken);
  FIELD(forgotten, Forgotten);
}

SHOAL_FIELDS(QuarantinedMicrobatch) {
  FIELD(step, Step);
  FIELD(microbatch, Microbatch);
}

SHOAL_FIELDS(AgreedRound) {
  FIELD(stage, Stage);
  FIELD(round.fragment, Fragment);
  FIELD(round.number, Round);
}

inline void check_members(const ViewState& view) {
  std::set<Incarnation> members;
  for (const StageMembers& stage : view.stages) {
    check_ascending(
        stage.replicas, [](const auto& one) { return one.incarnation; }, "replicas");
    if (stage.last_change > view.position) throw Malformed{"a stage that changes later"};
    for (const ReplicaMember& replica : stage.replicas) {
      if (!members.insert(replica.incarnation).second) throw Malformed{"a replica of two stages"};
    }
  }
  if (members.size() > kPastReplicasMax) throw Malformed{"too many replicas"};
}

// Places follow those that were taken before them.
inline void check_places(const RequeuedState& requeued) {
  std::uint64_t free_from = 0;
  std::uint64_t taken_so_far = requeued.forgotten;
  std::uint64_t kept = 0;
  for (const TakenPlaces& taken : requeued.taken) {
    const std::uint64_t count = taken.samples.size();
    const bool fits = taken.first.value >= free_from && taken.first.value <= ~std::uint64_t{0} - count;
    if (!fits || taken.before != taken_so_far || count == 0) throw Malformed{"places that are taken twice"};
    if (taken.lost.size() != count) throw Malformed{"as many samples as are lost are trained again"};
    free_from = taken.first.value + count;
    taken_so_far += count;
    kept += count;
    if (taken_so_far > taken.first.value + count || kept > kPastPlacesMax) throw Malformed{"too many taken places"};
  }
}

inline void check_state(const ViewState& view) {
  check_members(view);
  check_places(view.requeued);
  check_ascending(
      view.groups, [](const auto& one) { return one.stage; }, "sync groups");
  check_ascending(
      view.rounds, [](const auto& one) { return std::pair(one.stage, one.round.fragment); }, "rounds");
  check_ascending(
      view.totals, [](const auto& one) { return one.version; }, "totals");
  check_ascending(
      view.quarantined, [](const auto& one) { return one; }, "quarantines");
  check_ascending(
      view.ends, [](std::uint64_t version) { return version; }, "ends of the run");
  if (view.skips_in_a_row > kPastSkipsMax) throw Malformed{"too many skips in a row"};
  if (!view.totals.empty() && view.totals.back().version > view.committed_steps) throw Malformed{"totals of no step"};
  std::uint64_t lost = 0;
  for (const RoundLoss& round : view.lost.rounds) lost += std::min(round.lost, ~std::uint64_t{0} - lost);
  if (lost > view.lost.in_rounds) throw Malformed{"rounds that lose more than all of them together"};
}

SHOAL_FIELDS(ViewState) {
  BOUNDED(Stages, kPastStagesMax, "stages");
  BOUNDED(Groups, kPastStagesMax, "sync groups");
  BOUNDED(Rounds, kPastListMax, "rounds");
  BOUNDED(Totals, kPastListMax, "totals");
  BOUNDED(Quarantined, kPastListMax, "quarantines");
  BOUNDED(Ends, kPastListMax, "ends of the run");
  FIELD(position, Position);
  FIELD(branch, Branch);
  FIELD(committed_steps, CommittedSteps);
  FIELD(start, Start);
  FIELD(held_until, HeldUntil);
  FIELD(is_at_last_commit, IsAtLastCommit);
  FIELD(skips_in_a_row, SkipsInARow);
  LIST(stages, Stages);
  LIST(groups, Groups);
  LIST(rounds, Rounds);
  LIST(totals, Totals);
  PART(lost, Lost);
  LIST(quarantined, Quarantined);
  PART(requeued, Requeued);
  SCALARS(ends, Ends);
  if constexpr (Io::kWrites) {
    wire.setIsFinished(m.finished.has_value());
    if (m.finished) wire.setFinished(*m.finished);
  } else {
    if (wire.getIsFinished()) from_wire(wire.getFinished(), m.finished.emplace());
    check_state(m);
  }
}

SHOAL_FIELDS(ContributedTotal) {
  FIELD(version, Version);
  FIELD(tokens, Tokens);
  FIELD(is_before_saved, IsBeforeSaved);
}

SHOAL_FIELDS(OrderedCheckpoint) {
  BOUNDED(By, kPastStagesMax, "savers");
  FIELD(version, Version);
  SCALARS(by, By);
}

SHOAL_FIELDS(JournalSnapshot) {
  BOUNDED(Contributed, kPastListMax, "contributions");
  BOUNDED(Checkpoints, kPastListMax, "checkpoints");
  PART(view, View);
  FIELD(highest_branch, HighestBranch);
  LIST(contributed, Contributed);
  LIST(checkpoints, Checkpoints);
  if constexpr (!Io::kWrites) {
    if (m.highest_branch < m.view.branch) throw Malformed{"a branch above the highest"};
    check_ascending(
        m.contributed, [](const auto& one) { return one.version; }, "contributions");
    check_ascending(
        m.checkpoints, [](const auto& one) { return one.version; }, "checkpoints");
  }
}

#undef BOUNDED

}  // namespace shoal::codec
