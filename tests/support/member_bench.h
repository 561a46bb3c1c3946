// A member of a pipeline of two stages for tests of one replica: a0, a1 serve stage 0, b0, b1 stage 1, four
// microbatches a step; and builders of the messages it hears.
#pragma once

#include <memory>
#include <vector>

#include "tests/support/replica_bench.h"

namespace shoal {

inline constexpr RunId kRun{7};
inline constexpr Incarnation kGroup{90};
inline constexpr Incarnation kA0{10}, kA1{11}, kB0{20}, kB1{21};
inline constexpr std::uint32_t kMicrobatches = 4;

inline std::uint32_t stage_of(Incarnation replica) { return replica.value < 20 ? 0 : 1; }

struct Bench : ReplicaBench {
  explicit Bench(const ReplicaSetup& setup) : ReplicaBench(setup), self(setup.self) { begin(); }

  void journal(JournalBody body) { give(JournalEntry{JournalPosition{++entries}, {}, Term{1}, std::move(body)}); }
  void admit(Incarnation replica, std::uint64_t version = 0) {
    journal(AddReplica{StageId{stage_of(replica)}, {}, replica, ProcessIncarnation{replica.value}, version});
  }
  [[nodiscard]] OrderId order(std::uint32_t counter, std::uint64_t step = 0) const {
    return {kRun, {}, Term{1}, StageId{stage_of(self)}, StepId{step}, Epoch{kGroup, counter}};
  }
  void prepare(std::uint32_t counter) { give(Prepare{order(counter), {}}); }
  void open(std::uint32_t counter) { give(Open{order(counter)}); }
  void reduce_alone(std::uint32_t counter) { give(Reduce{order(counter), {self}, 40}); }
  [[nodiscard]] Commit commit(std::uint32_t counter, std::uint64_t step = 0) const {
    Commit entry;
    entry.step = StepId{step};
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
      entry.stages.push_back({StageId{stage}, Epoch{kGroup, counter}, 0, {}});
    }
    entry.token_count = 40;
    entry.learning_rate = 0.1;
    entry.optimizer_step = step + 1;
    return entry;
  }
  [[nodiscard]] std::vector<std::uint32_t> manifest() {
    std::vector<std::uint32_t> microbatches;
    for (const Manifest& sent_manifest : take<Manifest>()) {
      microbatches.clear();
      for (const ManifestEntry& entry : sent_manifest.entries) microbatches.push_back(entry.microbatch.value);
    }
    return microbatches;
  }

  Incarnation self;
  std::uint64_t entries = 0;
};

inline ReplicaSetup setup_of(Incarnation self) {
  ReplicaSetup setup;
  setup.run = kRun;
  setup.term = Term{1};
  setup.stage = StageId{stage_of(self)};
  setup.stage_count = 2;
  setup.self = self;
  setup.process = ProcessIncarnation{self.value};
  setup.microbatch_count = kMicrobatches;
  setup.accumulations_max = 1;
  setup.bucket_bytes = 8;
  return setup;
}

inline std::unique_ptr<Bench> make_member(Incarnation self) {
  auto bench = std::make_unique<Bench>(setup_of(self));
  for (const Incarnation replica : {kA0, kA1, kB0, kB1}) bench->admit(replica);
  bench->sent.clear();
  return bench;
}

// A training Forward for `to` as its upstream sends it.
inline Forward forward_to(Incarnation to, std::uint32_t microbatch, std::uint64_t step = 0, Incarnation sender = kA0) {
  const std::uint32_t stage = stage_of(to);
  Forward forward;
  forward.cause.run = kRun;
  forward.cause.term = Term{1};
  forward.cause.step = StepId{step};
  forward.cause.microbatch = MicrobatchId{microbatch};
  forward.cause.hop = stage;
  forward.sender = stage == 0 ? Incarnation{} : sender;
  forward.weights_version = step;
  forward.path = stage == 0 ? std::vector<Incarnation>{to, kB0} : std::vector<Incarnation>{sender, to};
  forward.input = FakeExecutor::input_of(stage, StepId{step}, MicrobatchId{microbatch});
  return forward;
}

inline Forward evaluation_to(Incarnation to, std::uint32_t microbatch, std::uint64_t version) {
  Forward forward = forward_to(to, microbatch, version);
  forward.purpose = Purpose::kEvaluate;
  return forward;
}

inline Backward backward_to_a0(std::uint32_t microbatch, std::uint64_t step = 0, Incarnation sender = kB0) {
  Backward backward;
  backward.cause = forward_to(kB0, microbatch, step).cause;
  backward.sender = sender;
  backward.weights_version = step;
  backward.trail = {Hop{sender, 1, 2, 3}};
  backward.input_gradient = FakeExecutor::input_of(1, StepId{step}, MicrobatchId{microbatch});
  backward.loss_sum = 3.5;
  backward.token_count = FakeExecutor::kTokens;
  return backward;
}

inline std::vector<RefusalReason> refusals(ReplicaBench& bench) {
  std::vector<RefusalReason> reasons;
  for (const Refusal& refusal : bench.take<Refusal>()) reasons.push_back(refusal.reason);
  return reasons;
}

using Reasons = std::vector<RefusalReason>;
using Numbers = std::vector<std::uint32_t>;

// Brings b0 to version `steps` with empty steps.
inline void commit_steps(Bench& bench, std::uint64_t steps, std::uint32_t first_counter = 1) {
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto counter = static_cast<std::uint32_t>(first_counter + step);
    bench.give(Prepare{bench.order(counter, step), {}});
    bench.give(Reduce{bench.order(counter, step), {bench.self}, 40});
    bench.journal(bench.commit(counter, step));
  }
}

}  // namespace shoal
