// The replicas that a run begins with: asked for, in no view yet. When they may be added, or why they never can.
//
// All are added together (P-27): each at the version that the run starts with, those of a stage with equal states
// (S-3). A replica that ends before that is asked for again (failed_starts.h says how long there is any use in it). One
// that is silent loses its place, for all wait for it; how long its state may take is not bounded while more of it
// comes. Pure: time comes in.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "messages/supervision.h"
#include "runtime/base/time/progress_watch.h"
#include "runtime/cluster/replicas_wanted.h"

namespace shoal {

struct StartingReplica {
  SpawnStage order;
  ProcessIncarnation process;
  ProgressWatch state;  // progress of the state that it starts with
  std::optional<StageReady> ready{};
  Instant asked_at{}, ready_at{};
  bool was_told_to_end = false;  // by an order: its end does not say that it cannot start
};

// How far they are.
struct StartProgress {
  bool are_ready = true;                     // all that were asked for
  std::optional<StartingReplica> differs{};  // the first that is at another version, or unlike others of its stage
  std::size_t stages = 0;                    // those that have one that is ready
  Instant asked_at = Instant::max();         // for the first of them
  Instant served_at = Instant::min();        // when the last of these stages had its first
};

// One that starts, and the stage that needs its worker more.
struct StartMove {
  StartingReplica from;
  StageId to;
};

class StartingReplicas {
 public:
  static constexpr Duration kSilenceMax = std::chrono::minutes(10);  // without a state, or more of it

  void ask(const SpawnStage& order, ProcessIncarnation process, Instant now) {
    asked_.push_back({.order = order, .process = process, .state = ProgressWatch(now), .asked_at = now});
  }
  // So many bytes of its state have arrived.
  void arriving(Incarnation replica, std::uint64_t bytes, Instant now);
  // Gives up those that have been silent for too long. Returns them.
  [[nodiscard]] std::vector<StartingReplica> take_silent(Instant now);
  // False: nobody asked for this one.
  bool is_ready(const StageReady& ready, Instant now);
  void told_to_end(Incarnation replica);
  // Nothing: it is none of them.
  [[nodiscard]] std::optional<StartingReplica> ended(Incarnation replica);
  void end_on(ProcessIncarnation process);
  // Ends them all; what becomes of them is decided elsewhere.
  std::vector<StartingReplica> end_all();
  // Takes one of a stage that has several: its worker starts another for a stage that has nobody.
  [[nodiscard]] std::optional<StartMove> take_spare(std::uint32_t stages);
  // Takes those that are ready, to be added: by slot, the stages of each in order.
  [[nodiscard]] std::vector<StartingReplica> take_ready();

  [[nodiscard]] StartProgress compare(std::uint64_t version) const;
  [[nodiscard]] const std::vector<StartingReplica>& all() const { return asked_; }
  [[nodiscard]] std::size_t ready_count() const;
  [[nodiscard]] int count_of(StageId stage) const;
  [[nodiscard]] bool is_asked(Incarnation replica) const;
  [[nodiscard]] bool is_on(ProcessIncarnation process) const;
  // The first of the stage that has the fewest and lacks some; nothing: all are taken.
  [[nodiscard]] std::optional<std::pair<StageId, ReplicaId>> free_place(std::uint32_t stages,
                                                                        const ReplicasWanted& replicas) const;

 private:
  [[nodiscard]] std::vector<std::size_t> count_by_stage(std::uint32_t stages) const;

  std::vector<StartingReplica> asked_;
};

}  // namespace shoal
