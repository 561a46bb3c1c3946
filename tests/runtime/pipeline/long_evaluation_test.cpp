// An evaluation of hundreds of thousands of microbatches: the data loader does as much for its last one as for its
// first.
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "tests/runtime/pipeline/loader_bench.h"

namespace shoal::long_evaluation_test {
namespace {

using namespace std::chrono_literals;

// As many as 20 billion tokens have at a tenth for the validation, of the usual policy.
std::uint32_t count_of(Routing routing) { return routing == Routing::kIwrr ? 200'000 : 20'000; }

struct LongText final : SampleSource {
  explicit LongText(std::uint32_t microbatches) : count(microbatches) {}
  [[nodiscard]] Result<Sample> training(StepId, MicrobatchId) const override { return Sample{}; }
  [[nodiscard]] std::uint32_t evaluation_count(EvaluationExtent) const override { return count; }
  [[nodiscard]] std::uint64_t evaluation_windows(EvaluationExtent) const override { return count; }
  [[nodiscard]] Result<Sample> evaluation(MicrobatchId) const override { return Sample{{}, {}, 7}; }

  std::uint32_t count;
};

class LongEvaluation : public testing::TestWithParam<Routing> {
 protected:
  LongEvaluation() : text_(count_of(GetParam())), loader_(config_of(GetParam()), text_) {
    for (std::uint64_t replica = 1; replica <= 5; ++replica) {
      follow(AddReplica{StageId{replica <= 2 ? 0U : 1U}, {}, Incarnation{replica}, {}, 0});
    }
    take(loader_.tick(now_));
    take(loader_.tick(now_ += 1s));
  }
  static DataLoaderConfig config_of(Routing routing) {
    DataLoaderConfig config;
    config.stages = 2;
    config.microbatches = 1;
    config.credits = 3;
    config.target_steps = 1;
    config.routing = routing;
    config.holders_timeout = 1s;  // nobody answers here
    return config;
  }
  void follow(JournalBody body) {
    take(loader_.follow({JournalPosition{++position_}, {}, Term{1}, std::move(body)}, now_));
  }
  void take(const std::vector<Letter>& letters) {
    for (const Letter& letter : letters) {
      if (const auto* forward = std::get_if<Forward>(&letter.body)) sent_.push_back(*forward);
      if (const auto* result = std::get_if<EvaluationResult>(&letter.body)) newest_ = *result;
    }
  }
  // Answers what was sent first, but leaves what one replica holds to the end: its credits are gone all the time.
  void answer_next() {
    auto next = sent_.begin();
    while (next->path.back() == kSlow && next + 1 != sent_.end()) ++next;
    const Forward forward = *next;
    sent_.erase(next);
    take(loader_.answered(answer_to(forward), now_ += 1ms));
  }

  static constexpr Incarnation kSlow{5};
  LongText text_;
  DataLoaderCore loader_;
  Instant now_ = Instant{} + 1h;
  std::uint64_t position_ = 0;
  std::deque<Forward> sent_;
  std::optional<EvaluationResult> newest_;
};

TEST_P(LongEvaluation, LooksAtEachMicrobatchAFewTimes) {
  const std::uint32_t count = count_of(GetParam());
  answer_next();
  follow(Commit{});
  ASSERT_NE(loader_.items(), nullptr);
  ASSERT_EQ(loader_.items()->size(), count);
  std::uint64_t looks = 0;
  while (loader_.items() != nullptr) {
    ASSERT_FALSE(sent_.empty());
    looks = loader_.items()->looks();
    if (loader_.items()->settled() % 1000 == 0) take(loader_.tick(now_));
    answer_next();
  }
  EXPECT_LT(looks, 100ULL * count);
  ASSERT_TRUE(newest_);
  EXPECT_TRUE(newest_->complete);
  EXPECT_EQ(newest_->token_count, count);
  EXPECT_EQ(newest_->target_bytes, 7ULL * count);
  EXPECT_EQ(newest_->windows, count);
}

std::string name_of(const testing::TestParamInfo<Routing>& tested) {
  constexpr const char* kNames[] = {"Iwrr", "Uniform", "Static", "CostToGo"};
  return kNames[static_cast<int>(tested.param)];
}

INSTANTIATE_TEST_SUITE_P(OfEachPolicy, LongEvaluation,
                         testing::Values(Routing::kStatic, Routing::kUniform, Routing::kIwrr, Routing::kCostToGo),
                         name_of);

}  // namespace
}  // namespace shoal::long_evaluation_test
