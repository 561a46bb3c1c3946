// A data loader without an actor: its journal, its clock and those who answer are the test's. Its samples count what is
// read of them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/pipeline/dispatch.h"

namespace shoal {

class CountingSamples final : public SampleSource {
 public:
  [[nodiscard]] Result<Sample> training(StepId step, MicrobatchId microbatch) const override {
    if (unreadable) return fail(Error::kInvalidData, *unreadable);
    asked.emplace_back(step.value, microbatch.value);
    return Sample{};
  }
  [[nodiscard]] std::uint32_t evaluation_count(EvaluationExtent extent) const override {
    return extent == EvaluationExtent::kLast ? 5 : 2;
  }
  [[nodiscard]] std::uint64_t evaluation_windows(EvaluationExtent extent) const override {
    return extent == EvaluationExtent::kLast ? 10 : 4;
  }
  [[nodiscard]] Result<Sample> evaluation(MicrobatchId) const override {
    if (unreadable) return fail(Error::kInvalidData, *unreadable);
    ++evaluations_read;
    return Sample{{}, {}, 100};
  }

  std::optional<std::string> unreadable;                               // why nothing can be read
  mutable std::vector<std::pair<std::uint64_t, std::uint32_t>> asked;  // for what was trained
  mutable int evaluations_read = 0;
};

// The last stage's answer: a loss of 2 of one token.
inline Backward answer_to(const Forward& forward) {
  Backward backward;
  backward.cause = forward.cause;
  backward.purpose = forward.purpose;
  backward.loss_sum = 2;
  backward.token_count = 1;
  for (const Incarnation hop : forward.path) backward.trail.insert(backward.trail.begin(), Hop{hop, 0, 1, 0});
  return backward;
}

struct LoaderBench {
  CountingSamples samples;
  DataLoaderConfig config;
  std::unique_ptr<DataLoaderCore> core;
  Instant now = Instant{} + std::chrono::hours(1);
  std::uint64_t position = 0;
  std::vector<Letter> out;

  explicit LoaderBench(std::uint64_t target = 10) {
    config.stages = 2;
    config.microbatches = 8;
    config.credits = 3;
    config.target_steps = target;
    config.holders_timeout = std::chrono::milliseconds(500);  // nobody answers here
    restart();
  }
  void restart() { core = std::make_unique<DataLoaderCore>(config, samples); }
  void take(std::vector<Letter> letters) { out.insert(out.end(), letters.begin(), letters.end()); }
  void follow(JournalBody body) { take(core->follow({JournalPosition{++position}, {}, Term{1}, body}, now)); }
  void add(std::uint32_t stage, std::uint64_t replica) {
    follow(AddReplica{StageId{stage}, {}, Incarnation{replica}, {}, 0});
  }
  void add_two_and_two() { add(0, 1), add(0, 2), add(1, 3), add(1, 4); }
  void commit(std::uint64_t step) {
    Commit body;
    body.step = StepId{step};
    follow(body);
  }
  void tick(Duration wait = std::chrono::milliseconds(50)) {
    now += wait;
    take(core->tick(now));
  }
  void begin() { add_two_and_two(), tick(), tick(std::chrono::seconds(1)); }
  template <class Body>
  std::vector<Body> drain() {
    std::vector<Body> found;
    for (const Letter& letter : std::exchange(out, {})) {
      if (const auto* body = std::get_if<Body>(&letter.body)) found.push_back(*body);
    }
    return found;
  }
  void answer(const Forward& forward) { take(core->answered(answer_to(forward), now)); }
  // Answers everything until nothing new is sent; what was sent.
  std::vector<Forward> answer_all() {
    std::vector<Forward> all;
    for (auto sent = drain<Forward>(); !sent.empty(); sent = drain<Forward>()) {
      for (const Forward& forward : sent) {
        all.push_back(forward);
        const auto kept = std::exchange(out, {});
        answer(forward);
        out.insert(out.begin(), kept.begin(), kept.end());
      }
    }
    return all;
  }
};

}  // namespace shoal
