// A microbatch is approximated where two neighbouring stages hold different passes over it, and nowhere else.
#include "runtime/trace/metrics/approximated.h"

#include <gtest/gtest.h>

namespace shoal::approximated_test {
namespace {

// Microbatch 0 goes through replicas 1, 3, 5 and microbatch 1 through 2, 4, 6 of three stages.
struct ThreeStages {
  Commit commit;
  std::vector<ReplicaReport> reports;

  ThreeStages() {
    for (std::uint32_t stage = 0; stage < 3; ++stage) {
      StageCommit held{StageId{stage}, {}, 0, {}};
      for (std::uint32_t index = 0; index < 2; ++index) {
        const std::uint64_t self = 2 * stage + index + 1;
        held.manifests.push_back({Incarnation{self}, {{MicrobatchId{index}, 10, 0, {}}}});
        ReplicaReport report;
        report.stage = StageId{stage};
        report.replica = Incarnation{self};
        const Incarnation before{stage == 0 ? 0 : self - 2};
        const Incarnation after{stage == 2 ? 0 : self + 2};
        report.passes = {{MicrobatchId{index}, before, after}};
        reports.push_back(report);
      }
      commit.stages.push_back(held);
    }
  }
  MicrobatchPass& pass_of(std::uint64_t replica) { return reports.at(replica - 1).passes.at(0); }
};

TEST(Approximated, IsNothingWherePassesAreWhole) {
  const ThreeStages step;
  EXPECT_TRUE(approximated(step.commit, step.reports).empty());
}

TEST(Approximated, IsWhatWasComputedOnAnInputOfSomebodyElse) {
  ThreeStages step;
  step.pass_of(3).input_from = Incarnation{7};  // which died since
  EXPECT_EQ(approximated(step.commit, step.reports), std::set{MicrobatchId{0}});
}

TEST(Approximated, IsWhatWentBackWithAGradientOfSomebodyElse) {
  ThreeStages step;
  step.pass_of(2).gradient_from = Incarnation{3};
  EXPECT_EQ(approximated(step.commit, step.reports), std::set{MicrobatchId{1}});
}

TEST(Approximated, IsToldByANeighbourOfAMemberThatDoesNotReport) {
  ThreeStages step;
  step.pass_of(3).input_from = Incarnation{7};
  step.pass_of(2).gradient_from = Incarnation{3};
  step.reports.erase(step.reports.begin() + 2);  // replica 3
  EXPECT_EQ(approximated(step.commit, step.reports), std::set{MicrobatchId{1}});
}

}  // namespace
}  // namespace shoal::approximated_test
