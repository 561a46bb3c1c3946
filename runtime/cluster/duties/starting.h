// Starts the replicas that a run begins with: where they start, when they are added, and what becomes of those that
// cannot.
//
//   gathering ──enough workers──▶ spawning ──all places ready, or after a while enough of them──▶ training
//        │    ──fewer, and devices are shared: a while after the last one came──▶
//        ▲                            │ nobody can start one: another state is looked for (roll_back.h)
//        └────────────────────────────┘
//
// Also keeps count of replicas that end on a worker, whenever they started: it pauses, rests, or is started again.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/failed_starts.h"
#include "runtime/cluster/number_block.h"
#include "runtime/cluster/placement.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

class StartingDuty {
 public:
  StartingDuty(const Truth& truth, Starts& starts, ReservedNumbers& numbers)
      : truth_(truth), starts_(starts), numbers_(numbers) {}

  [[nodiscard]] Answers on(const TermBegins& begins, Instant now);
  [[nodiscard]] Answers on(const TrainingBegins& begins, Instant now);
  [[nodiscard]] Answers on(const WorkersChanged& changed, Instant now);
  [[nodiscard]] Answers on(const StageReady& ready, Instant now);
  [[nodiscard]] Answers on(const StageEnded& ended, Instant now);
  [[nodiscard]] Answers on(const StateProgress& progress, Instant now);
  [[nodiscard]] Answers on(const ProcessGone& gone, Instant now);
  [[nodiscard]] Answers on(const LinkedAgain& linked, Instant now);
  [[nodiscard]] Answers on(const OrderedToEnd& told, Instant now);
  [[nodiscard]] Answers on(const BranchBegins& begins, Instant now);
  [[nodiscard]] Answers on(const StartRepeated& repeated, Instant now);
  [[nodiscard]] Answers on(const StartPaused& paused, Instant now);
  [[nodiscard]] Answers on(const ReplicaFailed& failed, Instant now);
  [[nodiscard]] Answers on(const WorkerRests& rests, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);

 private:
  [[nodiscard]] bool is_starting() const {
    return truth_.phase == RunPhase::kGathering || truth_.phase == RunPhase::kSpawning;
  }
  [[nodiscard]] std::vector<ProcessIncarnation> workers_to_ask(Instant now) const;
  [[nodiscard]] std::vector<Worker> free_workers(Instant now) const;
  void place_if_enough(Instant now, Answers& answers);
  void place_all(Instant now, Answers& answers);
  [[nodiscard]] std::optional<std::vector<Placement>> find_places(const std::vector<Worker>& workers, bool is_over,
                                                                  Answers& answers);
  void fill_places(Instant now, Answers& answers);
  void share_places(Instant now, Answers& answers);
  // No more workers are waited for.
  [[nodiscard]] bool is_patience_over(Instant now) const;
  void refuse(const std::string& why, Answers& answers);
  void start(const Placement& placement, Answers& answers);
  [[nodiscard]] std::size_t untried_workers() const;
  // Counts those of this stage; none: of all.
  [[nodiscard]] StartTally tally_of(std::optional<StageId> stage) const;
  void replace_silent(Instant now, Answers& answers);
  // Without more of them no place, or not all that are needed, can be filled.
  [[nodiscard]] bool lacks_workers(Instant now) const;
  [[nodiscard]] bool is_wait_over(Instant now);
  [[nodiscard]] bool needs_all_places() const { return truth_.is_first_start() && !truth_.config.share_devices; }
  // Replicas without which the run does not begin.
  [[nodiscard]] ReplicasWanted needed() const {
    return needs_all_places() ? truth_.config.replicas : ReplicasWanted(1);
  }
  [[nodiscard]] bool are_enough(const StartProgress& progress, Instant now) const;
  void admit(Instant now, Answers& answers);

  const Truth& truth_;
  Starts& starts_;
  ReservedNumbers& numbers_;
  FailedStarts failed_;   // from the state that this start began with
  Instant not_before_{};  // a pause between two starts from one checkpoint
  Instant changed_{};     // when workers came or went last, on the clock of what was watched
  std::string refused_;   // the newest refusal for want of memory that was told
  // For whom no places were found: they are looked for again only where these are others, or patience is over.
  struct Tried {
    std::vector<std::pair<ProcessIncarnation, int>> choices;
    bool is_over = false;
    bool operator==(const Tried&) const = default;
  };
  std::optional<Tried> tried_;
  std::optional<Duration> wait_left_;  // for workers that lack; none: without end
  Instant looked_at_{};                // whether they lack, on the clock of what was watched
};

}  // namespace shoal
