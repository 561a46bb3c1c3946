// Tests whom a router believes: certificate, Hello, role and letter have to agree.
#include "runtime/router/letter_check.h"

#include <gtest/gtest.h>

#include "tests/runtime/router/core_network.h"

namespace shoal::letter_check_test {
namespace {

using test_support::kFirst;
using test_support::kRun;
using test_support::kSecond;
using test_support::kTerm;

constexpr LinkId kLink{1};

Hello hello_of(ProcessRole role) {
  Hello hello;
  hello.protocol_version = kProtocolVersion;
  hello.run = kRun;
  hello.term = kTerm;
  hello.role = role;
  hello.name = "node2";
  return hello;
}

PeerIdentity certified(PeerRole role, const std::string& name = "node2") { return {kRun, role, name}; }

// The spawner's verdict on a letter of node2, which has greeted it and has no number yet.
std::optional<Undelivered::Why> newcomer_says(MessageBody body) {
  LinkTable links({ProcessRole::kSpawner, kSpawnerProcess, "spawner", kRun, kTerm}, {}, 1);
  EXPECT_TRUE(links.stranger(kLink, Instant{}));
  (void)links.hello(kLink, hello_of(ProcessRole::kNode), Instant{});
  return objection_to(Letter{{}, to_supervisor(), std::move(body)}, kLink, links, View());
}

// Node 3, linked with node 2; kFirst is 2's by the journal, kSecond 3's.
struct Node3 {
  LinkTable links{{ProcessRole::kNode, ProcessIncarnation{3}, "node3", kRun, kTerm}, {}, 1};
  View view;

  Node3() {
    Hello hello = hello_of(ProcessRole::kNode);
    hello.process = ProcessIncarnation{2};
    (void)links.peers({kRun, kTerm, 1, {{ProcessIncarnation{2}, ProcessRole::kNode, "node2", {"host", 2}}}});
    EXPECT_TRUE(links.stranger(kLink, Instant{}));
    (void)links.hello(kLink, hello, Instant{});
    view.apply({JournalPosition{1}, {}, kTerm, AddReplica{StageId{0}, {}, kFirst, ProcessIncarnation{2}, 0}});
    view.apply({JournalPosition{2}, {}, kTerm, AddReplica{StageId{1}, {}, kSecond, ProcessIncarnation{3}, 0}});
  }
  [[nodiscard]] std::optional<Undelivered::Why> judge(MessageBody body, LinkId link = kLink, std::uint64_t from = 2,
                                                      std::uint64_t to = 3) const {
    const Letter letter{ProcessIncarnation{from}, to_stage(ProcessIncarnation{to}, kSecond), std::move(body)};
    return objection_to(letter, link, links, view);
  }
};

TEST(LetterCheck, S7BelievesALetterOfItsSendersOwn) {
  EXPECT_FALSE(Node3().judge(StateUnavailable{kSecond, 1, "gone", kFirst}));
}

TEST(LetterCheck, S7OverALinkThatNobodyGreetedNothingIsAllowed) {
  EXPECT_EQ(Node3().judge(StateUnavailable{kSecond, 1, "gone", kFirst}, LinkId{2}), Undelivered::Why::kNotAllowed);
}

TEST(LetterCheck, S7OnlyTheSpawnerWritesTheJournal) {
  EXPECT_EQ(Node3().judge(JournalEntries{kRun, kTerm, {}}), Undelivered::Why::kNotAllowed);
}

TEST(LetterCheck, S7NobodySpeaksForAnotherProcessOrReplica) {
  const Node3 node;
  EXPECT_EQ(node.judge(StateUnavailable{kSecond, 1, "gone", kFirst}, kLink, 4), Undelivered::Why::kForged);
  EXPECT_EQ(node.judge(StateUnavailable{kSecond, 1, "gone", kSecond}), Undelivered::Why::kForged);
}

// Logs and traces of a node are written over by nobody else.
TEST(LetterCheck, S7ANodeWritesFilesOfItsOwnNameAlone) {
  FileChunk chunk;
  chunk.process = ProcessIncarnation{2};
  for (const char* own : {"node2", "node2-1", "node2-12"}) {
    chunk.name = own;
    EXPECT_EQ(Node3().judge(chunk), std::nullopt) << own;
  }
  for (const char* others : {"node", "node3", "node21", "node2-", "node2-1-1", "node2-x", "-node2", ""}) {
    chunk.name = others;
    EXPECT_EQ(Node3().judge(chunk), Undelivered::Why::kForged) << others;
  }
}

TEST(LetterCheck, ALetterForAnotherProcessIsForNobodyHere) {
  EXPECT_EQ(Node3().judge(StateUnavailable{kSecond, 1, "gone", kFirst}, kLink, 2, 4), Undelivered::Why::kNobody);
}

TEST(LetterCheck, S7AHelloClaimsTheRoleOfItsCertificate) {
  EXPECT_FALSE(objection_to(hello_of(ProcessRole::kNode), certified(PeerRole::kNode)));
  EXPECT_FALSE(objection_to(hello_of(ProcessRole::kStorage), certified(PeerRole::kStorage)));
  EXPECT_FALSE(objection_to(hello_of(ProcessRole::kSpawner), certified(PeerRole::kSpawner)));
  const auto why_not = objection_to(hello_of(ProcessRole::kStorage), certified(PeerRole::kNode));
  EXPECT_EQ(why_not, "a Hello as storage node2, whose certificate says node node2");
  EXPECT_TRUE(objection_to(hello_of(ProcessRole::kNode), std::nullopt)) << "nobody knows whose it is";
  EXPECT_FALSE(objection_to(Hello{}, std::nullopt)) << "a farewell claims nothing";
}

// Else a revoked certificate would be one under a name that nobody has revoked.
TEST(LetterCheck, S7AHelloClaimsTheNameOfItsCertificate) {
  EXPECT_FALSE(objection_to(hello_of(ProcessRole::kNode), certified(PeerRole::kNode, "node2")));
  const auto why_not = objection_to(hello_of(ProcessRole::kNode), certified(PeerRole::kNode, "other"));
  EXPECT_EQ(why_not, "a Hello as node node2, whose certificate says node other");
}

TEST(LetterCheck, S7AProcessJoinsAsWhomItsHelloNamed) {
  Join join;
  join.name = "node2";
  EXPECT_EQ(newcomer_says(join), std::nullopt);
  join.name = "other";
  EXPECT_EQ(newcomer_says(join), Undelivered::Why::kForged);
  join.name = "node2";
  join.role = ProcessRole::kStorage;
  EXPECT_EQ(newcomer_says(join), Undelivered::Why::kForged);
}

}  // namespace
}  // namespace shoal::letter_check_test
