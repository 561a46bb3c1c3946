// The oracle's own check of S-1, by itself: whatever the simulation finds of it rests on these lines.
#include <gmock/gmock.h>

#include "tests/support/simulation/verdict.h"

namespace shoal::verdict_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kPlanned = 4;

using Counted = std::vector<std::vector<std::uint32_t>>;  // one list per member

[[nodiscard]] std::vector<std::string> judged(const Counted& members, const std::set<MicrobatchId>& left_out = {}) {
  std::vector<MemberManifest> manifests;
  for (const auto& microbatches : members) {
    MemberManifest manifest{Incarnation{10 + manifests.size()}, {}};
    for (const std::uint32_t microbatch : microbatches) {
      ManifestEntry entry;
      entry.microbatch = MicrobatchId{microbatch};
      manifest.entries.push_back(entry);
    }
    manifests.push_back(std::move(manifest));
  }
  return exactly_once_violations(manifests, kPlanned, left_out);
}

TEST(ExactlyOnce, HoldsForAnyDivisionOfTheStep) {
  EXPECT_THAT(judged({{0, 1, 2, 3}}), IsEmpty());
  EXPECT_THAT(judged({{2, 0}, {}, {3, 1}}), IsEmpty());
  EXPECT_THAT(judged({{2, 0}, {1}}, {MicrobatchId{3}}), IsEmpty());
}

TEST(ExactlyOnce, IsBrokenByADroppedMicrobatch) {
  EXPECT_THAT(judged({{0, 1}, {3}}), ElementsAre("microbatch 2 is counted 0 times"));
  EXPECT_THAT(judged({{0, 1, 2}, {}}), ElementsAre("microbatch 3 is counted 0 times"));
  EXPECT_EQ(judged({}).size(), kPlanned);
}

TEST(ExactlyOnce, IsBrokenByADoubledMicrobatch) {
  EXPECT_THAT(judged({{0, 1}, {1, 2, 3}}), ElementsAre("microbatch 1 is counted 2 times"));
  EXPECT_THAT(judged({{0, 0, 1, 2, 3}}), ElementsAre("microbatch 0 is counted 2 times"));
  // The count of all is right.
  EXPECT_THAT(judged({{0, 1}, {1, 3}}),
              ElementsAre("microbatch 1 is counted 2 times", "microbatch 2 is counted 0 times"));
}

TEST(ExactlyOnce, IsBrokenByAForeignMicrobatch) {
  EXPECT_THAT(judged({{0, 1, 2, 3, 4}}), ElementsAre("microbatch 4 is not of the step"));
  EXPECT_THAT(judged({{0, 1}, {2, 3}}, {MicrobatchId{2}}), ElementsAre("microbatch 2 is not of the step"));
}

TEST(Verdict, CallsAnActorThatACheckEndedABug) {
  const RunEvent bug{RunEventKind::kRestarted, "sync_group/0",
                     "exception: ../a.cpp:3: ENSURE(a == b) failed: they are one", 0};
  const RunEvent fault{RunEventKind::kRestarted, "sync_group/0", "exception: injected", 0};
  EXPECT_EQ(bug_violations({fault, bug}).size(), 1U);
  EXPECT_TRUE(bug_violations({fault}).empty());
}

}  // namespace
}  // namespace shoal::verdict_test
