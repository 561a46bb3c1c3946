// An evaluation from its Forward to its answer.
#include "runtime/pipeline/replica/evaluations.h"

#include <gtest/gtest.h>

#include "runtime/pipeline/replica_fill.h"
#include "tests/runtime/pipeline/replica/part_bench.h"

namespace shoal::evaluations_test {
namespace {

// b0 is of the last stage, a0 of the first.
struct Bed {
  explicit Bed(Incarnation self) : bench(setup_of(self)) {}
  bool enter(const Forward& message) {
    const bool is_new = evaluations.enter(message, 0, bench.turn);
    bench.collect();
    return is_new;
  }
  void compute(std::uint32_t microbatch) {
    evaluations.start(MicrobatchId{microbatch}, bench.turn);
    bench.collect();
    bench.turn.complete(bench.turn.now() + std::chrono::milliseconds(2));
    EvaluateResult result;
    result.loss_sum = 1.5;
    result.token_count = 8;
    evaluations.computed(Evaluated{MicrobatchId{microbatch}, result}, bench.turn);
    bench.collect();
  }

  PartBench bench;
  Evaluations evaluations{kMicrobatches};
};

Backward answer_from_b0(std::uint32_t microbatch) {
  Backward answer = backward_to_a0(microbatch);
  answer.purpose = Purpose::kEvaluate;
  return answer;
}

TEST(Evaluations, AreComputedOnceAndAnsweredToEveryAsker) {
  Bed bed(kB0);
  EXPECT_TRUE(bed.enter(evaluation_to(kB0, 1, 0)));
  Forward of_another = evaluation_to(kB0, 1, 0);
  of_another.sender = kA1;
  EXPECT_FALSE(bed.enter(of_another));
  EXPECT_FALSE(bed.enter(of_another)) << "its repeat waits once";
  bed.compute(1);
  const auto answers = bed.bench.take_letters<Backward>();
  ASSERT_EQ(answers.size(), 2U);
  for (const Backward& answer : answers) {
    EXPECT_EQ(answer.purpose, Purpose::kEvaluate);
    EXPECT_EQ(answer.loss_sum, 1.5);
    ASSERT_EQ(answer.trail.size(), 1U);
    EXPECT_FLOAT_EQ(answer.trail[0].compute_ms, 2);
    EXPECT_FALSE(answer.input_gradient.has_value());
  }
  EXPECT_FALSE(bed.evaluations.holds(MicrobatchId{1}));
}

TEST(Evaluations, OfAnEarlierStageWaitForTheAnswerOfTheNextOne) {
  Bed bed(kA0);
  EXPECT_TRUE(bed.enter(evaluation_to(kA0, 1, 0)));
  EXPECT_FALSE(bed.evaluations.take(answer_from_b0(1), bed.bench.turn)) << "it has asked nobody yet";
  bed.compute(1);
  EXPECT_EQ(bed.bench.take_letters<Forward>().at(0).cause.hop, 1U);
  EXPECT_TRUE(bed.bench.take_letters<Backward>().empty());
  EXPECT_TRUE(bed.evaluations.take(answer_from_b0(1), bed.bench.turn));
  bed.bench.collect();
  const auto answers = bed.bench.take_letters<Backward>();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].trail.size(), 2U);
  EXPECT_FALSE(bed.evaluations.take(answer_from_b0(1), bed.bench.turn)) << "the answer to a repeat";
}

TEST(Evaluations, BeyondTheBoundAreRefused) {
  Bed bed(kB0);
  std::uint32_t at = 0;
  while (bed.enter(evaluation_to(kB0, at, 0))) ++at;
  EXPECT_EQ(at, bed.evaluations.size_max());
  EXPECT_EQ(at, std::max<std::size_t>(kEvaluationsMax, 2 * kMicrobatches));
  const auto refused = bed.bench.take_letters<Refusal>();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].reason, RefusalReason::kBusy);
}

}  // namespace
}  // namespace shoal::evaluations_test
