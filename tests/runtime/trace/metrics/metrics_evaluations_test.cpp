// Which evaluations are records: the two kinds are told apart, and a part of the last one is shown only.
#include <gtest/gtest.h>

#include "runtime/trace/metrics/metrics_core.h"

namespace shoal {
namespace {

MetricsCore core_with(const std::optional<WrittenLines>& written = WrittenLines{}) {
  MetricsCore core({4, 100});
  core.begin({}, written, Instant{});
  return core;
}

// The two kinds may be of one step: of a run that was lengthened after its end.
TEST(MetricsEvaluations, OfAnotherKindOrSizeAreNotTheOneThatIsWritten) {
  const auto lines_of = [](bool is_final, std::uint64_t windows, bool is_now_final) {
    const WrittenEvaluation written{Branch{0}, 2, 0.5, is_final, windows};
    MetricsCore core = core_with(WrittenLines{WrittenStep{Branch{0}, StepId{1}}, written});
    return core.on(EvaluationResult{Branch{0}, 2, 5, 10, 10, is_now_final, 40, 40}, Instant{}).size();
  };
  EXPECT_EQ(lines_of(true, 40, true), 0U);
  EXPECT_EQ(lines_of(false, 40, false), 0U);
  EXPECT_EQ(lines_of(true, 40, false), 1U);
  EXPECT_EQ(lines_of(false, 40, true), 1U);
  EXPECT_EQ(lines_of(true, 20, true), 1U);
}

TEST(MetricsEvaluations, APartOfTheLastOneIsShownAndNoRecord) {
  MetricsCore core = core_with();
  const auto shown = core.on(EvaluationResult{Branch{0}, 2, 5, 10, 10, false, 16, 40}, Instant{});
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(std::get<EvalProgress>(shown[0]).windows, 16U);
  EXPECT_EQ(std::get<EvalProgress>(shown[0]).windows_planned, 40U);
  const auto whole = core.on(EvaluationResult{Branch{0}, 2, 5, 10, 10, true, 40, 40}, Instant{});
  ASSERT_EQ(whole.size(), 1U);
  const auto& record = std::get<EvalRecord>(whole[0]);
  EXPECT_TRUE(record.is_final);
  EXPECT_EQ(record.windows, 40U);
  EXPECT_EQ(record.tokens, 10U);
}

}  // namespace
}  // namespace shoal
