// RoundGroupCore and RoundMember together, over a network that loses, repeats and reorders, while members die and join
// and the group is replaced: whatever is agreed is the mean of exactly what its entry names (DESIGN.md §6).
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "runtime/sync/rounds/round_group.h"
#include "runtime/sync/rounds/round_member.h"
#include "tests/runtime/sync/diloco_config.h"
#include "tests/runtime/sync/random_floats.h"

namespace shoal::rounds_random_test {
namespace {

using std::chrono::milliseconds;

constexpr StageId kStage{1};
constexpr RunId kRun{7};
constexpr std::size_t kElements = 5;  // values of a fragment
constexpr std::size_t kMembersMax = 5;

using Values = std::vector<float>;
using Key = std::tuple<std::uint32_t, std::uint64_t, Incarnation>;  // fragment, round, member

struct Contribution {
  Values values;
  std::uint64_t tokens = 0;
};

// Sums what the entry says was summed, from what the members really contributed.
Values mean_of(const CommitRound& entry, const std::map<Key, Contribution>& contributed, std::uint64_t extra = 0) {
  std::vector<double> sum(kElements);
  double weight = static_cast<double>(extra);
  for (const RoundShare& share : entry.shares) {
    if (share.token_count == 0) continue;
    const Contribution& one = contributed.at({entry.round.fragment, entry.round.number, share.member});
    for (std::size_t i = 0; i < kElements; ++i) sum[i] += static_cast<double>(one.tokens) * one.values[i];
    weight += static_cast<double>(one.tokens);
  }
  Values mean;
  for (const double value : sum) mean.push_back(weight == 0 ? 0.0F : static_cast<float>(value / weight));
  return mean;
}

double distance(const Values& a, const Values& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  return most;
}

struct Member {
  std::unique_ptr<RoundMember> core;
  std::size_t cursor = 0;     // entries read
  std::uint64_t version = 0;  // steps applied, boundary included
  bool is_in = false;         // the member has read its own Add
  bool is_stepping = false;   // between the apply of a step and the end of its boundary
  std::map<std::uint32_t, Values> outer;
  std::map<std::uint64_t, std::uint64_t> tokens;  // by step
};

struct Letters {
  Incarnation to;  // 0: the group
  MessageBody body;
};

class World {
 public:
  World(std::uint64_t seed, SyncConfig sync) : random_(seed), sync_(sync), schedule_(sync) {
    for (int i = 0; i < 3; ++i) join();
    appoint();
  }

  // A safety phase with faults, then a liveness phase without.
  void run(std::uint64_t steps) {
    for (int turn = 0; turn < 4000; ++turn) act(steps, true);
    for (int turn = 0; turn < 60000 && !is_done(steps); ++turn) act(steps, false);
    EXPECT_TRUE(is_done(steps)) << group_->explain() << "; at step " << view_.committed_steps();
  }

  std::map<Key, Contribution> contributed;
  std::vector<CommitRound> agreed;
  std::size_t deaths = 0;
  std::size_t missed = 0;  // rounds, by members that were late

  // True when all members hold the same of every fragment.
  [[nodiscard]] bool is_agreed_on() const {
    const auto& first = members_.begin()->second.outer;
    return std::ranges::all_of(members_, [&](const auto& one) { return one.second.outer == first; });
  }
  [[nodiscard]] std::uint64_t committed_tokens() const { return committed_tokens_; }
  [[nodiscard]] const View& view() const { return view_; }
  // Every round that was contributed to in so many steps is agreed.
  [[nodiscard]] bool has_closed(std::uint64_t steps) const {
    for (std::uint64_t version = 1; version <= steps; ++version) {
      for (const RoundId& round : schedule_.contributions_at(version)) {
        if (!view_.rounds().has(kStage, round, StepId{version}, version)) return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  [[nodiscard]] bool is_done(std::uint64_t steps) const {
    if (view_.committed_steps() < steps || !open_rounds().empty()) return false;
    return std::all_of(members_.begin(), members_.end(), [&](const auto& one) {
      return one.second.version == view_.committed_steps() && one.second.cursor == journal_.size();
    });
  }
  // Returns the rounds to be agreed before the next commit, or before the end.
  [[nodiscard]] std::vector<RoundId> open_rounds() const {
    std::vector<RoundId> open = schedule_.due_at(view_.committed_steps());
    if (view_.is_at_last_commit()) {
      for (const RoundId& round : schedule_.in_flight_after(view_.committed_steps())) open.push_back(round);
    }
    std::erase_if(open, [this](const RoundId& round) {
      if (round.number == 0) return true;
      const StepId at{schedule_.contribution_version(round)};
      return view_.rounds().has(kStage, round, at, view_.committed_steps());
    });
    return open;
  }

  void append(JournalBody body) {
    const JournalEntry entry{JournalPosition{journal_.size() + 1}, {}, Term{1}, std::move(body)};
    view_.apply(entry);
    journal_.push_back(entry);
  }

  void join() {
    const Incarnation self{next_++};
    Member member;
    member.core = std::make_unique<RoundMember>(RoundMemberSetup{kRun, {}, kStage, self, sync_});
    for (const RoundId& round : view_.rounds().newest_of(kStage)) member.core->pass_over(round);
    for (const auto& [id, donor] : members_) {
      if (donor.is_stepping || donor.version != view_.committed_steps() || donor.cursor != journal_.size()) continue;
      member.outer = donor.outer;  // copied after the boundary, of a member that is up to date
      append(AddReplica{kStage, ReplicaId{0}, self, ProcessIncarnation{self.value}, view_.committed_steps()});
      member.cursor = journal_.size() - 1;
      member.version = view_.committed_steps();
      members_.emplace(self, std::move(member));
      return;
    }
    if (!members_.empty() && view_.committed_steps() > 0) return;  // nobody to copy from at this moment
    append(AddReplica{kStage, ReplicaId{0}, self, ProcessIncarnation{self.value}, view_.committed_steps()});
    member.cursor = journal_.size() - 1;
    for (std::uint32_t f = 0; f < schedule_.fragment_count(); ++f) member.outer[f] = Values(kElements);
    members_.emplace(self, std::move(member));
  }

  void appoint() {
    const Incarnation self{next_++};
    append(AppointGroup{kStage, self});
    group_ = std::make_unique<RoundGroupCore>(RoundGroupConfig{kRun, Term{1}, kStage, self, sync_});
    group_cursor_ = 0;
    vote_.clear();
  }

  void kill() {
    if (members_.size() < 2) return;
    auto victim = members_.begin();
    std::advance(victim, draw(members_.size()));
    if (is_last_holder(victim->first)) return;
    append(RemoveReplica{kStage, victim->first, "killed"});
    members_.erase(victim);
    ++deaths;
  }

  // True for the last member with the mean of a round that another one missed and may need still.
  [[nodiscard]] bool is_last_holder(Incarnation id) const {
    for (std::size_t at = agreed_before_step_; at < agreed.size(); ++at) {
      const auto& shares = agreed[at].shares;
      if (std::none_of(shares.begin(), shares.end(), [&](const RoundShare& share) {
            return share.member != id && members_.contains(share.member);
          })) {
        return true;
      }
    }
    return false;
  }

  void act(std::uint64_t steps, bool has_faults) {
    now_ += milliseconds(draw(40));
    const std::uint64_t what = draw(100);
    if (has_faults && what == 0) return kill();
    if (has_faults && what == 1 && members_.size() < kMembersMax) return join();
    if (has_faults && what == 2) return appoint();
    if (what < 10) return commit(steps);
    if (what < 15) return take(group_->tick(now_));
    if (what < 30 && group_cursor_ < journal_.size()) return take(group_->follow(journal_[group_cursor_++], now_));
    if (what < 55) return let_member_read();
    deliver(has_faults);
  }

  void commit(std::uint64_t steps) {
    for (const RoundId& round : open_rounds()) {
      const auto vote = vote_.find(round);
      const auto newest = view_.rounds().newest_of(kStage, round.fragment);
      const bool is_next = round.number == (newest ? newest->number : 0) + 1;
      if (!is_next || vote == vote_.end()) continue;
      if (vote->second.order.epoch.group != view_.members().group_of(kStage)) continue;
      if (vote->second.position < view_.members().last_change_of(kStage)) continue;
      agreed.push_back({kStage, vote->second.order.step, round, vote->second.order.epoch, vote->second.digest,
                        vote->second.shares, 0});
      append(agreed.back());
    }
    if (view_.committed_steps() >= steps || !open_rounds().empty()) return;
    const bool can_step = std::all_of(members_.begin(), members_.end(), [&](const auto& one) {
      return one.second.is_in && one.second.version == view_.committed_steps() && !one.second.is_stepping;
    });
    if (!can_step) return;
    Commit step;
    step.step = StepId{view_.committed_steps()};
    step.is_last = step.step.value + 1 == steps;
    for (auto& [id, member] : members_) {
      const std::uint64_t tokens = draw(3) * 50;
      member.tokens[step.step.value] = tokens;
      step.token_count += tokens;
    }
    committed_tokens_ += step.token_count;
    agreed_before_step_ = agreed.size();
    append(step);
  }

  void let_member_read() {
    auto chosen = members_.begin();
    std::advance(chosen, draw(members_.size()));
    auto& [id, member] = *chosen;
    if (member.cursor == journal_.size()) return pursue(id, member);
    const JournalEntry& entry = journal_[member.cursor++];
    if (const auto* added = std::get_if<AddReplica>(&entry.body); added != nullptr && added->replica == id) {
      member.is_in = true;
      member.core->start_at(member.version);
    }
    if (const auto* round = std::get_if<CommitRound>(&entry.body); round != nullptr && !member.is_in) {
      member.core->pass_over(round->round);
    }
    if (!member.is_in) return;
    if (const auto* round = std::get_if<CommitRound>(&entry.body)) {
      const auto is_own = [id = id](const RoundShare& share) { return share.member == id; };
      if (std::none_of(round->shares.begin(), round->shares.end(), is_own)) ++missed;
      const auto why = member.core->follow(*round, kMembersMax + 1);  // whoever may be absent
      EXPECT_FALSE(why.has_value()) << *why;
    }
    if (const auto* removed = std::get_if<RemoveReplica>(&entry.body)) {
      const auto why = member.core->lost(removed->replica);
      EXPECT_FALSE(why.has_value()) << *why;
    }
    if (const auto* step = std::get_if<Commit>(&entry.body); step != nullptr) {
      member.core->trained(member.tokens[step->step.value], step->token_count);
      member.core->reach(step->step.value + 1);
      if (step->is_last) member.core->close();
      member.is_stepping = true;
    }
    pursue(id, member);
  }

  void pursue(Incarnation id, Member& member) {
    for (const FetchState& question : member.core->questions(now_)) wire_.push_back({question.donor, question});
    for (const Progress& news : member.core->news(now_)) wire_.push_back({Incarnation{}, news});
    for (const StepSum& mean : member.core->means()) wire_.push_back({mean.replica, mean});
    while (const auto round = member.core->wanted_contribution()) {
      Values values;
      for (std::size_t i = 0; i < kElements; ++i) values.push_back(static_cast<float>(draw(2000)) / 1000.0F - 1.0F);
      taken_[{*round, id}] = values;
      send(id, member.core->contributed(blob_of(values)));
    }
    if (!member.is_stepping) return;
    if (member.core->is_at_boundary() && !member.core->is_ready()) return;
    for (const RoundUpdate& update : member.core->updates()) apply(member, update);
    if (member.core->is_at_boundary()) member.core->updated();
    member.is_stepping = false;
    ++member.version;
  }

  void apply(Member& member, const RoundUpdate& update) {
    if (!update.mean.has_value()) return;
    const auto entry = std::find_if(agreed.begin(), agreed.end(), [&](const CommitRound& one) {
      return one.round == RoundId{update.fragment, update.round};
    });
    ASSERT_NE(entry, agreed.end());
    EXPECT_LT(distance(floats_of(update.mean), mean_of(*entry, contributed)), 1e-5);
    for (std::size_t i = 0; i < kElements; ++i) member.outer[update.fragment][i] -= floats_of(update.mean)[i];
  }

  void send(Incarnation from, const RoundAnswers& answers) {
    for (const Manifest& one : answers.manifests) {
      contributed.emplace(Key{one.order.round.fragment, one.order.round.number, from},
                          Contribution{taken_.at({one.order.round, from}), one.share_tokens});
      wire_.push_back({Incarnation{}, one});
    }
    for (const AddressedPart& one : answers.parts) wire_.push_back({one.receiver, one.part});
    for (const AddressedMark& one : answers.marks) wire_.push_back({one.receiver, one.mark});
    for (const MissingParts& one : answers.questions) wire_.push_back({one.holder, one});
    for (const Reduced& one : answers.reduced) wire_.push_back({Incarnation{}, one});
  }

  void take(const SyncGroupEffects& effects) {
    for (const Letter& letter : effects.letters) {
      if (const auto* vote = std::get_if<Prepared>(&letter.body)) {
        vote_[vote->order.round] = *vote;
      } else {
        wire_.push_back({letter.to.incarnation, letter.body});
      }
    }
  }

  void deliver(bool has_faults) {
    if (wire_.empty()) return;
    const std::size_t index = draw(wire_.size());
    const Letters letter = wire_[index];
    const bool is_repeated = has_faults && draw(8) == 0;
    if (!is_repeated) wire_.erase(wire_.begin() + static_cast<std::ptrdiff_t>(index));
    if (has_faults && draw(10) == 0) return;  // lost
    if (letter.to == Incarnation{}) {
      if (const auto* manifest = std::get_if<Manifest>(&letter.body)) take(group_->hear(*manifest, now_));
      if (const auto* reduced = std::get_if<Reduced>(&letter.body)) take(group_->hear(*reduced, now_));
      if (const auto* progress = std::get_if<Progress>(&letter.body)) take(group_->hear(*progress, now_));
      return;
    }
    const auto found = members_.find(letter.to);
    if (found == members_.end() || !found->second.is_in) return;
    auto& [id, member] = *found;
    if (const auto* order = std::get_if<Prepare>(&letter.body)) send(id, member.core->hear(*order));
    if (const auto* order = std::get_if<Reduce>(&letter.body)) send(id, member.core->hear(*order));
    if (const auto* part = std::get_if<Part>(&letter.body)) send(id, member.core->hear(*part));
    if (const auto* mark = std::get_if<PartsSent>(&letter.body)) send(id, member.core->hear(*mark));
    if (const auto* missing = std::get_if<MissingParts>(&letter.body)) send(id, member.core->hear(*missing));
    if (const auto* question = std::get_if<FetchState>(&letter.body)) member.core->hear(*question, now_);
    if (const auto* mean = std::get_if<StepSum>(&letter.body)) member.core->hear(*mean);
    pursue(id, member);
  }

  std::mt19937_64 random_;
  SyncConfig sync_;
  RoundSchedule schedule_;
  Instant now_ = Instant{} + std::chrono::hours(1);
  std::uint64_t next_ = 1;
  std::vector<JournalEntry> journal_;
  View view_;
  std::map<Incarnation, Member> members_;
  std::unique_ptr<RoundGroupCore> group_;
  std::size_t group_cursor_ = 0;
  std::map<RoundId, Prepared> vote_;
  std::vector<Letters> wire_;
  std::map<std::pair<RoundId, Incarnation>, Values> taken_;
  std::uint64_t committed_tokens_ = 0;
  std::size_t agreed_before_step_ = 0;
};

TEST(RoundsRandom, EveryAgreedMeanIsThatOfItsSharesWhateverDiesAndWhateverIsLost) {
  std::size_t agreed = 0;
  std::size_t deaths = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SyncConfig shapes[] = {diloco(3, 1, 0), diloco(4, 2, 1), diloco(5, 2, 2),
                                 diloco(3, 1, 0, OuterUpdate::kDelayed), diloco(4, 2, 0, OuterUpdate::kEager)};
    World world(seed, shapes[seed % std::size(shapes)]);
    for (const std::uint64_t end : {13U, 24U}) {  // and on from the first end
      world.run(end);
      EXPECT_TRUE(world.has_closed(end));
    }
    if (testing::Test::HasFailure()) return;
    agreed += world.agreed.size();
    deaths += world.deaths;
    EXPECT_EQ(world.missed, 0U) << "without a quorum all are waited for";
    for (const CommitRound& entry : world.agreed) {
      std::uint64_t merged = 0;
      for (const RoundShare& share : entry.shares) merged += share.token_count;
      EXPECT_LE(merged, world.committed_tokens());
    }
  }
  EXPECT_GT(agreed, 200U);
  EXPECT_GT(deaths, 60U);
}

// With a quorum a round is closed without who is late: it has the mean of a peer, and goes on with what all agree on.
TEST(RoundsRandom, WhoMissesARoundComesToItsMeanWhateverDiesAndWhateverIsLost) {
  std::size_t missed = 0;
  std::size_t deaths = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SyncConfig shapes[] = {diloco(3, 1, 0), diloco(4, 2, 1), diloco(2, 3, 1), diloco(3, 1, 0, OuterUpdate::kDelayed),
                           diloco(4, 2, 0, OuterUpdate::kEager)};
    SyncConfig& sync = shapes[seed % std::size(shapes)];
    sync.quorum = seed % 4 == 0 ? 2 : 1;
    World world(seed, sync);
    for (const std::uint64_t end : {13U, 24U}) {
      world.run(end);
      EXPECT_TRUE(world.has_closed(end));
      EXPECT_TRUE(world.is_agreed_on());
    }
    if (testing::Test::HasFailure()) return;
    missed += world.missed;
    deaths += world.deaths;
  }
  EXPECT_GT(missed, 40U);
  EXPECT_GT(deaths, 60U);
}

TEST(RoundsRandom, AMeanWithAnotherDivisorIsNoticed) {  // the control of the comparison above
  World world(5, diloco(3, 1, 0));
  world.run(12);
  ASSERT_FALSE(world.agreed.empty());
  for (const CommitRound& entry : world.agreed) {
    const Values mean = mean_of(entry, world.contributed);
    if (distance(mean, Values(kElements)) < 1e-3) continue;  // nobody trained
    EXPECT_GT(distance(mean, mean_of(entry, world.contributed, 50)), 1e-5);
  }
}

}  // namespace
}  // namespace shoal::rounds_random_test
