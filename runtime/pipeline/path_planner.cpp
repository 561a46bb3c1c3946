// The routing policies, and the bans that the adaptive ones share.
#include "runtime/pipeline/path_planner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"
#include "runtime/pipeline/cost_to_go.h"
#include "runtime/pipeline/path_bans.h"

namespace shoal {
namespace {

// Work of one visit, in forwards: a backward counts 2.5 of them (DESIGN.md §5).
constexpr double kForwardLoad = 1.0;
constexpr double kTrainLoad = kForwardLoad + 2.5;
constexpr double kNewestTimeWeight = 0.3;  // of a time for a microbatch in the moving average
constexpr double kFaster = 0.9;            // of another one's time for a microbatch: less is faster
constexpr double kEndsRounding = 1e-6;     // part of a microbatch by which two ends count as equal

[[nodiscard]] double load_of(Purpose purpose) { return purpose == Purpose::kTrain ? kTrainLoad : kForwardLoad; }

class StaticPlanner final : public PathPlanner {
 public:
  std::optional<std::vector<Incarnation>> plan(const PlanRequest& request, Instant /*now*/) override {
    std::vector<Incarnation> path;
    for (std::size_t stage = 0; stage < request.members->size(); ++stage) {
      const auto& replicas = (*request.members)[stage];
      path.push_back(holder_of(request, stage).value_or(replicas[request.microbatch.value % replicas.size()]));
    }
    const auto has_no_credit = [&](Incarnation replica) { return request.without_credit->contains(replica); };
    if (std::ranges::any_of(path, has_no_credit)) return std::nullopt;
    return path;
  }
  // Paths are the same again after so many microbatches. Beyond 32 bits, which numbers have, each is its own sort.
  [[nodiscard]] std::size_t sorts(const Members& members) const override {
    constexpr std::size_t kNumbers = std::numeric_limits<std::uint32_t>::max();
    std::size_t paths = 1;
    for (const auto& replicas : members) {
      paths = std::lcm(paths, replicas.size());
      if (paths > kNumbers) return kNumbers;
    }
    return paths;
  }
  void learn(const std::vector<Hop>& /*trail*/) override {}
  void failed(Incarnation /*replica*/, Instant /*now*/) override {}
};

class UniformPlanner final : public PathPlanner {
 public:
  explicit UniformPlanner(std::uint64_t seed) : key_(philox_key(seed)) {}

  std::optional<std::vector<Incarnation>> plan(const PlanRequest& request, Instant now) override {
    bans_.keep_only(*request.members);
    std::vector<std::vector<Incarnation>> candidates;
    for (std::size_t stage = 0; stage < request.members->size(); ++stage) {
      candidates.push_back(candidates_of(bans_, request, stage, now));
      if (candidates.back().empty()) return std::nullopt;  // before anything is drawn
    }
    std::vector<Incarnation> path;
    for (const auto& replicas : candidates) path.push_back(replicas[draw(replicas.size())]);
    for (const Incarnation replica : path) bans_.probe(replica, now);
    return path;
  }
  void learn(const std::vector<Hop>& trail) override {
    for (const Hop& hop : trail) bans_.lift(hop.replica);
  }
  void failed(Incarnation replica, Instant now) override { bans_.add(replica, now); }

 private:
  [[nodiscard]] std::size_t draw(std::size_t count) {
    const auto words = philox4x32(philox_counter(draws_++, stream_of("path")), key_);
    return static_cast<std::size_t>(std::uint64_t{words[0]} * count >> 32U);
  }

  std::array<std::uint32_t, 2> key_;
  std::uint64_t draws_ = 0;
  Bans bans_;
};

class IwrrPlanner final : public PathPlanner {
 public:
  std::optional<std::vector<Incarnation>> plan(const PlanRequest& request, Instant now) override {
    bans_.keep_only(*request.members);
    keep_only(*request.members);
    std::vector<Incarnation> path;
    for (std::size_t stage = 0; stage < request.members->size(); ++stage) {
      enter_newcomers((*request.members)[stage]);
      const auto choice = choose(request, stage, now);
      if (!choice) return std::nullopt;
      path.push_back(*choice);
    }
    for (std::size_t stage = 0; stage < path.size(); ++stage) {
      peers_.at(path[stage]).virtual_time = end_of_one_more(request, stage, path[stage]);
      ++peers_.at(path[stage]).given;
      bans_.probe(path[stage], now);
    }
    return path;
  }

  void learn(const std::vector<Hop>& trail) override {
    for (const Hop& hop : trail) {
      bans_.lift(hop.replica);
      const auto found = peers_.find(hop.replica);
      // Waiting there is no part of its speed: a replica that has less to do would seem to be faster.
      const double took_ms = static_cast<double>(hop.compute_ms) + static_cast<double>(hop.transfer_ms);
      if (found == peers_.end() || !(took_ms > 0) || took_ms > std::numeric_limits<float>::max()) continue;
      auto& known_ms = found->second.took_ms;
      known_ms = known_ms ? average(*known_ms, took_ms) : took_ms;
      found->second.speed = kTrainLoad / std::max(*known_ms, 1e-3);
    }
  }

  void failed(Incarnation replica, Instant now) override { bans_.add(replica, now); }

  // Shares are those of one step: what was measured wrongly does not add up over steps.
  // Among equals, whoever was given least in all steps comes first: else a step of few microbatches would pass by the
  // newest replicas for ever.
  void begin_work() override {
    for (auto& [replica, peer] : peers_) peer.virtual_time = 0;
  }

 private:
  struct Peer {
    double virtual_time = 0;  // milliseconds of work of this step given to it
    std::uint64_t given = 0;  // microbatches, in all steps since it came
    std::optional<double> took_ms;
    std::optional<double> speed;  // forwards per millisecond, by took_ms
  };

  // Averages times where it became slower, speeds where it became faster: either alone would follow the other change
  // for long, and a share is to settle within twenty microbatches.
  [[nodiscard]] static double average(double known_ms, double newest_ms) {
    if (newest_ms > known_ms) return (1 - kNewestTimeWeight) * known_ms + kNewestTimeWeight * newest_ms;
    return 1 / ((1 - kNewestTimeWeight) / known_ms + kNewestTimeWeight / std::max(newest_ms, 1e-3));
  }

  void keep_only(const Members& members) {
    std::erase_if(peers_, [&members](const auto& peer) {
      return std::none_of(members.begin(), members.end(), [&peer](const std::vector<Incarnation>& replicas) {
        return std::binary_search(replicas.begin(), replicas.end(), peer.first);
      });
    });
  }

  void enter_newcomers(const std::vector<Incarnation>& replicas) {
    std::optional<Peer> least;
    for (const Incarnation replica : replicas) {
      const auto found = peers_.find(replica);
      if (found == peers_.end()) continue;
      const Peer& peer = found->second;
      if (!least) least = Peer{peer.virtual_time, peer.given, std::nullopt, std::nullopt};
      least->virtual_time = std::min(least->virtual_time, peer.virtual_time);
      least->given = std::min(least->given, peer.given);
    }
    for (const Incarnation replica : replicas) peers_.try_emplace(replica, least.value_or(Peer{}));
  }

  // Takes the least virtual time. At the tail of a step, where faster replicas would end all that waits before that one
  // ends one more, it is whoever would end one more first, or nobody while that one has no credit: a share is of whole
  // microbatches, and a slow replica that took one beyond its own would end the step alone. Links and what is in flight
  // do not count. Nobody waits for replicas that are about as fast: one of them may have become slow since.
  [[nodiscard]] std::optional<Incarnation> choose(const PlanRequest& request, std::size_t stage, Instant now) const {
    if (const auto holder = holder_of(request, stage)) return holder;
    const auto candidates = bans_.candidates(request, stage, now);
    if (candidates.empty()) return std::nullopt;
    const auto begins = [&](Incarnation replica) {
      return std::pair(peers_.at(replica).virtual_time, peers_.at(replica).given);
    };
    const auto ends = [&](Incarnation replica) {
      return std::pair(end_of_one_more(request, stage, replica), peers_.at(replica).given);
    };
    const Incarnation next = *std::ranges::min_element(candidates, {}, begins);
    const auto do_others_take_all = [&](Incarnation but) {
      return ended_by_faster(request, stage, but, now) >= static_cast<double>(request.waiting);
    };
    if (!do_others_take_all(next)) return next;
    const Incarnation soonest = *std::ranges::min_element(candidates, {}, ends);
    return do_others_take_all(soonest) ? std::nullopt : std::optional(soonest);
  }

  [[nodiscard]] double end_of_one_more(const PlanRequest& request, std::size_t stage, Incarnation replica) const {
    const Peer& peer = peers_.at(replica);
    return peer.virtual_time + load_of(request.purpose) / peer.speed.value_or(mean_speed((*request.members)[stage]));
  }

  // Returns the microbatches that faster replicas would end before `but` ends one more.
  [[nodiscard]] double ended_by_faster(const PlanRequest& request, std::size_t stage, Incarnation but,
                                       Instant now) const {
    const double until = end_of_one_more(request, stage, but);
    const double takes = until - peers_.at(but).virtual_time;
    double ended = 0;
    for (const Incarnation other : (*request.members)[stage]) {
      const double begins = peers_.at(other).virtual_time;
      const double other_takes = end_of_one_more(request, stage, other) - begins;
      if (other_takes > kFaster * takes || bans_.holds(other, now)) continue;
      ended += std::max(0.0, std::ceil((until - begins) / other_takes - kEndsRounding) - 1);
    }
    return ended;
  }

  // Speed of a member without measurements: as fast as its stage's others on average.
  [[nodiscard]] double mean_speed(const std::vector<Incarnation>& replicas) const {
    double sum = 0;
    int count = 0;
    for (const Incarnation replica : replicas) {
      if (const auto& speed = peers_.at(replica).speed) sum += *speed, ++count;
    }
    return count == 0 ? 1.0 : sum / count;
  }

  std::map<Incarnation, Peer> peers_;
  Bans bans_;
};

// Every policy relies on what PlanRequest promises.
class CheckedPlanner final : public PathPlanner {
 public:
  explicit CheckedPlanner(std::unique_ptr<PathPlanner> policy) : policy_(std::move(policy)) {}
  std::optional<std::vector<Incarnation>> plan(const PlanRequest& request, Instant now) override {
    ENSURE(serves_every_stage(*request.members), "a path needs a replica in every stage");
    return policy_->plan(request, now);
  }
  [[nodiscard]] std::size_t sorts(const Members& members) const override { return policy_->sorts(members); }
  void learn(const std::vector<Hop>& trail) override { policy_->learn(trail); }
  void failed(Incarnation replica, Instant now) override { policy_->failed(replica, now); }
  void answered(MicrobatchId microbatch, const std::vector<Incarnation>& path) override {
    policy_->answered(microbatch, path);
  }
  void begin_work() override { policy_->begin_work(); }
  [[nodiscard]] std::string_view reason(std::size_t stage) const override { return policy_->reason(stage); }

 private:
  std::unique_ptr<PathPlanner> policy_;
};

[[nodiscard]] std::unique_ptr<PathPlanner> make_policy(Routing routing, std::uint64_t seed) {
  switch (routing) {
    case Routing::kStatic: return std::make_unique<StaticPlanner>();
    case Routing::kUniform: return std::make_unique<UniformPlanner>(seed);
    case Routing::kIwrr: return std::make_unique<IwrrPlanner>();
    case Routing::kCostToGo: return std::make_unique<CostToGoPlanner>();
  }
  ENSURE(false, "no such routing policy");
}

}  // namespace

Members members_of(const View& view, std::uint32_t stages) {
  Members members(stages);
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    for (const ReplicaMember& replica : view.replicas_of(StageId{stage})) members[stage].push_back(replica.incarnation);
  }
  return members;
}

bool serves_every_stage(const Members& members) {
  return !members.empty() &&
         std::all_of(members.begin(), members.end(), [](const auto& replicas) { return !replicas.empty(); });
}

std::optional<Incarnation> replacement_hop(const std::vector<Incarnation>& stage_members, MicrobatchId microbatch,
                                           Incarnation failed) {
  std::vector<Incarnation> others = stage_members;
  std::erase(others, failed);
  if (others.empty()) return std::nullopt;
  return others[microbatch.value % others.size()];
}

std::unique_ptr<PathPlanner> make_path_planner(Routing routing, std::uint64_t seed) {
  return std::make_unique<CheckedPlanner>(make_policy(routing, seed));
}

}  // namespace shoal
