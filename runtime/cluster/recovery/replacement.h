// Chooses the worker for a slot that a stage lost while the run trains, and how often one may try. Pure, says why.
//
// A mover goes where it is to serve. Then, a stage that lacks replicas first, of several the one with the fewest, and
// of those the weakest where machines are unequal; where replicas are moved by capacity, the stage that has least of
// it, as long as the run as a whole lacks some. Of the free workers: the one that served the slot before (its process
// was started again, or only its actor ended), else one whose node serves the stage least, then the least used node,
// then the one that joined first. Beyond `replicas` a stage grows only where `replicas_max` says so; all other workers
// are spares.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/arithmetic/jitter.h"
#include "runtime/base/clock.h"
#include "runtime/cluster/balance/machine_places.h"
#include "runtime/cluster/placement.h"

namespace shoal {

// A slot of a stage that somebody serves, or is on the way to.
struct TakenSlot {
  StageId stage;
  ReplicaId slot;
  std::string node;
  ProcessIncarnation process{};
  bool is_leaving = false;  // its place is free already for another, under another number
};

struct FreeWorker {
  Worker worker;
  std::string name;                  // node, or node:device; the same when its process was started again
  std::set<StageId> out_of_reach{};  // stages where it would have to talk to somebody whom it does not reach
};

struct ReplacementQuestion {
  std::uint32_t stages = 0;
  ReplicasWanted replicas;
  std::uint32_t replicas_max = 0;  // each stage may have; not above what it wants: no more than that
  std::vector<TakenSlot> taken;
  std::vector<FreeWorker> free;
  std::map<std::pair<StageId, ReplicaId>, std::string> last_worker;  // by name
  std::vector<FreeWorker> sharing{};  // workers that serve and may have more; none unless devices are shared
  std::set<StageId> closed{};         // stages that get nobody now
  std::map<ProcessIncarnation, StageId> destinations{};  // of free workers that move there
  // By stage, with those to come: they decide, and any stage may grow while the run lacks replicas; empty: counts do.
  std::vector<double> capacities{};
  std::vector<double> strengths{};  // by stage: between those with as many where counts decide; empty: all are alike
  std::uint32_t limit = 0;          // of each stage where capacities decide; 0: none
  std::vector<StageNeed> needs{};   // of each stage, for those who share; empty: not known
};

struct Replacement {
  Placement placement;
  std::string reason;
};

[[nodiscard]] ReplicaId lowest_free_slot(const ReplacementQuestion& question, StageId stage);
// Nothing: no stage lacks anybody, or nobody is free.
[[nodiscard]] std::optional<Replacement> plan_replacement(const ReplacementQuestion& question);

// How often replicas may be started on one worker after they ended there.
//
//   1st end: again at once; then after 100, 200, ... ms, a quarter more or less; past `budget` within `window`: it
//   rests until the window has passed, and whoever watches it should know.
//
// Bounded: budget + 1 instants for each worker that had an end within the window.
class StartBudget {
 public:
  StartBudget(std::size_t budget, Duration window, std::uint64_t seed)
      : budget_(budget), window_(window), jitter_(seed) {}

  // True: this one was one too many; said once for each rest.
  [[nodiscard]] bool failed(const std::string& worker, Instant now);
  void rest(const std::string& worker, Instant until);
  [[nodiscard]] bool may_start(const std::string& worker, Instant now) const;
  // True while a worker pauses after ends of its own: not even where there is nobody else may it start.
  [[nodiscard]] bool must_pause(const std::string& worker, Instant now) const;

 private:
  struct Record {
    std::deque<Instant> ends;  // those of the window
    Instant not_before{};      // after those
    Instant rests_until{};     // as it was told to
  };

  std::size_t budget_;
  Duration window_;
  Jitter jitter_;
  std::map<std::string, Record> records_;
};

}  // namespace shoal
