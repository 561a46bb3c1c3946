// Credits of every stage on a virtual clock: a slow replica of a later stage holds no more than its credits, in
// microbatches and so in bytes, and slows those that send to it and nobody else (P-14).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "runtime/pipeline/dispatch.h"

namespace shoal::stage_credits_test {
namespace {

using namespace std::chrono_literals;

struct NoText final : SampleSource {
  [[nodiscard]] Result<Sample> training(StepId, MicrobatchId) const override { return Sample{}; }
  [[nodiscard]] std::uint32_t evaluation_count(EvaluationExtent) const override { return 1; }
  [[nodiscard]] std::uint64_t evaluation_windows(EvaluationExtent) const override { return 1; }
  [[nodiscard]] Result<Sample> evaluation(MicrobatchId) const override { return Sample{}; }
};

constexpr std::uint32_t kCredits = 3;                   // two stages, 1f1b
constexpr std::uint64_t kActivationBytes = 64'000'000;  // of one microbatch, between the stages
constexpr std::uint32_t kMicrobatches = 1000;           // more than are done in the time that is looked at
constexpr Duration kLookedAt = 4s;

// Replicas that compute one microbatch after the other, in the order in which they come.
struct Pipeline {
  std::vector<Duration> first;   // time of a microbatch at each replica of stage 0
  std::vector<Duration> second;  // and of stage 1
  Duration link{};               // each way of each hop
  std::uint32_t credits_most = 0;

  struct Outcome {
    std::map<Incarnation, std::uint64_t> answered;   // by replica of stage 1
    std::map<Incarnation, std::uint64_t> most_held;  // microbatches at once: sent to it, or on the way, not answered
    [[nodiscard]] std::uint64_t all_but(Incarnation slow) const {
      std::uint64_t sum = 0;
      for (const auto& [replica, count] : answered) sum += replica == slow ? 0 : count;
      return sum;
    }
  };

  [[nodiscard]] Outcome run(Routing routing) const {
    NoText text;
    DataLoaderConfig config;
    config.stages = 2;
    config.microbatches = kMicrobatches;
    config.credits = kCredits;
    config.credits_most = credits_most;
    config.routing = routing;
    config.holders_timeout = 1s;  // nobody answers here
    DataLoaderCore loader(config, text);
    Instant now = Instant{} + 1h;
    std::uint64_t position = 0;
    std::map<Incarnation, Duration> takes;
    const auto add = [&](std::uint32_t stage, std::uint64_t replica, Duration time) {
      takes[Incarnation{replica}] = time;
      return loader.follow(
          {JournalPosition{++position}, {}, Term{1}, AddReplica{StageId{stage}, {}, Incarnation{replica}, {}, 0}}, now);
    };
    for (std::size_t i = 0; i < first.size(); ++i) (void)add(0, 1 + i, first[i]);
    for (std::size_t i = 0; i < second.size(); ++i) (void)add(1, 101 + i, second[i]);
    (void)loader.tick(now);
    now += 1s;
    Outcome outcome;
    std::map<Incarnation, Instant> free_at;
    std::map<Incarnation, std::uint64_t> held;
    std::map<MicrobatchId, std::vector<Hop>> trails;
    std::multimap<Instant, Forward> ends;
    const auto take = [&](const std::vector<Letter>& letters) {
      for (const Letter& letter : letters) {
        const auto* forward = std::get_if<Forward>(&letter.body);
        if (forward == nullptr) continue;
        Instant at = now;
        auto& trail = trails[forward->cause.microbatch];
        trail.clear();
        for (const Incarnation hop : forward->path) {
          using Milliseconds = std::chrono::duration<float, std::milli>;
          const Instant begins = std::max(at + link, free_at[hop]);
          trail.insert(trail.begin(),
                       Hop{hop, Milliseconds(begins - at - link).count(), Milliseconds(takes.at(hop)).count(), 0});
          at = begins + takes.at(hop);
          free_at[hop] = at;
        }
        at += link * static_cast<int>(forward->path.size());
        const Incarnation last = forward->path.back();
        outcome.most_held[last] = std::max(outcome.most_held[last], ++held[last]);
        ends.emplace(at, *forward);
      }
    };
    take(loader.tick(now));
    const Instant end = now + kLookedAt;
    while (!ends.empty() && ends.begin()->first < end) {
      now = ends.begin()->first;
      const Forward forward = std::move(ends.extract(ends.begin()).mapped());
      const Incarnation last = forward.path.back();
      --held[last];
      ++outcome.answered[last];
      Backward backward;
      backward.cause = forward.cause;
      backward.purpose = forward.purpose;
      backward.token_count = 1;
      backward.trail = trails.at(forward.cause.microbatch);
      take(loader.answered(backward, now));
    }
    return outcome;
  }
};

class CreditsOfEveryStage : public ::testing::TestWithParam<Routing> {};

TEST_P(CreditsOfEveryStage, ASlowConsumerHoldsItsCreditsAndSlowsNobodyElse) {
  constexpr Incarnation kSlow{104};
  const std::vector<Duration> first(4, 5ms);
  const auto with_slow = Pipeline{first, {20ms, 20ms, 20ms, 200ms}}.run(GetParam());
  const auto without = Pipeline{first, {20ms, 20ms, 20ms}}.run(GetParam());
  for (const auto& [replica, held] : with_slow.most_held) {
    EXPECT_LE(held * kActivationBytes, kCredits * kActivationBytes) << "bytes that wait for or at " << replica;
  }
  EXPECT_GE(static_cast<double>(with_slow.all_but(kSlow)), 0.95 * static_cast<double>(without.all_but(kSlow)));
  EXPECT_GE(with_slow.answered.at(kSlow), 0.9 * (kLookedAt / 200ms)) << "nor is it left idle";
}

// The control: replicas that are equal lose nothing by it.
TEST_P(CreditsOfEveryStage, EqualReplicasAreAllBusy) {
  const auto equal = Pipeline{{5ms, 5ms, 5ms, 5ms}, {20ms, 20ms, 20ms, 20ms}}.run(GetParam());
  for (const auto& [replica, answered] : equal.answered) EXPECT_GE(answered, 0.95 * (kLookedAt / 20ms)) << replica;
}

// Links that take long bring more credits; what a replica's own queue takes does not.
TEST(CreditsOfLinks, HideThemFromReplicas) {
  const Pipeline near{{20ms, 20ms}, {20ms, 20ms}, 0ms, 2 * kCredits};
  const Pipeline far{{20ms, 20ms}, {20ms, 20ms}, 15ms, 2 * kCredits};
  const Pipeline without{{20ms, 20ms}, {20ms, 20ms}, 15ms, kCredits};
  const auto held = [](const Pipeline::Outcome& outcome) {
    return std::max(outcome.most_held.at(Incarnation{101}), outcome.most_held.at(Incarnation{102}));
  };
  EXPECT_EQ(held(near.run(Routing::kIwrr)), kCredits);
  EXPECT_EQ(held(far.run(Routing::kIwrr)), 2 * kCredits);
  EXPECT_EQ(held(without.run(Routing::kIwrr)), kCredits);
  EXPECT_GT(far.run(Routing::kIwrr).all_but({}), without.run(Routing::kIwrr).all_but({}));
}

std::string name_of(const ::testing::TestParamInfo<Routing>& tested) {
  constexpr const char* kNames[] = {"Iwrr", "Uniform", "Static", "CostToGo"};
  return kNames[static_cast<int>(tested.param)];
}

INSTANTIATE_TEST_SUITE_P(OfEachPolicy, CreditsOfEveryStage,
                         ::testing::Values(Routing::kStatic, Routing::kUniform, Routing::kIwrr, Routing::kCostToGo),
                         name_of);

}  // namespace
}  // namespace shoal::stage_credits_test
