// The next failure of `shoal chaos`: the same for the same seed, of the kinds that were asked for, and sooner or later
// everybody.
#include "runtime/cluster/operate/chaos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "runtime/base/compose.h"

namespace shoal::chaos_test {
namespace {

using testing::HasSubstr;

std::vector<std::string> some_names() {
  return {"stage/0/0", "stage/0/1", "stage/1/0",    "stage/1/1",  "router/node1", "router/spawner", "node_agent/node1",
          "metrics",   "control",   "sync_group/0", "supervisor", "data_loader",  "node1",          "node2"};
}

std::set<std::string> all_kinds() { return {chaos_kinds().begin(), chaos_kinds().end()}; }

TEST(Chaos, TheKindOfANameIsWhatStandsBeforeItsPlace) {
  EXPECT_EQ(kind_of("stage/1/0"), "stage");
  EXPECT_EQ(kind_of("node_agent/node2"), "node_agent");
  EXPECT_EQ(kind_of("storage"), "storage");
  EXPECT_EQ(kind_of("node2"), "node");
  EXPECT_EQ(kind_of("some-host-17"), "node");
}

TEST(Chaos, TheSameSeedChoosesTheSameWhateverTheOrderOfNames) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  auto names = some_names();
  int differences = 0;
  for (std::uint64_t number = 0; number < 200; ++number) {
    const auto choice = choose_failure({seed, all_kinds()}, number, some_names());
    std::shuffle(names.begin(), names.end(), random);
    ASSERT_EQ(choose_failure({seed, all_kinds()}, number, names), choice);
    differences += choose_failure({seed + 1, all_kinds()}, number, names) == choice ? 0 : 1;
  }
  EXPECT_GT(differences, 150) << "another seed is another storm";
}

TEST(Chaos, OnlyTheKindsThatWereAskedForFail) {
  std::set<InjectKind> ways;
  for (std::uint64_t number = 0; number < 300; ++number) {
    const auto choice = choose_failure({7, {"stage", "node"}}, number, some_names());
    ASSERT_TRUE(choice.has_value());
    EXPECT_TRUE(kind_of(choice->name) == "stage" || kind_of(choice->name) == "node") << choice->name;
    EXPECT_NE(choice->how.how, InjectKind::kFreeze) << "silence is a kind of its own";
    ways.insert(choice->how.how);
  }
  EXPECT_EQ(ways.size(), inject_kind_count() - 1);
}

TEST(Chaos, EveryNameAndEveryWayComesUpAndSilencesAreShort) {
  std::map<std::string, int> names;
  std::map<InjectKind, int> ways;
  for (std::uint64_t number = 0; number < 3000; ++number) {
    const auto choice = choose_failure({3, all_kinds()}, number, some_names());
    ++names[choice->name];
    ++ways[choice->how.how];
    if (choice->how.how != InjectKind::kFreeze) continue;
    EXPECT_GE(choice->how.freeze_ms, 500U);
    EXPECT_LE(choice->how.freeze_ms, 5000U);
  }
  EXPECT_EQ(names.size(), some_names().size());
  EXPECT_EQ(ways.size(), inject_kind_count());
  EXPECT_GT(names["supervisor"], names["stage/0/0"]) << "kinds are drawn first";
}

TEST(Chaos, NobodyThereIsNoFailure) {
  EXPECT_FALSE(choose_failure({1, all_kinds()}, 0, {}).has_value());
  EXPECT_FALSE(choose_failure({1, {"storage"}}, 0, some_names()).has_value());
}

TEST(Chaos, KindsAreWordsWithCommasOrSpaces) {
  EXPECT_EQ(*parse_chaos_kinds("stage, node freeze"), (std::set<std::string>{"freeze", "node", "stage"}));
  EXPECT_EQ(*parse_chaos_kinds("stage,node,freeze"), (std::set<std::string>{"freeze", "node", "stage"}));
  EXPECT_THAT(parse_chaos_kinds("stages").failure().message, HasSubstr("did you mean 'stage'"));
  EXPECT_FALSE(parse_chaos_kinds("").ok());
  EXPECT_FALSE(parse_chaos_kinds("freeze").ok()) << "somebody has to be silent";
}

}  // namespace
}  // namespace shoal::chaos_test
