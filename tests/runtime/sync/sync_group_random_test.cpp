// The sync group against scripted replicas over a network that loses, repeats and reorders, with crashes, joins,
// duplicates and a replaced group: every commit counts every microbatch exactly once (S-1), every member of the view
// holds the committed sum (P-23), and once faults stop the steps go on (L-1).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "runtime/sync/sync_group.h"

namespace shoal::sync_group_random_test {
namespace {

constexpr StageId kStage{0};
constexpr std::uint32_t kPlanned = 6;

// One replica by rules P-5 .. P-8, P-15: microbatches are numbers, its accumulator the multiset of what it added.
struct FakeReplica {
  Incarnation id;
  std::uint64_t version = 0;
  Epoch epoch;
  enum { kOpen, kFrozen, kReduced } phase = kOpen;
  std::vector<std::uint32_t> accumulated;  // microbatches that really are in the buffers
  Epoch sum_epoch;
  bool is_dead = false;

  void forget() { accumulated.clear(); }
};

class Swarm {
 public:
  explicit Swarm(std::uint64_t seed, bool obeys_freeze = true) : random_(seed), obeys_freeze_(obeys_freeze) {
    for (int i = 0; i < 3; ++i) join();
    appoint();
  }

  void run(std::uint64_t steps, bool has_faults) {
    for (int move = 0; move < 400'000 && view_.committed_steps() < steps; ++move) one_move(has_faults);
  }
  std::uint64_t committed() const { return view_.committed_steps(); }
  int violations = 0;
  int zeroes = 0;
  int gaps = 0;

 private:
  bool one_in(std::uint32_t n) { return random_() % n == 0; }

  void append(JournalBody body) {
    const JournalEntry entry{JournalPosition{view_.position().value + 1}, {}, Term{1}, std::move(body)};
    view_.apply(entry);
    entries_.push_back(entry);
    if (group_) take(group_->follow(entry, now_));
    for (auto& [id, replica] : replicas_) read(replica, entry);
  }

  void read(FakeReplica& replica, const JournalEntry& entry) {
    const auto* commit = std::get_if<Commit>(&entry.body);
    if (!commit || replica.is_dead || !view_.contains(replica.id)) return;
    const bool holds_sum = replica.phase == FakeReplica::kReduced && replica.sum_epoch == commit->stages[0].epoch;
    violations += holds_sum ? 0 : 1;  // P-23
    ++replica.version;
    replica.phase = FakeReplica::kOpen;
    replica.forget();
  }

  void join() {
    FakeReplica replica;
    replica.id = Incarnation{++last_incarnation_};
    replica.version = view_.committed_steps();
    replicas_[replica.id] = replica;
    append(AddReplica{kStage, {}, replica.id, ProcessIncarnation{replica.id.value}, replica.version});
  }

  void appoint() {
    const Incarnation self{++last_incarnation_};
    SyncGroupConfig config{RunId{1}, Term{1}, kStage, self, kPlanned};
    group_ = std::make_unique<SyncGroupCore>(config);
    for (const JournalEntry& entry : entries_) take(group_->follow(entry, now_));
    append(AppointGroup{kStage, self});
  }

  void take(SyncGroupEffects effects) {
    for (Letter& letter : effects.letters) {
      const auto* event = std::get_if<RunEvent>(&letter.body);
      zeroes += event && event->kind == RunEventKind::kMicrobatchTwice ? 1 : 0;
      gaps += event && event->kind == RunEventKind::kMicrobatchMissing ? 1 : 0;
      bag_.push_back(std::move(letter));
    }
    if (bag_.size() > 400) bag_.erase(bag_.begin(), bag_.begin() + 200);  // the oldest are lost
  }

  void to_group(MessageBody body) { bag_.push_back({{}, to_sync_group(kStage), std::move(body)}); }

  void one_move(bool has_faults) {
    const auto choice = random_() % 100;
    if (choice < 70 && !bag_.empty()) return deliver(has_faults);
    if (choice < 85) return compute(has_faults);
    now_ += std::chrono::milliseconds(random_() % 2000);
    take(group_->tick(now_));
    if (all_answered_) to_group(AllAnswered{{}, StepId{view_.committed_steps()}});
    if (!has_faults) return;
    if (one_in(200)) crash();
    if (one_in(150) && view_.replicas_of(kStage).size() < 4) join();
    if (one_in(400)) appoint();
  }

  // Somebody accumulates a microbatch of the step: planned, asked for again, or (a fault) a second time.
  void compute(bool has_faults) {
    const auto& members = view_.replicas_of(kStage);
    FakeReplica& replica = replicas_.at(members[random_() % members.size()].incarnation);
    const auto microbatch = static_cast<std::uint32_t>(random_() % kPlanned);
    const bool is_twice = has_faults && one_in(60);
    if (replica.phase != FakeReplica::kOpen && (obeys_freeze_ || replica.phase != FakeReplica::kFrozen)) return;
    if (!is_twice && is_held(microbatch)) return;
    if (std::find(replica.accumulated.begin(), replica.accumulated.end(), microbatch) != replica.accumulated.end())
      return;
    replica.accumulated.push_back(microbatch);
    to_group(Progress{id_for(replica), replica.id, static_cast<std::uint32_t>(replica.accumulated.size())});
    all_answered_ = true;
    for (std::uint32_t index = 0; index < kPlanned; ++index) all_answered_ = all_answered_ && is_held(index);
  }

  bool is_held(std::uint32_t microbatch) const {
    for (const ReplicaMember& member : view_.replicas_of(kStage)) {
      const auto& held = replicas_.at(member.incarnation).accumulated;
      if (std::find(held.begin(), held.end(), microbatch) != held.end()) return true;
    }
    return false;
  }

  void crash() {
    const auto members = view_.replicas_of(kStage);
    if (members.size() < 2) return;
    const Incarnation id = members[random_() % members.size()].incarnation;
    replicas_.at(id).is_dead = true;
    append(RemoveReplica{kStage, id, "crash"});
  }

  void deliver(bool has_faults) {
    const std::size_t index = random_() % bag_.size();
    const Letter letter = bag_[index];
    if (!(has_faults && one_in(6))) {
      bag_[index] = std::move(bag_.back());
      bag_.pop_back();
    }
    if (has_faults && one_in(6)) return;  // lost
    std::visit([&](const auto& body) { arrive(letter.to, body); }, letter.body);
  }

  template <class Body>
  void arrive(const Address& to, const Body& body) {
    if constexpr (requires { group_->hear(body, now_); }) {
      if (to.role == Role::kSyncGroup) take(group_->hear(body, now_));
    }
    if constexpr (requires { obey(replicas_.begin()->second, body); }) {
      if (to.role == Role::kStage) obey_if_alive(replicas_.at(to.incarnation), body);
    }
    if constexpr (std::is_same_v<Body, Prepared>) judge(body);
  }

  template <class Order>
  void obey_if_alive(FakeReplica& replica, const Order& order) {
    if (replica.is_dead || !view_.contains(replica.id) || order.order.step.value != replica.version) return;
    obey(replica, order);
  }

  OrderId id_for(const FakeReplica& replica) const {
    return {RunId{1}, {}, Term{1}, kStage, StepId{replica.version}, replica.epoch};
  }

  void obey(FakeReplica& replica, const Open& open) {
    if (open.order.epoch <= replica.epoch) return;
    replica.epoch = open.order.epoch;
    replica.phase = FakeReplica::kOpen;
    to_group(Progress{id_for(replica), replica.id, static_cast<std::uint32_t>(replica.accumulated.size())});
  }
  void obey(FakeReplica& replica, const Zero& zero) {
    if (zero.order.epoch <= replica.epoch) return;
    replica.epoch = zero.order.epoch;
    replica.phase = FakeReplica::kOpen;
    replica.forget();
  }
  void obey(FakeReplica& replica, const Prepare& prepare) {
    if (prepare.order.epoch < replica.epoch) return;
    if (prepare.order.epoch > replica.epoch) {
      if (replica.epoch < prepare.last_zero) replica.forget();
      replica.epoch = prepare.order.epoch;
      replica.phase = FakeReplica::kFrozen;
    }
    Manifest manifest{prepare.order, replica.id, {}};
    for (const std::uint32_t index : replica.accumulated) manifest.entries.push_back({MicrobatchId{index}, 1, 0, {}});
    to_group(manifest);
  }
  void obey(FakeReplica& replica, const Reduce& reduce) {
    if (reduce.order.epoch != replica.epoch || replica.phase == FakeReplica::kOpen) return;
    for (const Incarnation member : reduce.members) {
      const FakeReplica& other = replicas_.at(member);
      if (other.is_dead || other.epoch != reduce.order.epoch) return;  // its part never comes
    }
    replica.phase = FakeReplica::kReduced;
    replica.sum_epoch = replica.epoch;
    to_group(Reduced{reduce.order, replica.id, 42, {}});
  }

  // The supervisor's half of P-22, and the check of S-1 against what really is in the buffers.
  void judge(const Prepared& vote) {
    if (vote.order.step.value != view_.committed_steps() ||
        vote.order.epoch.group != view_.members().group_of(kStage) ||
        vote.position < view_.members().last_change_of(kStage)) {
      return;
    }
    std::map<std::uint32_t, int> counted;
    for (const ReplicaMember& member : view_.replicas_of(kStage)) {
      for (const std::uint32_t index : replicas_.at(member.incarnation).accumulated) ++counted[index];
    }
    violations += counted.size() == kPlanned ? 0 : 1;
    for (const auto& [index, times] : counted) violations += times == 1 ? 0 : 1;  // S-1
    Commit commit;
    commit.step = vote.order.step;
    commit.stages.push_back({kStage, vote.order.epoch, vote.digest, vote.manifests});
    all_answered_ = false;
    append(commit);
  }

  std::mt19937_64 random_;
  Instant now_ = Instant{} + std::chrono::hours(1);
  View view_;
  std::vector<JournalEntry> entries_;
  std::map<Incarnation, FakeReplica> replicas_;
  std::unique_ptr<SyncGroupCore> group_;
  std::vector<Letter> bag_;
  std::uint64_t last_incarnation_ = 0;
  bool obeys_freeze_;
  bool all_answered_ = false;
};

TEST(SyncGroupRandom, EveryCommitCountsEveryMicrobatchOnceUnderFaultsAndStepsGoOnAfterThem) {
  const std::uint64_t first = std::random_device{}();
  int zeroes = 0;
  int gaps = 0;
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Swarm swarm(seed);
    swarm.run(40, true);
    const std::uint64_t before = swarm.committed();
    EXPECT_EQ(before, 40U);
    swarm.run(before + 5, false);
    EXPECT_EQ(swarm.committed(), before + 5);  // L-1
    ASSERT_EQ(swarm.violations, 0);
    zeroes += swarm.zeroes;
    gaps += swarm.gaps;
  }
  EXPECT_GT(zeroes, 60);  // the faults did happen
  EXPECT_GT(gaps, 60);
}

TEST(SyncGroupRandom, ReplicasThatAccumulateWhileFrozenAreSeenByTheseChecks) {  // negative control: P-8 removed
  const std::uint64_t first = std::random_device{}();
  int violations = 0;
  for (std::uint64_t seed = first; seed < first + 60 && violations == 0; ++seed) {
    Swarm swarm(seed, false);
    swarm.run(40, true);
    violations += swarm.violations;
  }
  EXPECT_GT(violations, 0) << "first seed " << first;
}

}  // namespace
}  // namespace shoal::sync_group_random_test
