// The words of the emulator and what they do to which link.
#include "tests/emulator/link_rules.h"

#include <gtest/gtest.h>

#include "tests/emulator/link_names.h"

namespace shoal::link_rules_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = Instant{} + 1h;

void say(LinkRules& rules, const std::string& text, Instant now = kStart) {
  auto command = parse_link_command(text);
  ASSERT_TRUE(command.ok()) << command.failure().message;
  rules.apply(std::move(*command), now);
}

TEST(LinkRules, SayNothingOfALinkThatWasNotNamed) {
  LinkRules rules;
  say(rules, "cut node1 <-> node2");
  EXPECT_EQ(rules.faults("node1", "node3", kStart), LinkFaults{});
}

TEST(LinkRules, CutBothWaysOrOne) {
  LinkRules rules;
  say(rules, "cut node1 <-> *");
  say(rules, "cut node2 -> spawner");
  EXPECT_TRUE(rules.faults("node1", "storage", kStart).is_cut);
  EXPECT_TRUE(rules.faults("storage", "node1", kStart).is_cut);
  EXPECT_TRUE(rules.faults("node2", "spawner", kStart).is_cut);
  EXPECT_FALSE(rules.faults("spawner", "node2", kStart).is_cut);
}

TEST(LinkRules, HealByThemselvesOrByAWord) {
  LinkRules rules;
  say(rules, "cut a <-> b for_ms=500");
  say(rules, "stall a -> c");
  EXPECT_EQ(rules.next_change(kStart), kStart + 500ms);
  EXPECT_TRUE(rules.faults("b", "a", kStart + 499ms).is_cut);
  EXPECT_FALSE(rules.faults("b", "a", kStart + 500ms).is_cut);
  EXPECT_FALSE(rules.next_change(kStart + 500ms).has_value());
  EXPECT_TRUE(rules.faults("a", "c", kStart).is_stalled);
  say(rules, "heal a <-> *");
  EXPECT_FALSE(rules.faults("a", "c", kStart).is_stalled);
}

TEST(LinkRules, ShapeKeepsWhatItDoesNotName) {
  LinkRules rules;
  say(rules, "shape * <-> * delay_ms=20 jitter_ms=5");
  say(rules, "shape a -> b bytes_per_s=1250000 corrupt_per_mib=0.5 duplicate_per_mib=2");
  const LinkFaults faults = rules.faults("a", "b", kStart);
  EXPECT_EQ(faults.delay, 20ms);
  EXPECT_EQ(faults.jitter, 5ms);
  EXPECT_DOUBLE_EQ(faults.bytes_per_second, 1'250'000);
  EXPECT_DOUBLE_EQ(faults.corrupt_per_mib, 0.5);
  EXPECT_DOUBLE_EQ(faults.duplicate_per_mib, 2);
  EXPECT_DOUBLE_EQ(rules.faults("b", "a", kStart).bytes_per_second, 0);
}

TEST(LinkRules, RefuseWhatTheyDoNotUnderstand) {
  for (const char* text : {"", "cut", "cut a b", "cut a => b", "break a -> b", "shape a -> b delay=3",
                           "heal a -> b x=1", "shape a -> b delay_ms=", "shape a -> b delay_ms=-1",
                           "shape a -> b delay_ms=inf", "shape a -> b delay_ms=nan", "cut a -> b for_ms=soon"}) {
    const auto command = parse_link_command(text);
    EXPECT_FALSE(command.ok()) << text;
  }
}

TEST(LinkNames, AreThoseOfTheRun) {
  EXPECT_EQ(link_name({"/bin/shoal", "internal-spawner", "--run", "x"}), "spawner");
  EXPECT_EQ(link_name({"/bin/shoal", "internal-storage", "--run", "x"}), "storage");
  EXPECT_EQ(link_name({"/bin/shoal-worker", "node", "--name", "node2", "--device-index", "0"}), "node2");
  EXPECT_EQ(link_name({"/bin/shoal-worker", "node", "--name", "node2", "--device-index", "1"}), "node2:1");
  EXPECT_EQ(link_name({"/bin/shoal", "status"}), "operator");
  EXPECT_EQ(link_name({}), "operator");
}

}  // namespace
}  // namespace shoal::link_rules_test
