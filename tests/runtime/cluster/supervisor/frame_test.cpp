// The order in which the frame settles what comes in: through all duties, facts depth first.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/supervisor_bench.h"

namespace shoal::frame_test {
namespace {

// Returns where the first effect of a kind stands that is meant; their number when there is none.
template <class Effect, class Meant>
std::size_t place_of(const SupervisorEffects& effects, const Meant& meant) {
  const auto found = std::ranges::find_if(effects, [&](const SupervisorEffect& effect) {
    const auto* one = std::get_if<Effect>(&effect);
    return one != nullptr && meant(*one);
  });
  return static_cast<std::size_t>(found - effects.begin());
}

std::size_t place_of_event(const SupervisorEffects& effects, RunEventKind kind) {
  return place_of<Letter>(effects, [&](const Letter& letter) {
    const auto* event = std::get_if<RunEvent>(&letter.body);
    return event != nullptr && event->kind == kind;
  });
}

template <class Body>
std::size_t place_of_entry(const SupervisorEffects& effects) {
  return place_of<AppendEntry>(effects,
                               [](const AppendEntry& effect) { return std::holds_alternative<Body>(effect.body); });
}

TEST(Frame, SettlesAFactWithAllThatFollowsBeforeTheRestOfItsAnswer) {
  SupervisorBench bench;
  bench.train();
  bench.hear(ProcessLost{ProcessIncarnation{1}, "the link broke"});
  Join again;
  again.name = "node1";
  again.nonce = 77;
  again.previous = ProcessIncarnation{1};
  const SupervisorEffects effects = bench.core.hear(again, bench.now);
  const std::size_t welcome =
      place_of<Letter>(effects, [](const Letter& letter) { return std::holds_alternative<Welcome>(letter.body); });
  EXPECT_LT(place_of_event(effects, RunEventKind::kProcessLost), place_of_entry<RemoveReplica>(effects));
  EXPECT_LT(place_of_entry<RemoveReplica>(effects), welcome);
  EXPECT_LT(welcome, place_of_event(effects, RunEventKind::kJoined));
}

TEST(Frame, HandsAMessageToTheDutiesInTheirOrder) {
  SupervisorConfig config = two_by_two();
  config.microbatches = 4;
  SupervisorBench bench(config);
  bench.train();
  const ComputedMicrobatch work{StepId{0}, MicrobatchId{3}};
  const auto& members = bench.core.view().replicas_of(StageId{0});
  const StageEnded last{StageId{0}, members[1].incarnation, "a bug", work};
  bench.hear(StageEnded{StageId{0}, members[0].incarnation, "a bug", work});
  const SupervisorEffects effects = bench.core.hear(last, bench.now);
  EXPECT_LT(place_of_entry<Quarantine>(effects), place_of_event(effects, RunEventKind::kStageEnded));
  EXPECT_LT(place_of_event(effects, RunEventKind::kStageEnded), place_of_event(effects, RunEventKind::kStageLost));
  EXPECT_LT(place_of_event(effects, RunEventKind::kStageLost), effects.size());
}

}  // namespace
}  // namespace shoal::frame_test
