// Tests who may speak in the name of which replica.
#include "runtime/cluster/watch/sender_check.h"

#include <gtest/gtest.h>

namespace shoal::sender_check_test {
namespace {

constexpr Incarnation kMember{11};
constexpr ProcessIncarnation kHome{1};
constexpr ProcessIncarnation kElsewhere{2};

View view_of_one() {
  View view;
  view.apply({JournalPosition{1}, Branch{}, Term{1}, AddReplica{StageId{0}, {}, kMember, kHome, 0}});
  return view;
}

std::vector<MessageBody> words_of(Incarnation replica) {
  Forward forward;
  forward.sender = replica;
  Backward backward;
  backward.sender = replica;
  Refusal refusal;
  refusal.sender = replica;
  Ask ask;
  ask.sender = replica;
  AskAnswer answer;
  answer.sender = replica;
  Manifest manifest;
  manifest.member = replica;
  Reduced reduced;
  reduced.member = replica;
  Part part;
  part.member = replica;
  PartsSent mark;
  mark.member = replica;
  MissingParts missing;
  missing.member = replica;
  Progress progress;
  progress.member = replica;
  StageEnded ended;
  ended.replica = replica;
  SaveShard shard;
  shard.replica = replica;
  ReplicaReport report;
  report.replica = replica;
  StateProgress arriving;
  arriving.replica = replica;
  StateImage image;
  image.donor = replica;
  StepSum sum;
  sum.donor = replica;
  StateUnavailable refused;
  refused.donor = replica;
  return {forward, backward, refusal, ask,   answer, manifest, reduced, part, mark,
          missing, progress, ended,   shard, report, arriving, image,   sum,  refused};
}

TEST(SenderCheck, AReplicaSpeaksFromItsOwnProcessAlone) {
  const View view = view_of_one();
  for (const MessageBody& word : words_of(kMember)) {
    EXPECT_TRUE(is_replica_its_own(view, kHome, word)) << word.index();
    EXPECT_FALSE(is_replica_its_own(view, kElsewhere, word)) << word.index();
  }
}

TEST(SenderCheck, OfAShardOnItsWayStorageSpeaks) {
  StateProgress arriving;
  arriving.replica = kMember;
  arriving.is_shard = true;
  EXPECT_TRUE(is_replica_its_own(view_of_one(), kElsewhere, arriving));
}

TEST(SenderCheck, WhomTheViewDoesNotKnowIsLetPass) {
  const View view = view_of_one();
  for (const MessageBody& word : words_of(Incarnation{99})) EXPECT_TRUE(is_replica_its_own(view, kElsewhere, word));
}

TEST(SenderCheck, OnlyTheSpawnerSpeaksForNobody) {
  const View view = view_of_one();
  Forward forward;
  EXPECT_TRUE(is_replica_its_own(view, kSpawnerProcess, forward));
  EXPECT_FALSE(is_replica_its_own(view, kHome, forward));
}

TEST(SenderCheck, WordsWithoutASenderAreNotItsBusiness) {
  EXPECT_TRUE(is_replica_its_own(view_of_one(), kElsewhere, Heartbeat{kHome, 1, 0, {}}));
  StateImage image;
  image.replica = kMember;  // the receiver; storage gave it
  EXPECT_TRUE(is_replica_its_own(view_of_one(), kElsewhere, image));
}

}  // namespace
}  // namespace shoal::sender_check_test
