// Tests when a certificate is looked after, and what is taken for its successor.
#include "runtime/transport/control/renewal.h"

#include <gtest/gtest.h>

#include "tests/runtime/transport/test_run.h"

namespace shoal::renewal_test {
namespace {

using namespace std::chrono_literals;
using test_support::TestRun;

const WallTime kFrom(std::chrono::seconds(1'800'000'000));

TEST(Renewal, LooksWhenItIsDueAndSoonAgainUntilItIsDone) {
  const Validity short_one{kFrom, kFrom + 90s};
  EXPECT_EQ(until_next_look(short_one, kFrom), 60s);
  EXPECT_EQ(until_next_look(short_one, kFrom + 59s), 1s);
  EXPECT_EQ(until_next_look(short_one, kFrom + 60s), 3s);
  EXPECT_EQ(until_next_look(short_one, kFrom + 89s), 500ms);
  EXPECT_EQ(until_next_look(short_one, kFrom + 500s), 500ms);
  const Validity usual = usual_validity(kFrom);
  EXPECT_EQ(until_next_look(usual, kFrom), 1h) << "clocks jump";
  EXPECT_EQ(until_next_look(usual, usual.not_after - 100min), 10min);
}

// Looking only when told to, every one that is good for long enough is renewed before it expires.
TEST(Renewal, ComesBeforeTheEndForEveryLifetime) {
  for (const auto lifetime : {3s, 10s, 600s, 86'400s, 31'536'000s}) {
    const Validity validity{kFrom, kFrom + lifetime};
    WallTime now = kFrom;
    while (!is_due_for_renewal(validity, now)) now += until_next_look(validity, now);
    EXPECT_LT(now, validity.not_after - lifetime / 7) << lifetime.count();
  }
}

TEST(Renewal, KeepsIdentityAndKey) {
  const TestRun run(7);
  const PeerIdentity node1{run.run(), PeerRole::kNode, "node1"};
  const auto before = run.authority().issue(node1, usual_validity(kFrom)).value();
  const auto sign_as = [&](const std::string& name) {
    return [&run, name](const std::string& request) {
      return run.authority().sign(request, {run.run(), PeerRole::kNode, name}, usual_validity(kFrom));
    };
  };
  const auto after = renewed(before, sign_as("node1"));
  ASSERT_TRUE(after.ok()) << after.failure().message;
  EXPECT_EQ(after->key, before.key);
  EXPECT_EQ(after->ca, before.ca);
  EXPECT_NE(after->certificate, before.certificate);
  EXPECT_EQ(identity_of(after->certificate).value(), node1);
  EXPECT_EQ(renewed(before, sign_as("node2")).failure().error, Error::kInvalidData) << "somebody else's";
  const auto nonsense = [](const std::string&) { return Result<std::string>(std::string("no certificate")); };
  EXPECT_EQ(renewed(before, nonsense).failure().error, Error::kInvalidData);
}

}  // namespace
}  // namespace shoal::renewal_test
