// Two sites whose link to each other breaks for good, while both reach the spawner: each has all replicas of one stage,
// so that neither has a pipeline. What is left goes on in one of them (P-29c), and the other comes back with the link.
//
// The run stands for a minute first: SHOAL_LONG_TESTS=1 in the environment runs it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/system/network/run_on_hosts.h"

namespace shoal::sites_test {
namespace {

class Sites : public RunOnHosts {
 protected:
  void SetUp() override {
    if (std::getenv("SHOAL_LONG_TESTS") == nullptr) GTEST_SKIP() << "SHOAL_LONG_TESTS is not set";
    if (!hosts.are_there()) GTEST_SKIP() << hosts.why_not();
  }
  // The hosts that serve the stage.
  std::set<int> hosts_of(int stage) {
    std::set<int> found;
    for (const auto& actor : nlohmann::json::parse(ask_on_boss({"ps", "--json"}))) {
      const auto name = actor.at("name").get<std::string>();
      if (!name.starts_with("stage/" + std::to_string(stage) + "/")) continue;
      for (int host = 1; host < kBoss; ++host) {
        if (actor.at("node") == name_of(host)) found.insert(host);
      }
    }
    return found;
  }
  void cut_apart(const std::set<int>& one, const std::set<int>& other) {
    for (const int here : one) {
      for (const int there : other) {
        hosts.cut(here, there);
        hosts.cut(there, here);
      }
    }
  }
};

TEST_F(Sites, CutApartGoOnInOneOfThemAndInBothWhenTheLinkIsBack) {
  const SmallRun small{2, 2, kEndless, {"sync.reduction=exact", "checkpoint.every=1000"}};
  Program& boss = start_spawner(small);
  const Words join = wait_for_join_words(boss);
  for (int host = 1; host < kBoss; ++host) start_node(host, join);
  ASSERT_TRUE(scene.wait_for_steps(6)) << boss.err();
  const std::set<int> one = hosts_of(0);
  const std::set<int> other = hosts_of(1);
  ASSERT_EQ(one.size(), 2U);
  ASSERT_EQ(other.size(), 2U);
  cut_apart(one, other);
  ASSERT_TRUE(hosts.are_there()) << hosts.why_not();
  const auto cut = std::chrono::steady_clock::now();
  const std::size_t before = scene.records().steps.size();
  // Steps that are on their way may still end; those after them take another placement.
  ASSERT_TRUE(wait_until([&] { return scene.records().steps.size() >= before + 20; }, Milliseconds{150'000}))
      << boss.err() << ask_on_boss({"status"});
  EXPECT_GT(std::chrono::steady_clock::now() - cut, std::chrono::seconds(55));
  std::set<int> serving = hosts_of(0);
  serving.merge(hosts_of(1));
  EXPECT_TRUE(serving == one || serving == other) << ask_on_boss({"ps"});
  for (int host = 1; host < kBoss; ++host) hosts.mend(host);
  ASSERT_TRUE(hosts.are_there()) << hosts.why_not();
  ASSERT_TRUE(wait_until([&] { return hosts_of(0).size() + hosts_of(1).size() == 4; }, Milliseconds{120'000}))
      << ask_on_boss({"ps"}) << ask_on_boss({"status"});
  ASSERT_TRUE(goes_on()) << boss.err();
  ASSERT_TRUE(scene.stop_and_repeat_single(boss, small));
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

}  // namespace
}  // namespace shoal::sites_test
