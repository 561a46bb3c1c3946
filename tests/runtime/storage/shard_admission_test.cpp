// Whose shards are taken: what a real saver sends always is, however late the journal comes; what others send never is.
#include "runtime/storage/shard_admission.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "runtime/base/compose.h"
#include "tests/runtime/storage/shards.h"
#include "tests/support/bounds/knobs.h"

namespace shoal::shard_admission_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = Instant{} + 1h;
constexpr ProcessIncarnation kHome{9};       // of those that Entries adds
constexpr ProcessIncarnation kStranger{66};  // a process of the run that serves nothing

// A journal that goes on after view_of().
class Entries {
 public:
  JournalEntry operator()(JournalBody body) { return {JournalPosition{++position_}, branch, Term{1}, std::move(body)}; }
  JournalEntry commit(std::uint64_t step) {
    Commit commit;
    commit.step = StepId{step};
    return (*this)(commit);
  }
  JournalEntry add(std::uint32_t stage, Incarnation replica, std::uint64_t version) {
    return (*this)(AddReplica{StageId{stage}, {}, replica, kHome, version});
  }
  JournalEntry remove(std::uint32_t stage, Incarnation replica) {
    return (*this)(RemoveReplica{StageId{stage}, replica, "a test"});
  }
  Branch branch;

 private:
  std::uint64_t position_ = 1000;
};

SaveShard by(Incarnation replica, SaveShard shard, ProcessIncarnation process = kHome) {
  shard.replica = replica;
  shard.process = process;
  return shard;
}
SaveShard from(ProcessIncarnation process, SaveShard shard) {
  shard.process = process;
  return shard;
}

// "taken", "refused", "dropped" or "held".
std::string word_of(const ShardAdmission::Decisions& decisions) {
  if (!decisions.taken.empty()) return "taken";
  if (!decisions.refused.empty()) return "refused";
  return decisions.dropped.empty() ? "held" : "dropped";
}

struct Admission {
  Admission() { (void)core.begin_at(view_of(2, 10, 1)); }
  std::string offer(const SaveShard& shard) { return word_of(core.offer(shard, now)); }

  ShardAdmission core;
  Instant now = kNow;
};

TEST(ShardAdmission, TakesWhatMembersSaveOfACommittedState) {
  Admission admission;
  EXPECT_EQ(admission.offer(shard_of(10, 0, 2, 1)), "taken");
  EXPECT_EQ(admission.offer(shard_of(9, 1, 2, 1)), "taken");
  EXPECT_EQ(admission.offer(by(saver_of(1), shard_of(10, 0, 2, 1), home_of(1))), "refused") << "of the other stage";
  EXPECT_EQ(admission.offer(shard_of(10, 0, 1, 1)), "refused") << "a checkpoint of one stage";
  EXPECT_EQ(admission.offer(shard_of(10, 0, 3, 1)), "refused");
  EXPECT_EQ(admission.offer(shard_of(10, 0, 2, 0)), "refused") << "of a branch that was left";
  EXPECT_EQ(admission.offer(by(Incarnation{77}, shard_of(10, 0, 2, 1))), "held");
  EXPECT_EQ(admission.offer(shard_of(11, 0, 2, 1)), "held");
  EXPECT_EQ(admission.offer(shard_of(10, 0, 2, 2)), "held");
}

TEST(ShardAdmission, JudgesTheFirstPieceOfAShard) {
  Admission admission;
  SaveShard piece = shard_of(11, 0, 2, 1);
  piece.bytes_total = 10 * piece.image.byte_count();
  EXPECT_EQ(admission.offer(piece), "held");
  piece.offset = piece.image.byte_count();
  EXPECT_EQ(admission.offer(piece), "taken") << "the intake knows whether it asked for it";
  EXPECT_EQ(admission.offer(from(kStranger, piece)), "dropped") << "it was not asked";
  EXPECT_EQ(admission.offer(by(Incarnation{77}, piece)), "dropped") << "nor was this one";
}

// Storage cannot tell their bytes from those of the member itself.
TEST(ShardAdmission, S7NobodyElseSavesForAMemberThatServesOrWasRemoved) {
  Admission admission;
  Entries entries;
  entries.branch = Branch{1};
  const SaveShard shard = shard_of(10, 0, 2, 1);
  EXPECT_EQ(admission.offer(from(kStranger, shard)), "dropped");
  EXPECT_EQ(admission.offer(from(home_of(1), shard)), "dropped") << "a member, too";
  (void)admission.core.follow(entries.remove(0, saver_of(0)));
  EXPECT_EQ(admission.offer(from(kStranger, shard)), "dropped");
  EXPECT_EQ(admission.offer(from(home_of(1), shard)), "dropped");
  const auto dropped = admission.core.offer(from(kStranger, shard), kNow).dropped;
  ASSERT_EQ(dropped.size(), 1U);
  EXPECT_EQ(dropped[0].replica, saver_of(0));
  EXPECT_EQ(dropped[0].sender, kStranger);
  EXPECT_EQ(admission.offer(shard), "taken") << "the control: from its own process";
}

// A replica's number can be guessed before the journal here has it.
TEST(ShardAdmission, S7AShardThatCameBeforeItsReplicaWasKnownIsItsOwnOrDropped) {
  Admission admission;
  Entries entries;
  entries.branch = Branch{1};
  const SaveShard own = by(Incarnation{7}, shard_of(10, 1, 2, 1));
  EXPECT_EQ(admission.offer(own), "held");
  EXPECT_EQ(admission.offer(from(kStranger, own)), "held") << "and takes nobody's place";
  const auto added = admission.core.follow(entries.add(1, Incarnation{7}, 10));
  EXPECT_EQ(added.taken, std::vector{own});
  EXPECT_EQ(added.dropped.size(), 1U);
  EXPECT_TRUE(admission.core.is_empty());
}

TEST(ShardAdmission, TakesWhatItHeldOnceTheJournalTellsOfIt) {
  Admission admission;
  Entries entries;
  entries.branch = Branch{1};
  EXPECT_EQ(admission.offer(shard_of(11, 0, 2, 1)), "held");
  EXPECT_EQ(admission.offer(by(Incarnation{7}, shard_of(10, 1, 2, 1))), "held");
  const auto added = admission.core.follow(entries.add(1, Incarnation{7}, 10));
  ASSERT_EQ(added.taken.size(), 1U);
  EXPECT_EQ(added.taken[0], by(Incarnation{7}, shard_of(10, 1, 2, 1)));
  const auto committed = admission.core.follow(entries.commit(10));
  ASSERT_EQ(committed.taken.size(), 1U);
  EXPECT_EQ(committed.taken[0], shard_of(11, 0, 2, 1));
  EXPECT_TRUE(admission.core.is_empty());
}

TEST(ShardAdmission, AReplicaThatWasRemovedHadSentItsShardBefore) {
  Admission admission;
  Entries entries;
  entries.branch = Branch{1};
  (void)admission.core.follow(entries.remove(0, saver_of(0)));
  EXPECT_EQ(admission.offer(shard_of(10, 0, 2, 1)), "taken");
  (void)admission.core.follow(entries.remove(1, saver_of(1)));
  entries.branch = Branch{2};
  for (const std::uint32_t stage : {0U, 1U, 2U}) {
    (void)admission.core.follow(entries.add(stage, Incarnation{200 + stage}, 5));
  }
  EXPECT_EQ(admission.offer(by(saver_of(0), shard_of(5, 0, 3, 2))), "held") << "it is of no use to the next branch";
  EXPECT_EQ(admission.offer(by(Incarnation{200}, shard_of(5, 0, 3, 2))), "taken");
  EXPECT_EQ(admission.offer(by(Incarnation{200}, shard_of(5, 0, 2, 2))), "refused") << "the cut before";
}

// A run that is resumed on its branch may have fewer stages.
TEST(ShardAdmission, ARunThatGoesOnMayHaveAnotherCut) {
  Admission admission;
  Entries entries;
  entries.branch = Branch{1};
  for (const std::uint32_t stage : {0U, 1U}) (void)admission.core.follow(entries.remove(stage, saver_of(stage)));
  (void)admission.core.follow(entries.add(0, Incarnation{300}, 10));
  EXPECT_EQ(admission.offer(by(Incarnation{300}, shard_of(10, 0, 1, 1))), "taken");
  EXPECT_EQ(admission.offer(by(Incarnation{300}, shard_of(10, 0, 2, 1))), "refused");
}

TEST(ShardAdmission, GivesUpWhatTheJournalNeverTellsOf) {
  Admission admission;
  const SaveShard forged = by(Incarnation{77}, shard_of(11, 0, 2, 1));
  EXPECT_EQ(admission.offer(forged), "held");
  admission.now += ShardAdmission::kPatience - 1ms;
  EXPECT_EQ(admission.offer(forged), "held") << "again";
  EXPECT_TRUE(admission.core.give_up(admission.now).refused.empty());
  admission.now += 1ms;
  const auto given_up = admission.core.give_up(admission.now);
  ASSERT_EQ(given_up.refused.size(), 1U);
  EXPECT_EQ(given_up.refused[0].replica, forged.replica);
  EXPECT_EQ(given_up.refused[0].step, 11U);
  EXPECT_EQ(given_up.refused[0].donor, Incarnation{}) << "in storage's name";
  EXPECT_TRUE(admission.core.is_empty());
}

TEST(ShardAdmission, HoldsItForTheNextLifeOfStorage) {
  Admission admission;
  EXPECT_EQ(admission.offer(shard_of(11, 0, 2, 1)), "held");
  admission.core.begin_life();
  EXPECT_FALSE(admission.core.is_empty());
  EXPECT_EQ(word_of(admission.core.begin_at(view_of(2, 11, 1))), "taken");
}

// S-6: what an evil node makes up of far steps makes room for what the journal is about to tell of.
TEST(ShardAdmission, S6HoldsSoMuch) {
  Knobs knobs;
  const std::uint64_t each = shard_of(11, 0, 2, 1).image.byte_count();
  knobs.set("storage.held_shard_bytes", 5 * (each + 1024));
  Admission admission;
  std::size_t refused = 0;
  for (std::uint64_t step = 100; step < 200; ++step) {
    refused += admission.core.offer(by(Incarnation{77}, shard_of(step, 0, 2, 1)), kNow).refused.size();
  }
  EXPECT_EQ(refused, 95U);
  for (const std::uint32_t stage : {0U, 1U}) {
    const auto decisions = admission.core.offer(shard_of(11, stage, 2, 1), kNow);
    ASSERT_EQ(decisions.refused.size(), 1U);
    EXPECT_EQ(decisions.refused[0].replica, Incarnation{77});
  }
  Entries entries;
  entries.branch = Branch{1};
  EXPECT_EQ(admission.core.follow(entries.commit(10)).taken.size(), 2U);
}

TEST(ShardAdmission, S6WhoMayBeMadeUpGivesWayFirst) {
  Knobs knobs;
  knobs.set("storage.held_shard_bytes", 4 * (shard_of(11, 0, 2, 1).image.byte_count() + 1024));
  Admission admission;
  for (std::uint64_t step = 1; step <= 4; ++step) {
    EXPECT_EQ(admission.offer(by(Incarnation{77}, shard_of(step, 0, 2, 1))), "held");
  }
  for (const std::uint32_t stage : {0U, 1U}) {
    const auto decisions = admission.core.offer(shard_of(12, stage, 2, 1), kNow);
    ASSERT_EQ(decisions.refused.size(), 1U);
    EXPECT_EQ(decisions.refused[0].replica, Incarnation{77}) << "of a lower step";
  }
}

TEST(ShardAdmission, S6RemembersSoManyFormerMembers) {
  Knobs knobs;
  knobs.set("storage.former_members", 2);
  Admission admission;
  Entries entries;
  entries.branch = Branch{1};
  for (std::uint64_t replica = 201; replica < 204; ++replica) {
    (void)admission.core.follow(entries.add(0, Incarnation{replica}, 10));
    (void)admission.core.follow(entries.remove(0, Incarnation{replica}));
  }
  EXPECT_EQ(admission.offer(by(Incarnation{201}, shard_of(10, 0, 2, 1))), "held");
  EXPECT_EQ(admission.offer(by(Incarnation{202}, shard_of(10, 0, 2, 1))), "taken");
  EXPECT_EQ(admission.offer(by(Incarnation{203}, shard_of(10, 0, 2, 1))), "taken");
}

// A run with members that come and go, each of which saves after a commit; storage reads the journal late, and shards
// come in any order. A replica that never serves sends what it likes, and a process that serves none sends a shard in
// the name of any.
TEST(ShardAdmission, TakesAllThatMembersSaveAndNothingElseHoweverLateTheJournalIs) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  const Incarnation stranger{77};
  Entries entries;
  View truth = view_of(2, 0);
  std::vector<JournalEntry> journal;
  std::vector<SaveShard> shards;
  std::set<Incarnation> real{saver_of(0), saver_of(1)};
  const auto append = [&](JournalEntry entry) {
    truth.apply(entry);
    journal.push_back(std::move(entry));
  };
  for (std::uint64_t turn = 0; turn < 200; ++turn) {
    const auto stage = static_cast<std::uint32_t>(below(2));
    const auto& members = truth.replicas_of(StageId{stage});
    const bool has_joiner = below(5) == 0;
    if (has_joiner) append(entries.add(stage, *real.insert(Incarnation{200 + turn}).first, truth.committed_steps()));
    if (below(5) == 0 && members.size() > 1) append(entries.remove(stage, members[below(members.size())].incarnation));
    append(entries.commit(truth.committed_steps()));
    const Incarnation saver = truth.replicas_of(StageId{stage})[0].incarnation;
    shards.push_back(by(saver, shard_of(truth.committed_steps(), stage, 2), truth.find(saver)->process));
    const Incarnation another = below(4) == 0 ? saver_of(stage) : Incarnation{200 + below(turn + 5)};
    shards.push_back(by(another, shard_of(truth.committed_steps(), stage, 2), kStranger));
    shards.push_back(by(stranger, shard_of(below(300), stage, 2, static_cast<std::uint32_t>(below(2)))));
  }
  ShardAdmission admission;
  std::vector<SaveShard> taken;
  const auto note = [&](ShardAdmission::Decisions decisions) {
    for (const StateUnavailable& refused : decisions.refused) EXPECT_FALSE(real.contains(refused.replica));
    for (const auto& dropped : decisions.dropped) EXPECT_EQ(dropped.sender, kStranger);
    std::move(decisions.taken.begin(), decisions.taken.end(), std::back_inserter(taken));
  };
  note(admission.begin_at(view_of(2, 0)));
  std::size_t read = 0, sent = 0;
  while (read < journal.size() || sent < shards.size()) {
    const bool reads = sent == shards.size() || (read < journal.size() && below(2) == 0);
    note(reads ? admission.follow(journal[read++]) : admission.offer(shards[sent++], kNow));
  }
  note(admission.give_up(kNow + 1h));
  EXPECT_TRUE(admission.is_empty());
  EXPECT_EQ(taken.size(), 200U);
  for (const SaveShard& shard : taken) EXPECT_TRUE(shard.replica != stranger && shard.process != kStranger);
}

}  // namespace
}  // namespace shoal::shard_admission_test
