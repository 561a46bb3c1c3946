// Replicas that join while the run trains: asked for, in no view yet (P-25 .. P-27).
//
//   asked for ──StageReady──▶ compared ──version == committed steps, digest == a member's at that version──▶ admitted
//                                │ version < committed steps: late ──▶ the next commit waits for it, a bounded time
//                                │ another digest than a member's (S-3) ──▶ refused
//                                └ late again and again, or no more of its state comes ──▶ given up; a spare again
//   a state that comes so slowly that the sums of steps would, too, or that no hold is long enough for it (copy_pace.h)
//                                                                                  ──▶ given up at once; a spare again
//
// The time of a wait runs only while nothing else holds the commit up, and that of all waits together is bounded, too
// (commit_holds.h).
//
// The weights of a joiner are guarded by its digest: it is compared here with the digest of a member at the same
// version, both taken from the device's own memory. Bounded (S-6): one joiner per worker, one state per stage. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messages/storage.h"
#include "messages/supervision.h"
#include "runtime/base/time/progress_watch.h"
#include "runtime/cluster/recovery/commit_holds.h"
#include "runtime/cluster/recovery/copy_pace.h"

namespace shoal {

struct Joiner {
  SpawnStage order;
  ProcessIncarnation process;
  Instant since;
  std::optional<StageReady> ready{};  // the newest
  std::optional<Duration> took{};     // until its first state
  CommitHolds holds{};
  std::optional<Duration> hold_left{};  // while the next commit waits for it; zero: it waited in vain
  Instant hold_not_before{};
  [[nodiscard]] bool is_held() const { return hold_left > Duration::zero(); }
  ProgressWatch state{since};  // progress of its first copy
  CopyPace pace{};             // of its newest
};

enum class JoinOutcome : std::uint8_t { kAdmit, kDiffers, kHold, kHoldOver, kGiveUp };

// The step before the next commit: done where its votes and rounds are there, and it may wait for joiners alone.
// Nothing depends on it while no joiner holds the commit.
enum class StepBefore : std::uint8_t { kUnderWay, kDone };

struct JoinDecision {
  JoinOutcome outcome = JoinOutcome::kAdmit;
  Joiner joiner;
  std::string reason;
};

class JoiningReplicas {
 public:
  static constexpr Duration kSilenceMax = std::chrono::minutes(10);  // without a first state, or more of it

  // follows_sums: false with rounds, where a joiner copies what all agreed on (P-36).
  explicit JoiningReplicas(bool follows_sums = true) : follows_sums_(follows_sums) {}

  void ask(const SpawnStage& order, ProcessIncarnation process, Instant now);
  // A member says which state it has.
  void member_is(const StageReady& state);
  [[nodiscard]] bool is_asked(Incarnation joiner) const;
  // False: nobody asked for this one.
  [[nodiscard]] bool is_ready(const StageReady& ready, Instant now);
  // So many bytes of all of its state have arrived.
  void arriving(const StateProgress& of, Instant now);
  // The joiner ended, or its process did.
  std::optional<Joiner> end(Incarnation joiner);
  std::vector<Joiner> end_on(ProcessIncarnation process);
  std::vector<Joiner> end_all();

  // Returns what follows now, in order. One that is admitted, refused or given up is no joiner any more.
  [[nodiscard]] std::vector<JoinDecision> decide(std::uint64_t committed_steps, StepBefore step, Instant now);
  // The next commit waits (P-27a).
  [[nodiscard]] bool holds_commit() const;

  [[nodiscard]] const std::vector<Joiner>& joiners() const { return joiners_; }
  // Why living processes are spares that were given up as joiners, until they are asked again.
  [[nodiscard]] const std::map<ProcessIncarnation, std::string>& given_up() const { return given_up_; }

 private:
  void run_down_holds(bool is_held, Instant now);
  [[nodiscard]] std::optional<JoinDecision> judge(Joiner& joiner, std::uint64_t committed_steps, Instant now);
  [[nodiscard]] std::optional<JoinDecision> judge_late(Joiner& joiner, std::uint64_t committed_steps, Instant now);
  [[nodiscard]] std::optional<JoinDecision> judge_pace(const Joiner& joiner) const;
  // Copies, this one included, that may share the link of its donor.
  [[nodiscard]] std::size_t sharers_with(const Joiner& joiner) const;

  bool follows_sums_;
  StepPace steps_;
  HoldAccount account_;
  std::vector<Joiner> joiners_;
  std::map<ProcessIncarnation, std::string> given_up_;
  std::map<StageId, StageReady> states_;  // the newest of members
};

}  // namespace shoal
