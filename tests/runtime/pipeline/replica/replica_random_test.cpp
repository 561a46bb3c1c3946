// Whole steps of several replicas over a network that loses, repeats and reorders, with deaths, false suspicions and
// joiners, from a printed seed: every applied sum holds each microbatch once (S-1) and replicas of a stage agree (S-3).
//
// Data loader, routers, sync groups and supervisor are scripted here, as carelessly as the protocol allows: they
// re-send and re-route at will, prepare too early and give up epochs; after 20 000 turns faults stop (L-1). The
// negative controls take one rule away from the group and must be caught.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>

#include "tests/support/replica_bench.h"

namespace shoal::replica_random_test {
namespace {

constexpr RunId kRun{7};

enum class Sabotage { kNone, kIgnoreDuplicates, kIgnoreGaps };

struct Plan {
  std::uint64_t seed = 1;
  std::uint32_t stages = 2;
  std::uint32_t replicas = 2;
  std::uint32_t microbatches = 4;
  std::uint64_t steps = 4;
  int deaths = 1;
  bool is_late = false;  // devices end their jobs when they like
  Sabotage sabotage = Sabotage::kNone;
};

enum class GroupPhase { kIdle, kPreparing, kReducing, kVoted };

struct Group {
  std::uint32_t counter = 0;
  GroupPhase phase = GroupPhase::kIdle;
  Epoch epoch;
  Epoch last_zero;
  std::vector<Incarnation> members;
  std::map<Incarnation, Manifest> manifests;
  std::map<Incarnation, Reduced> reduced;
};

struct Node {
  explicit Node(const ReplicaSetup& setup) : bench(setup), stage(setup.stage.value) {}
  ReplicaBench bench;
  std::uint32_t stage;
  bool is_alive = true;
  std::map<MicrobatchId, Forward> kept;  // its router: sent activations, until the own apply (P-11)
  std::set<MicrobatchId> answered;
  std::set<MicrobatchId> refused;
};

class World {
 public:
  explicit World(const Plan& plan) : plan_(plan), random_(plan.seed), groups_(plan.stages) {
    for (std::uint32_t stage = 0; stage < plan_.stages; ++stage) {
      for (std::uint32_t at = 0; at < plan_.replicas; ++at) add(stage, spawn(stage, 0, std::nullopt), 0);
    }
  }

  // "" when every live member finished all steps without a violation; otherwise what went wrong.
  [[nodiscard]] std::string run() {
    for (int turn = 0; turn < 60'000 && violation_.empty() && !is_finished(); ++turn) {
      is_calm_ = turn > 20'000;
      if (wire_.empty() || (!is_calm_ && chance(40))) pass_time();
      if (!wire_.empty()) deliver_one();
      compute_something();
    }
    if (violation_.empty() && !is_finished()) return "stuck";
    if (violation_.empty()) check_digests();
    return violation_;
  }
  [[nodiscard]] std::uint64_t zero_count() const { return zero_count_; }
  [[nodiscard]] std::uint64_t join_count() const { return join_count_; }
  [[nodiscard]] std::size_t jobs_under_way_max() const { return jobs_under_way_max_; }

 private:
  [[nodiscard]] bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }
  [[nodiscard]] static StageId id(std::uint32_t stage) { return StageId{stage}; }
  [[nodiscard]] StepId step() const { return StepId{committed_}; }
  [[nodiscard]] bool is_finished() const {
    return committed_ == plan_.steps && std::all_of(nodes_.begin(), nodes_.end(), [this](const auto& entry) {
             const bool counts = entry.second->is_alive && view_.contains(entry.first);
             return !counts || entry.second->bench.core.version() == plan_.steps;
           });
  }

  // Processes.
  Incarnation spawn(std::uint32_t stage, std::uint64_t version, std::optional<TensorBlob> image) {
    ReplicaSetup setup;
    setup.run = kRun;
    setup.term = Term{1};
    setup.stage = id(stage);
    setup.stage_count = plan_.stages;
    setup.self = Incarnation{100 * (stage + 1) + ++spawned_};
    setup.process = ProcessIncarnation{setup.self.value};
    setup.version = version;
    setup.microbatch_count = plan_.microbatches;
    setup.schedule = chance(2) ? Schedule::k1f1b : Schedule::kAfab;
    setup.image = std::move(image);
    setup.bucket_bytes = 8;
    nodes_[setup.self] = std::make_unique<Node>(setup);
    if (plan_.is_late) nodes_[setup.self]->bench.is_late = [this] { return !chance(3); };
    nodes_[setup.self]->bench.begin();
    for (const JournalEntry& entry : journal_) post({{}, address(setup.self), JournalEntries{kRun, {}, {entry}}});
    flush(setup.self);
    return setup.self;
  }
  void add(std::uint32_t stage, Incarnation replica, std::uint64_t version) {
    view_[replica] = stage;
    append(AddReplica{id(stage), {}, replica, ProcessIncarnation{replica.value}, version});
  }
  void remove_someone() {
    const auto victims = members(static_cast<std::uint32_t>(random_() % plan_.stages));
    if (victims.size() < 2) return;
    const Incarnation victim = victims[random_() % victims.size()];
    const std::uint32_t stage = view_.at(victim);
    nodes_.at(victim)->is_alive = chance(2);  // else falsely suspected: it talks until it reads of it
    view_.erase(victim);
    append(RemoveReplica{id(stage), victim, "test"});
    begin_epoch<Open>(stage);
    --plan_.deaths;
  }
  void join_someone() {
    for (auto& [replica, stage] : view_) {
      ReplicaBench& donor = nodes_.at(replica)->bench;
      if (!nodes_.at(replica)->is_alive || donor.core.version() != committed_ || !chance(3)) continue;
      if (members(stage).size() >= plan_.replicas) continue;
      const std::uint32_t joined_stage = stage;
      add(joined_stage, spawn(joined_stage, committed_, donor.executor.state_image()), committed_);
      ++join_count_;
      return begin_epoch<Open>(joined_stage);
    }
  }
  [[nodiscard]] std::vector<Incarnation> members(std::uint32_t stage) const {
    std::vector<Incarnation> found;
    for (const auto& [replica, of] : view_) {
      if (of == stage) found.push_back(replica);
    }
    return found;
  }
  [[nodiscard]] Incarnation any_member(std::uint32_t stage) {
    const auto found = members(stage);
    return found[random_() % found.size()];
  }

  // The network.
  [[nodiscard]] static Address address(Incarnation replica) { return {{}, Role::kStage, {}, replica}; }
  void post(Letter letter) { wire_.push_back(std::move(letter)); }
  void deliver_one() {
    std::swap(wire_[random_() % wire_.size()], wire_.back());
    const Letter letter = wire_.back();
    if (is_calm_ || !chance(12)) wire_.pop_back();  // else it will come again
    if (!is_calm_ && chance(15)) return;            // lost
    if (letter.to.role == Role::kStage) return deliver_to_node(letter);
    if (letter.to.role == Role::kSyncGroup) return deliver_to_group(letter);
    if (const auto* fetch = std::get_if<FetchJournal>(&letter.body)) resend_journal(*fetch);
    if (const auto* backward = std::get_if<Backward>(&letter.body)) {
      if (backward->cause.step == step()) loader_answered_.insert(backward->cause.microbatch);
    }
  }
  void deliver_to_node(const Letter& letter) {
    const auto found = nodes_.find(letter.to.incarnation);
    if (found == nodes_.end() || !found->second->is_alive) return;
    Node& node = *found->second;
    std::visit([&](const auto& body) { give(node, body); }, letter.body);
    after_turn(found->first);
  }
  template <class Body>
  void give(Node& node, const Body& body) {
    if constexpr (std::is_same_v<Body, JournalEntries>) {
      for (const JournalEntry& entry : body.entries) node.bench.give(entry);
    } else if constexpr (requires { node.bench.core.receive(body, Instant{}); }) {
      if constexpr (std::is_same_v<Body, Backward>) node.answered.insert(body.cause.microbatch);
      node.bench.give(body);
    } else if constexpr (std::is_same_v<Body, Refusal>) {
      node.refused.insert(body.cause.microbatch);
    }
  }
  void compute_something() {
    for (auto& [replica, node] : nodes_) {
      if (!node->is_alive || !chance(2)) continue;
      jobs_under_way_max_ = std::max(jobs_under_way_max_, node->bench.jobs.size());
      if (!chance(2) || !node->bench.end_job()) node->bench.run_one();
      after_turn(replica);
    }
  }
  void after_turn(Incarnation replica) {
    Node& node = *nodes_.at(replica);
    if (node.bench.ended) {
      if (view_.contains(replica)) violation_ = "a member ended itself: " + *node.bench.ended;
      node.is_alive = false;
    }
    check_sums(replica);
    flush(replica);
  }
  // Does with letters what its router does: Forwards are kept until the step is applied.
  void flush(Incarnation replica) {
    Node& node = *nodes_.at(replica);
    std::erase_if(node.kept,
                  [&](const auto& kept) { return kept.second.cause.step.value < node.bench.core.version(); });
    for (Letter& letter : std::exchange(node.bench.sent, {})) {
      if (const auto* forward = std::get_if<Forward>(&letter.body)) {
        node.kept[forward->cause.microbatch] = *forward;
        node.answered.erase(forward->cause.microbatch);
      }
      if (letter.to.role != Role::kRouter) {
        post(std::move(letter));
      } else if (const auto* missing = std::get_if<Missing>(&letter.body)) {
        for (const MicrobatchId microbatch : missing->microbatches) {
          node.answered.erase(microbatch);
          resend_kept(node, microbatch);
        }
      } else {
        node.kept.clear();  // zeroed
      }
    }
  }
  void resend_kept(Node& node, MicrobatchId microbatch) {
    const auto found = node.kept.find(microbatch);
    if (found == node.kept.end()) return;
    Forward forward = found->second;
    Incarnation& next = forward.path[node.stage + 1];
    const bool is_refused = node.refused.erase(microbatch) > 0;  // somebody else may hold it
    if (is_refused || (!is_calm_ && chance(4)) || !view_.contains(next))
      next = any_member(node.stage + 1);  // re-routed needlessly, at times
    post({{}, address(next), forward});
  }

  // Data loader.
  void send_microbatch(MicrobatchId microbatch) {
    auto& path = paths_[microbatch];
    const bool is_whole = std::all_of(path.begin(), path.end(), [this](auto hop) { return view_.contains(hop); });
    if (path.empty() || !is_whole || (!is_calm_ && chance(5))) {
      path.clear();
      for (std::uint32_t stage = 0; stage < plan_.stages; ++stage) path.push_back(any_member(stage));
    }
    Forward forward;
    forward.cause.run = kRun;
    forward.cause.term = Term{1};
    forward.cause.position = JournalPosition{journal_.size()};
    forward.cause.step = step();
    forward.cause.microbatch = microbatch;
    forward.weights_version = committed_;
    forward.path = path;
    forward.input = FakeExecutor::input_of(0, step(), microbatch);
    post({{}, address(path[0]), forward});
  }

  void pass_time() {
    if (plan_.deaths > 0 && chance(20)) remove_someone();
    if (chance(10)) join_someone();
    if (wire_.size() > 200) return;
    if (committed_ < plan_.steps) {
      for (std::uint32_t at = 0; at < plan_.microbatches; ++at) {
        if (!loader_answered_.contains(MicrobatchId{at})) send_microbatch(MicrobatchId{at});
      }
      for (std::uint32_t stage = 0; stage < plan_.stages; ++stage) act(stage);
    }
    for (auto& [replica, node] : nodes_) {
      if (!node->is_alive) continue;
      const bool asks_again = !is_calm_ || node->bench.core.phase() == Phase::kOpen;
      for (const auto& [microbatch, forward] : node->kept) {
        if (!asks_again) break;
        if (!node->answered.contains(microbatch)) resend_kept(*node, microbatch);
      }
      if (node->bench.core.position().value < journal_.size()) {
        post({{}, to_supervisor(), FetchJournal{ProcessIncarnation{replica.value}, node->bench.core.position()}});
      }
    }
  }

  // Sync groups.
  [[nodiscard]] OrderId order(std::uint32_t stage) const {
    return {kRun, {}, Term{1}, id(stage), step(), groups_[stage].epoch};
  }
  template <class Order>
  void begin_epoch(std::uint32_t stage) {
    Group& group = groups_[stage];
    group.epoch = Epoch{Incarnation{900 + stage}, ++group.counter};
    group.phase = GroupPhase::kIdle;
    group.members = members(stage);
    group.manifests.clear();
    group.reduced.clear();
    if constexpr (std::is_same_v<Order, Zero>) group.last_zero = group.epoch;
    for (const Incarnation member : group.members) post({{}, address(member), make<Order>(stage)});
  }
  template <class Order>
  [[nodiscard]] Order make(std::uint32_t stage) const {
    if constexpr (std::is_same_v<Order, Prepare>) return Prepare{order(stage), groups_[stage].last_zero};
    if constexpr (std::is_same_v<Order, Reduce>) {
      return Reduce{order(stage), groups_[stage].members, plan_.microbatches * FakeExecutor::kTokens};
    }
    if constexpr (std::is_same_v<Order, Open> || std::is_same_v<Order, Zero>) return Order{order(stage)};
  }
  // Nothing is on its way, and nobody computes or has what to compute.
  [[nodiscard]] bool is_at_rest() const {
    return wire_.empty() && std::none_of(nodes_.begin(), nodes_.end(), [](const auto& entry) {
             const Node& node = *entry.second;
             return node.is_alive && (!node.bench.jobs.empty() || node.bench.core.has_job());
           });
  }
  void act(std::uint32_t stage) {
    Group& group = groups_[stage];
    const bool looks_done = loader_answered_.size() == plan_.microbatches && (!is_calm_ || is_at_rest());
    if (group.phase == GroupPhase::kIdle && (looks_done || (!is_calm_ && chance(20)))) {
      begin_epoch<Prepare>(stage);
      group.phase = GroupPhase::kPreparing;
    } else if (group.phase == GroupPhase::kPreparing || group.phase == GroupPhase::kReducing) {
      if (!is_calm_ && chance(12)) return begin_epoch<Open>(stage);  // gives up
      for (const Incarnation member : group.members) {
        if (group.phase == GroupPhase::kPreparing) post({{}, address(member), make<Prepare>(stage)});
        if (group.phase == GroupPhase::kReducing) post({{}, address(member), make<Reduce>(stage)});
      }
    }
  }
  void deliver_to_group(const Letter& letter) {
    const std::uint32_t stage = letter.to.stage.value;
    Group& group = groups_[stage];
    if (const auto* manifest = std::get_if<Manifest>(&letter.body)) {
      if (group.phase != GroupPhase::kPreparing || manifest->order != order(stage)) return;
      group.manifests[manifest->member] = *manifest;
      if (group.manifests.size() == group.members.size()) decide(stage);
    }
    if (const auto* reduced = std::get_if<Reduced>(&letter.body)) {
      if (group.phase != GroupPhase::kReducing || reduced->order != order(stage)) return;
      group.reduced[reduced->member] = *reduced;
      if (group.reduced.size() == group.members.size()) vote(stage);
    }
  }
  void decide(std::uint32_t stage) {
    std::map<MicrobatchId, int> counts;
    for (const auto& [member, manifest] : groups_[stage].manifests) {
      for (const ManifestEntry& entry : manifest.entries) ++counts[entry.microbatch];
    }
    const bool has_duplicate = std::any_of(counts.begin(), counts.end(), [](auto entry) { return entry.second > 1; });
    std::vector<MicrobatchId> missing;
    for (std::uint32_t at = 0; at < plan_.microbatches; ++at) {
      if (has_duplicate || !counts.contains(MicrobatchId{at})) missing.push_back(MicrobatchId{at});
    }
    if (has_duplicate && plan_.sabotage != Sabotage::kIgnoreDuplicates) {
      ++zero_count_;
      begin_epoch<Zero>(stage);
      return send_missing(stage, missing);
    }
    if (!has_duplicate && !missing.empty() && plan_.sabotage != Sabotage::kIgnoreGaps) {
      begin_epoch<Open>(stage);
      return send_missing(stage, missing);
    }
    groups_[stage].phase = GroupPhase::kReducing;
    for (const Incarnation member : groups_[stage].members) post({{}, address(member), make<Reduce>(stage)});
  }
  void send_missing(std::uint32_t stage, const std::vector<MicrobatchId>& missing) {
    if (stage == 0) {
      for (const MicrobatchId microbatch : missing) loader_answered_.erase(microbatch);
      return;
    }
    for (const Incarnation upstream : members(stage - 1)) {
      post({{}, address(upstream), Missing{order(stage), upstream, missing}});
    }
  }
  void vote(std::uint32_t stage) {
    Group& group = groups_[stage];
    const std::uint64_t digest = group.reduced.begin()->second.digest;
    for (const auto& [member, reduced] : group.reduced) {
      if (reduced.digest != digest) violation_ = "members of one ring hold different sums";
    }
    group.phase = GroupPhase::kVoted;
    const auto has_voted = [](const Group& any) { return any.phase == GroupPhase::kVoted; };
    if (std::all_of(groups_.begin(), groups_.end(), has_voted)) commit();
  }

  // The journal.
  void commit() {
    Commit entry;
    entry.step = step();
    entry.optimizer_step = committed_ + 1;
    for (std::uint32_t stage = 0; stage < plan_.stages; ++stage) {
      entry.stages.push_back({id(stage), groups_[stage].epoch, 0, {}});
      groups_[stage].phase = GroupPhase::kIdle;
      groups_[stage].last_zero = {};
    }
    ++committed_;
    loader_answered_.clear();
    paths_.clear();
    append(entry);
  }
  void append(JournalBody body) {
    journal_.push_back({JournalPosition{journal_.size() + 1}, {}, Term{1}, std::move(body)});
    for (const auto& [replica, node] : nodes_) {
      post({{}, address(replica), JournalEntries{kRun, {}, {journal_.back()}}});
    }
  }
  void resend_journal(const FetchJournal& fetch) {
    const auto begin = journal_.begin() + static_cast<std::ptrdiff_t>(fetch.after.value);
    post({{}, address(Incarnation{fetch.process.value}), JournalEntries{kRun, {}, {begin, journal_.end()}}});
  }

  // S-1 and S-3.
  void check_sums(Incarnation replica) {
    Node& node = *nodes_.at(replica);
    const auto& sums = node.bench.executor.applied_sums();
    const std::uint64_t first = node.bench.core.version() - sums.size();
    for (std::size_t at = 0; at < sums.size(); ++at) {
      const std::vector<std::int64_t> once(plan_.microbatches, FakeExecutor::gradient_of(StepId{first + at}));
      if (sums[at] == once) continue;
      std::ostringstream out;
      out << "replica " << replica << " applied another sum for step " << first + at << ": microbatch 0 has "
          << sums[at][0] << " instead of " << once[0];
      violation_ = out.str();
    }
  }
  void check_digests() {
    std::map<std::uint32_t, std::set<std::uint64_t>> digests;
    for (const auto& [replica, stage] : view_) {
      if (!nodes_.at(replica)->is_alive) continue;
      digests[stage].insert(nodes_.at(replica)->bench.executor.state_digest());
    }
    for (const auto& [stage, found] : digests) {
      if (found.size() > 1) violation_ = "replicas of one stage differ";
    }
  }

  Plan plan_;
  std::mt19937_64 random_;
  std::vector<Group> groups_;
  std::map<Incarnation, std::unique_ptr<Node>> nodes_;
  std::map<Incarnation, std::uint32_t> view_;
  std::vector<JournalEntry> journal_;
  std::vector<Letter> wire_;
  std::map<MicrobatchId, std::vector<Incarnation>> paths_;
  std::set<MicrobatchId> loader_answered_;
  std::uint64_t committed_ = 0;
  std::uint64_t spawned_ = 0;
  std::uint64_t zero_count_ = 0;
  std::uint64_t join_count_ = 0;
  std::size_t jobs_under_way_max_ = 0;
  bool is_calm_ = false;  // faults have stopped: progress must return (L-1)
  std::string violation_;
};

// Every shape of up to three stages and three replicas, with up to three deaths.
Plan plan_of(std::uint64_t seed) {
  Plan plan;
  plan.seed = seed;
  plan.stages = 1 + static_cast<std::uint32_t>(seed % 3);
  plan.replicas = 1 + static_cast<std::uint32_t>(seed / 3 % 3);
  plan.deaths = static_cast<int>(seed % 4);
  return plan;
}

TEST(ReplicaRandom, CountsEveryMicrobatchOnceWhateverTheNetworkDoes) {
  std::uint64_t zero_count = 0;
  std::uint64_t join_count = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Plan plan = plan_of(seed);
    World world(plan);
    ASSERT_EQ(world.run(), "");
    zero_count += world.zero_count();
    join_count += world.join_count();
  }
  EXPECT_GT(zero_count, 0U) << "no run saw a duplicate: the network is too kind";
  EXPECT_GT(join_count, 0U);
}

// Several jobs under way, and messages that come between a job and its result.
TEST(ReplicaRandom, CountsEveryMicrobatchOnceWhenDevicesEndTheirJobsLater) {
  std::size_t jobs_under_way_max = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Plan plan = plan_of(seed);
    plan.microbatches = 4 + static_cast<std::uint32_t>(seed % 5);
    plan.is_late = true;
    World world(plan);
    ASSERT_EQ(world.run(), "");
    jobs_under_way_max = std::max(jobs_under_way_max, world.jobs_under_way_max());
  }
  EXPECT_EQ(jobs_under_way_max, kJobsUnderWayMax) << "the control: several were under way";
}

// Negative controls: without one rule of the group some seed must show a wrong sum.
class SabotagedGroup : public testing::TestWithParam<Sabotage> {};

TEST_P(SabotagedGroup, IsCaught) {
  int caught = 0;
  for (std::uint64_t seed = 1; seed <= 60 && caught == 0; ++seed) {
    Plan plan;
    plan.seed = seed;
    plan.sabotage = GetParam();
    if (World(plan).run().find("applied another sum") != std::string::npos) ++caught;
  }
  EXPECT_GT(caught, 0);
}

INSTANTIATE_TEST_SUITE_P(Rules, SabotagedGroup, testing::Values(Sabotage::kIgnoreDuplicates, Sabotage::kIgnoreGaps));

}  // namespace
}  // namespace shoal::replica_random_test
