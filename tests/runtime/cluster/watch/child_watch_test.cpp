// Which child of the supervisor is given up for its silence: after how long, how often, and when it is not to blame.
#include "runtime/cluster/watch/child_watch.h"

#include <gtest/gtest.h>

#include <set>

namespace shoal::child_watch_test {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLook = 100ms;
constexpr Duration kPatience = 1s;

// A supervisor that looks every 100 ms at children that answer unless the test says otherwise.
class Children {
 public:
  explicit Children(Duration dead_after = 10s) : watch(kPatience, dead_after) {
    watch.started("group", now);
    watch.started("loader", now);
  }
  void look() {
    now += kLook;
    for (const SilentChild& child : watch.take_silent(now)) named.push_back(child.name);
    if (!watch.is_time_to_ask(now)) return;
    ++asked;
    for (const char* name : {"group", "loader"}) {
      if (!silent.contains(name)) watch.answered(name, now);
    }
  }
  void pass(Duration duration) {
    for (Duration passed{}; passed < duration; passed += kLook) look();
  }
  // How long a child is silent until it is named; it is started again, and as silent as before.
  Duration time_to_name(const std::string& name, Duration limit = 1min) {
    silent.insert(name);
    named.clear();
    for (Duration passed = kLook; passed < limit; passed += kLook) {
      look();
      if (!named.empty()) return watch.started(name, now), passed;
    }
    return limit;
  }

  Instant now = Instant{} + 1h;
  ChildWatch watch;
  std::set<std::string> silent;
  std::vector<std::string> named;
  int asked = 0;
};

TEST(ChildWatch, NamesWhoDoesNotAnswerForASecondAndNobodyElse) {
  Children children;
  children.pass(1min);
  EXPECT_TRUE(children.named.empty());
  EXPECT_NEAR(children.asked, 200, 2) << "every 300 ms, by looks of 100";
  const Duration silence = children.time_to_name("group");
  EXPECT_GE(silence, kPatience - ChildWatch::kAskEvery - kLook);
  EXPECT_LE(silence, kPatience);
  EXPECT_EQ(children.named, std::vector<std::string>{"group"});
}

TEST(ChildWatch, GivesWhoHasNotAnsweredYetAllOfDeadAfter) {
  Children children;
  children.silent = {"group", "loader"};
  children.pass(9s);
  EXPECT_TRUE(children.named.empty());
  children.pass(1500ms);
  EXPECT_EQ(children.named.size(), 2U);
}

TEST(ChildWatch, HasMorePatienceTheMoreItReplacedInTheLastMinute) {
  Children children;
  children.pass(1s);
  for (const Duration expected : {1s, 2s, 4s, 8s, 10s, 10s}) {
    const Duration silence = children.time_to_name("group");
    EXPECT_LE(silence, expected + kLook);
    EXPECT_GE(silence, expected - 400ms);
    children.silent.clear();
    children.pass(1s);  // its successor answers
  }
  children.pass(1min);
  EXPECT_LE(children.time_to_name("group"), 1s) << "that is forgotten";
  EXPECT_LE(children.time_to_name("loader"), 1s) << "and nobody else's";
}

// The watch takes a successor that was never heard for as slow as all the others are.
TEST(ChildWatch, NamesTheSameAgainWhenNobodyTookItsPlace) {
  Children children;
  children.pass(1s);
  children.silent.insert("group");
  children.pass(1500ms);
  ASSERT_EQ(children.named.size(), 1U);
  children.pass(2200ms);
  EXPECT_EQ(children.named.size(), 2U);
}

TEST(ChildWatch, BlamesNobodyForAPauseOfItsOwn) {
  Children children;
  children.pass(1s);
  children.now += 30s;
  children.look();
  EXPECT_TRUE(children.named.empty());
  children.pass(5s);
  EXPECT_TRUE(children.named.empty());
}

TEST(ChildWatch, DoesNotNameWhoEnded) {
  Children children;
  children.pass(1s);
  children.watch.ended("group");
  children.silent.insert("group");
  children.pass(1min);
  EXPECT_TRUE(children.named.empty());
  children.watch.answered("a stranger", children.now);
  children.watch.ended("a stranger");
}

TEST(ChildWatch, SaysHowLongItHasHeardNothing) {
  Children children;
  children.pass(1s);
  EXPECT_LE(children.watch.silence_of("group", children.now), 400ms);
  children.silent.insert("group");
  children.pass(600ms);
  EXPECT_GE(children.watch.silence_of("group", children.now), 600ms);
  EXPECT_LE(children.watch.silence_of("loader", children.now), 400ms);
  EXPECT_EQ(children.watch.silence_of("a stranger", children.now), Duration{});
  children.watch.ended("group");
  EXPECT_EQ(children.watch.silence_of("group", children.now), Duration{});
}

TEST(ChildWatch, IsNeverMorePatientThanDeadAfter) {
  Children children(500ms);
  children.pass(1s);
  EXPECT_LE(children.time_to_name("group"), 500ms);
}

}  // namespace
}  // namespace shoal::child_watch_test
