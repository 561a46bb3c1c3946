// Tests that a person is told who answers where the spawner or storage was looked for.
#include "runtime/transport/control/answerer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/transport/control/control_port.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::answerer_test {
namespace {

using ::testing::HasSubstr;

const HostPort kAddress{"10.0.0.1", 7001};

Answerer shown(PeerRole role, const std::string& name) { return {PeerIdentity{RunId{1}, role, name}}; }

TEST(Answerer, StorageHasTheSpawnerAtThePortBeforeIt) {
  const std::string words = words_on(shown(PeerRole::kStorage, "storage"), kAddress, PeerRole::kSpawner);
  EXPECT_THAT(words, HasSubstr("storage of a run answers at 10.0.0.1:7001"));
  EXPECT_THAT(words, HasSubstr("10.0.0.1:7000"));
}

TEST(Answerer, ANodeIsNamed) {
  EXPECT_THAT(words_on(shown(PeerRole::kNode, "node2"), kAddress, PeerRole::kSpawner),
              HasSubstr("node2, a node of a run, answers at 10.0.0.1:7001, and not the spawner"));
  EXPECT_THAT(words_on(shown(PeerRole::kNode, "node2"), kAddress, PeerRole::kStorage), HasSubstr("and not storage"));
}

TEST(Answerer, ASecondSpawnerIsNotStorage) {
  EXPECT_THAT(words_on(shown(PeerRole::kSpawner, "spawner"), kAddress, PeerRole::kStorage),
              HasSubstr("the spawner of a run answers at 10.0.0.1:7001, and not storage"));
}

// It may be the spawner all the same, where that hangs: nothing is claimed.
TEST(Answerer, AStrangerDoesNotAnswerAsTheSpawnerDoes) {
  EXPECT_THAT(words_on(Answerer{}, kAddress, PeerRole::kSpawner),
              HasSubstr("something answers at 10.0.0.1:7001, and not as the spawner does"));
}

TEST(Answerer, WhoIsLookedForNeedsNoWords) {
  EXPECT_EQ(words_on(shown(PeerRole::kSpawner, "spawner"), kAddress, PeerRole::kSpawner), "");
  EXPECT_EQ(words_on(shown(PeerRole::kStorage, "storage"), kAddress, PeerRole::kStorage), "");
}

TEST(Answerer, ShowsItsNameToWhoeverAsks) {
  const test_support::TestRun run(0xa45e);
  const std::vector<PeerRole> roles = {PeerRole::kSpawner, PeerRole::kNode};
  test_support::CafProcess storage(run.files(PeerRole::kStorage, "storage"), run.policy(roles));
  const std::uint16_t port = storage.publish();
  const auto found = who_answers({"127.0.0.1", port});
  ASSERT_TRUE(found && found->shown);
  EXPECT_EQ(*found->shown, (PeerIdentity{run.run(), PeerRole::kStorage, "storage"}));
  storage.transport().close(port);
  EXPECT_TRUE(test_support::eventually([&] { return !who_answers({"127.0.0.1", port}); })) << "nobody answers";
}

TEST(Answerer, WhoSpeaksNoTlsShowsNothing) {
  const auto silent = listen_on({"127.0.0.1", 0});
  ASSERT_TRUE(silent.ok());
  const auto found = who_answers({"127.0.0.1", local_port(silent->descriptor())});
  ASSERT_TRUE(found) << "the connection comes about";
  EXPECT_FALSE(found->shown);
}

}  // namespace
}  // namespace shoal::answerer_test
