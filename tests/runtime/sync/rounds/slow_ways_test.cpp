// A group and the members of one round over slow ways, in virtual time: what a sum sends while it flows, however
// slowly, is what it needs; what is lost is sent again, and no more; what stands still is given up.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "runtime/sync/rounds/round_group.h"
#include "runtime/sync/rounds/round_member.h"
#include "tests/runtime/sync/diloco_config.h"
#include "tests/runtime/sync/random_floats.h"

namespace shoal::slow_ways_test {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

constexpr StageId kStage{0};
constexpr RunId kRun{9};
constexpr Incarnation kGroup{50};
constexpr Duration kLatency = 20ms;
constexpr Duration kPiecesEvery = 1s;  // between pieces of a part that takes long, as routers tell

struct Ways {
  SyncBackend backend = SyncBackend::kRing;
  std::uint64_t members = 3;
  std::size_t buckets = 300;
  Seconds bucket_takes{0.084};  // 1 MiB over 100 Mbit/s
};

class SlowWays {
 public:
  explicit SlowWays(const Ways& ways) : ways_(ways), sync_(diloco(2)) {
    sync_.backend = ways.backend;
    group_ = std::make_unique<RoundGroupCore>(RoundGroupConfig{kRun, Term{1}, kStage, kGroup, sync_});
    for (std::uint64_t at = 0; at < ways.members; ++at) add_member(Incarnation{11 + at});
    follow(AppointGroup{kStage, kGroup});
    for (std::uint64_t step = 0; step < 2; ++step) {
      Commit commit;
      commit.step = StepId{step};
      follow(commit);
    }
    post(now_ + 100ms, {}, Tick{});
  }

  // Until the vote, or until so much time has passed.
  void run(Duration time_max = 1h) {
    while (!vote_ && elapsed() < time_max && step()) {
    }
  }
  void run_for(Duration time) {
    const Duration until = elapsed() + time;
    while (!vote_ && elapsed() < until && step()) {
    }
  }
  // Whatever is on its way from one member to another is lost with its connection; then there is another one.
  void lose_ways() {
    for (auto event = events_.begin(); event != events_.end();) {
      const auto* part = std::get_if<Part>(&event->second.body);
      const bool is_lost = part != nullptr || std::holds_alternative<PartsSent>(event->second.body);
      if (part != nullptr) lost_bytes_ += part->values.byte_count();
      event = is_lost ? events_.erase(event) : std::next(event);
    }
    free_at_.clear();
  }
  // From now on nothing arrives that a member sends to this one.
  void cut(Incarnation receiver) { cut_.insert(receiver); }

  [[nodiscard]] bool is_agreed() const { return vote_.has_value(); }
  [[nodiscard]] Duration elapsed() const { return now_ - Instant{}; }
  [[nodiscard]] double needed_bytes() const { return analytic_bytes(WireFormat::kFp32, value_count(), ways_.members); }
  // Share of the needed values that members sent.
  [[nodiscard]] double share_sent() const { return static_cast<double>(sent_bytes_) / needed_bytes(); }
  [[nodiscard]] double share_lost() const { return static_cast<double>(lost_bytes_) / needed_bytes(); }
  [[nodiscard]] std::size_t epochs() const { return epochs_.size(); }
  [[nodiscard]] std::size_t orders() const { return reduces_; }  // to reduce, repeats included
  [[nodiscard]] Duration first_sum_over_at() const { return second_epoch_at_; }

 private:
  struct Tick {};
  struct Event {
    Incarnation to;  // 0: the group, or its tick
    std::variant<Tick, Manifest, Reduced, Progress, Prepare, Reduce, Part, PartsSent, MissingParts> body;
  };

  [[nodiscard]] std::size_t value_count() const { return ways_.buckets * kBucketValues; }

  void add_member(Incarnation self) {
    RoundMemberSetup setup{kRun, {}, kStage, self, sync_};
    setup.bucket_bytes = kBucketValues * sizeof(float);
    auto member = std::make_unique<RoundMember>(std::move(setup));
    member->start_at(0);
    member->trained(10, 10 * ways_.members);
    member->reach(2);
    (void)member->contributed(blob_of(gaussian_values(self.value, value_count())));
    members_.emplace(self, std::move(member));
    follow(AddReplica{kStage, {}, self, ProcessIncarnation{self.value}, 0});
  }
  void follow(JournalBody body) {
    take(group_->follow({JournalPosition{++position_}, {}, Term{1}, std::move(body)}, now_));
  }

  template <class Body>
  void post(Instant at, Incarnation to, Body body) {
    events_.emplace(std::pair{at, ++serial_}, Event{to, std::move(body)});
  }
  void take(const SyncGroupEffects& effects) {
    for (const Letter& letter : effects.letters) {
      if (const auto* vote = std::get_if<Prepared>(&letter.body)) vote_ = *vote;
      if (const auto* order = std::get_if<Prepare>(&letter.body)) {
        if (epochs_.insert(order->order.epoch).second && epochs_.size() == 2) second_epoch_at_ = elapsed();
        post(now_ + kLatency, letter.to.incarnation, *order);
      }
      if (const auto* order = std::get_if<Reduce>(&letter.body)) {
        ++reduces_;
        post(now_ + kLatency, letter.to.incarnation, *order);
      }
    }
  }
  void take(Incarnation from, RoundAnswers answers) {
    for (Manifest& one : answers.manifests) post(now_ + kLatency, {}, std::move(one));
    for (Reduced& one : answers.reduced) post(now_ + kLatency, {}, std::move(one));
    for (MissingParts& one : answers.questions) {
      const Incarnation holder = one.holder;
      post(now_ + kLatency, holder, std::move(one));
    }
    for (AddressedPart& one : answers.parts) enter_way(from, one.receiver, std::move(one.part));
    for (AddressedMark& one : answers.marks) enter_way(from, one.receiver, std::move(one.mark));
  }
  // One after the other, each in its time.
  template <class Body>
  void enter_way(Incarnation from, Incarnation to, Body body) {
    const double share = static_cast<double>(body.values.byte_count()) / (kBucketValues * sizeof(float));
    const auto takes = std::chrono::duration_cast<Duration>(share * ways_.bucket_takes);
    Instant& free_at = free_at_[{from, to}];
    const Instant begins = std::max(free_at, now_);
    free_at = begins + takes;
    if constexpr (std::is_same_v<Body, Part>) {
      sent_bytes_ += body.values.byte_count();
      if (cut_.contains(to)) return;
      for (Instant piece = begins + kPiecesEvery; piece < free_at; piece += kPiecesEvery) {
        post(piece, to, Progress{body.order, body.member, 0, 1});
      }
    }
    post(free_at + kLatency, to, std::move(body));
  }

  bool step() {
    if (events_.empty()) return false;
    auto next = events_.extract(events_.begin());
    now_ = next.key().first;
    Event& event = next.mapped();
    const Incarnation to = event.to;
    std::visit([&](auto& body) { arrive(to, body); }, event.body);
    return true;
  }
  void arrive(Incarnation, const Tick&) {
    post(now_ + 100ms, {}, Tick{});
    take(group_->tick(now_));
  }
  template <class Body>
  void arrive(Incarnation to, const Body& body) {
    if constexpr (requires { group_->hear(body, now_); }) {
      if (to == Incarnation{}) return take(group_->hear(body, now_));
    }
    if constexpr (requires { members_.at(to)->hear(body); }) {
      RoundMember& member = *members_.at(to);
      take(to, member.hear(body));
      for (const Progress& news : member.news(now_)) post(now_ + kLatency, {}, news);
    }
  }

  static constexpr std::size_t kBucketValues = 64;

  Ways ways_;
  SyncConfig sync_;
  Instant now_{};
  std::uint64_t serial_ = 0;
  std::uint64_t position_ = 0;
  std::unique_ptr<RoundGroupCore> group_;
  std::map<Incarnation, std::unique_ptr<RoundMember>> members_;
  std::map<std::pair<Instant, std::uint64_t>, Event> events_;
  std::map<std::pair<Incarnation, Incarnation>, Instant> free_at_;
  std::set<Incarnation> cut_;
  std::set<Epoch> epochs_;
  std::optional<Prepared> vote_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t lost_bytes_ = 0;
  std::size_t reduces_ = 0;
  Duration second_epoch_at_{};
};

// 300 MiB over 100 and 10 Mbit/s, and over a way on which one part takes longer than the first repeat waits.
TEST(SlowWays, ASumThatFlowsSendsWhatItNeedsHoweverLongItTakes) {
  for (const SyncBackend backend : {SyncBackend::kRing, SyncBackend::kOwner}) {
    for (const Seconds bucket_takes : {Seconds(0.084), Seconds(0.84), Seconds(5)}) {
      for (const std::uint64_t members : {2U, 3U, 5U}) {
        SCOPED_TRACE(testing::Message() << members << " members, " << bucket_takes.count() << " s a bucket");
        SlowWays ways({backend, members, 300, bucket_takes});
        ways.run();
        EXPECT_TRUE(ways.is_agreed());
        EXPECT_EQ(ways.epochs(), 1U) << "given up after " << Seconds(ways.first_sum_over_at()).count() << " s";
        EXPECT_EQ(ways.orders(), members) << "once to each";
        EXPECT_LE(ways.share_sent(), 1.0);
        EXPECT_GT(ways.elapsed(), 10s) << "the control: it is slow";
        RecordProperty("share_sent", std::to_string(ways.share_sent()));
      }
    }
  }
}

// All connections break a third of the way: what was on them is made good in the same epoch.
TEST(SlowWays, WhatIsLostIsSentAgainAndNoMore) {
  for (const SyncBackend backend : {SyncBackend::kRing, SyncBackend::kOwner}) {
    for (const std::uint64_t members : {2U, 3U, 5U}) {
      SCOPED_TRACE(testing::Message() << members << " members");
      SlowWays ways({backend, members});
      ways.run_for(8s);
      ASSERT_FALSE(ways.is_agreed());
      ways.lose_ways();
      ways.run();
      EXPECT_TRUE(ways.is_agreed());
      EXPECT_EQ(ways.epochs(), 1U);
      EXPECT_GT(ways.share_lost(), 0);
      // A partial sum is made again from its start on.
      EXPECT_LE(ways.share_sent(), 1 + static_cast<double>(members - 1) * ways.share_lost());
    }
  }
}

TEST(SlowWays, ASumThatStandsStillIsGivenUp) {
  SlowWays ways({});
  ways.run_for(20s);
  ASSERT_EQ(ways.epochs(), 1U);
  ways.cut(Incarnation{12});
  const Duration cut_at = ways.elapsed();
  while (ways.epochs() == 1) ways.run_for(1s);
  EXPECT_GE(ways.first_sum_over_at() - cut_at, RoundGroupConfig{}.reduce_timeout - 5s);
  EXPECT_LE(ways.first_sum_over_at() - cut_at, RoundGroupConfig{}.reduce_timeout + 30s);
  EXPECT_GT(ways.orders(), 2 * 3U) << "it was repeated before";
}

}  // namespace
}  // namespace shoal::slow_ways_test
