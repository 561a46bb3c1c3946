// Tests routing by cost to go on a virtual clock: replicas that compute one microbatch after the other, with credits.
// The shares and the tail of iwrr on the same clock. Control: uniform, which takes the last microbatch anyway.
#include "runtime/pipeline/cost_to_go.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <random>

#include <gmock/gmock.h>

namespace shoal::cost_to_go_test {
namespace {

using std::chrono::milliseconds;

Incarnation replica(std::uint64_t number) { return Incarnation{number}; }

// One stage; replica i computes a microbatch in pace_ms[i], and its link takes link_ms[i].
struct Devices {
  std::vector<double> pace_ms;
  std::vector<double> link_ms = std::vector<double>(pace_ms.size(), 0.0);
  std::size_t credits = 2;
};

struct StepResult {
  double takes_ms = 0;
  std::vector<int> shares;
  std::vector<std::size_t> order;  // who got the first, the second, ...
};

class OneStage {
 public:
  OneStage(PathPlanner& planner, Devices devices) : planner_(planner), devices_(std::move(devices)) {
    members_.resize(1);
    for (std::size_t i = 0; i < devices_.pace_ms.size(); ++i) members_[0].push_back(replica(i + 1));
  }
  Devices& devices() { return devices_; }

  StepResult step(std::uint32_t microbatches) {
    result_ = {0, std::vector<int>(devices_.pace_ms.size(), 0), {}};
    in_flight_.assign(devices_.pace_ms.size(), 0);
    free_at_ms_.assign(devices_.pace_ms.size(), 0.0);
    next_ = 0;
    planner_.begin_work();
    dispatch(0, microbatches);
    while (!ends_.empty()) {
      const auto [at_ms, microbatch, device, queue_ms] = ends_.top();
      ends_.pop();
      result_.takes_ms = at_ms;
      --in_flight_[device];
      const auto compute_ms = static_cast<float>(devices_.pace_ms[device]);
      const auto link_ms = static_cast<float>(devices_.link_ms[device]);
      planner_.learn({Hop{replica(device + 1), static_cast<float>(queue_ms), compute_ms, link_ms}});
      planner_.answered(MicrobatchId{microbatch}, {replica(device + 1)});
      dispatch(at_ms, microbatches);
    }
    return result_;
  }

 private:
  struct End {
    double at_ms;
    std::uint32_t microbatch;
    std::size_t device;
    double queue_ms;
    friend bool operator>(const End& a, const End& b) { return a.at_ms > b.at_ms; }
  };

  void dispatch(double now_ms, std::uint32_t microbatches) {
    while (next_ < microbatches) {
      std::set<Incarnation> without_credit;
      for (std::size_t i = 0; i < in_flight_.size(); ++i) {
        if (in_flight_[i] >= devices_.credits) without_credit.insert(replica(i + 1));
      }
      PlanRequest request{MicrobatchId{next_}, Purpose::kTrain, &members_, &without_credit};
      request.waiting = microbatches - next_;
      const auto path = planner_.plan(request, Instant{} + milliseconds(static_cast<int>(now_ms)));
      if (!path) return;
      const auto device = static_cast<std::size_t>(path->front().value - 1);
      const double begins_ms = std::max(free_at_ms_[device], now_ms + devices_.link_ms[device]);
      free_at_ms_[device] = begins_ms + devices_.pace_ms[device];
      ends_.push({free_at_ms_[device], next_, device, begins_ms - now_ms - devices_.link_ms[device]});
      ++in_flight_[device];
      ++result_.shares[device];
      result_.order.push_back(device);
      ++next_;
    }
  }

  PathPlanner& planner_;
  Devices devices_;
  Members members_;
  std::vector<std::size_t> in_flight_;
  std::vector<double> free_at_ms_;
  std::uint32_t next_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  StepResult result_;
};

// The time of the best split of whole microbatches.
double best_ms(const std::vector<double>& pace_ms, int microbatches) {
  std::vector<int> shares(pace_ms.size(), 0);
  double takes_ms = 0;
  for (int i = 0; i < microbatches; ++i) {
    std::size_t best = 0;
    for (std::size_t d = 1; d < pace_ms.size(); ++d) {
      if ((shares[d] + 1) * pace_ms[d] < (shares[best] + 1) * pace_ms[best]) best = d;
    }
    takes_ms = std::max(takes_ms, ++shares[best] * pace_ms[best]);
  }
  return takes_ms;
}

// A step after some that taught the planner.
StepResult settled(Routing routing, const Devices& devices, std::uint32_t microbatches) {
  const auto planner = make_path_planner(routing, 1);
  OneStage stage(*planner, devices);
  for (int i = 0; i < 4; ++i) (void)stage.step(microbatches);
  return stage.step(microbatches);
}

TEST(CostToGo, OneToOneToThreeComesToTheBestSplitOfWholeMicrobatches) {
  const Devices devices{{20, 20, 60}};
  const double best = best_ms(devices.pace_ms, 42);
  const StepResult result = settled(Routing::kCostToGo, devices, 42);
  EXPECT_LE(result.takes_ms, best / 0.95);
  EXPECT_NEAR(result.shares[2], 6, 1);
  EXPECT_GT(settled(Routing::kUniform, devices, 42).takes_ms, best / 0.9);  // negative control
}

// Compares throughput over random devices with the best split of whole microbatches, and with uniform as the control.
void expect_near_the_best_split(Routing routing, double least) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  double sum = 0;
  double control_sum = 0;
  constexpr int kTrials = 60;
  for (int trial = 0; trial < kTrials; ++trial) {
    Devices devices;
    for (std::uint64_t i = 0; i < 2 + random() % 5; ++i) {
      devices.pace_ms.push_back(std::uniform_real_distribution<double>(10, 60)(random));
    }
    devices.link_ms.assign(devices.pace_ms.size(), 0);
    const auto microbatches = static_cast<std::uint32_t>(20 + random() % 60);
    const double best = best_ms(devices.pace_ms, static_cast<int>(microbatches));
    sum += best / settled(routing, devices, microbatches).takes_ms;
    control_sum += best / settled(Routing::kUniform, devices, microbatches).takes_ms;
  }
  EXPECT_GE(sum / kTrials, least);
  EXPECT_LT(control_sum / kTrials, sum / kTrials);
}

TEST(Iwrr, OneToOneToThreeComesToTheBestSplitOfWholeMicrobatches) {
  for (const std::size_t credits : {1U, 2U, 3U, 8U}) {
    const Devices devices{{20, 20, 60}, {0, 0, 0}, credits};
    const StepResult result = settled(Routing::kIwrr, devices, 42);
    EXPECT_LE(result.takes_ms, best_ms(devices.pace_ms, 42) / 0.95) << credits << " credits";
    EXPECT_NEAR(result.shares[2], 6, 1);
  }
}

TEST(Iwrr, IsNearTheBestSplitForRandomDevices) { expect_near_the_best_split(Routing::kIwrr, 0.95); }

// Whoever is suddenly slower than it was measured makes nobody wait for it.
TEST(Iwrr, AGrayReplicaCostsNoMoreThanWhatItHolds) {
  const auto planner = make_path_planner(Routing::kIwrr, 1);
  OneStage stage(*planner, Devices{{20, 20, 20}});
  for (int i = 0; i < 4; ++i) (void)stage.step(42);
  stage.devices().pace_ms[2] = 60;
  const StepResult gray = stage.step(42);
  EXPECT_LE(gray.takes_ms, best_ms({20, 20, 60}, 42) + 2 * 60);
  EXPECT_LE(std::count(gray.order.begin() + 20, gray.order.begin() + 40, 2U), 3) << "its share";
  for (int i = 0; i < 2; ++i) (void)stage.step(42);
  EXPECT_NEAR(stage.step(42).shares[2], 6, 1);
  stage.devices().pace_ms[2] = 20;
  const StepResult recovered = stage.step(63);
  EXPECT_GE(std::count(recovered.order.begin() + 20, recovered.order.begin() + 40, 2U), 6) << "its share again";
}

// Somebody who can go on is always there: a choice that waits waits for an answer.
TEST(Iwrr, EndsEveryStepWhateverTheDevices) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 100; ++trial) {
    Devices devices;
    for (std::uint64_t i = 0; i < 1 + random() % 6; ++i) {
      devices.pace_ms.push_back(random() % 2 == 0 ? 20 : std::uniform_real_distribution<double>(1, 400)(random));
    }
    devices.link_ms.assign(devices.pace_ms.size(), 0);
    devices.credits = 1 + random() % 4;
    const auto microbatches = static_cast<std::uint32_t>(1 + random() % 20);
    const StepResult result = settled(Routing::kIwrr, devices, microbatches);
    EXPECT_EQ(result.order.size(), microbatches);
  }
}

TEST(CostToGo, IsNearTheBestSplitForRandomDevices) { expect_near_the_best_split(Routing::kCostToGo, 0.96); }

TEST(CostToGo, ASlowLinkCountsAsTime) {
  Devices devices{{20, 20, 20}};
  devices.link_ms = {0, 0, 500};
  const StepResult result = settled(Routing::kCostToGo, devices, 42);
  EXPECT_LT(result.shares[2], 5);
  EXPECT_LE(result.takes_ms, 560);
}

TEST(CostToGo, AGrayReplicaHasItsShareWithinTwentyMicrobatchesAndGetsItBack) {
  const auto planner = make_path_planner(Routing::kCostToGo, 1);
  OneStage stage(*planner, Devices{{20, 20, 20}});
  for (int i = 0; i < 4; ++i) (void)stage.step(42);
  stage.devices().pace_ms[2] = 60;
  const auto slow = stage.step(42);
  const auto after_20 = [](const StepResult& result, std::size_t device) {
    return std::count(result.order.begin() + 20, result.order.end(), device);
  };
  EXPECT_LE(after_20(slow, 2), 5) << "a seventh of 22, and its credits";
  stage.devices().pace_ms[2] = 20;
  const auto recovered = stage.step(63);
  EXPECT_GE(std::count(recovered.order.begin() + 20, recovered.order.end(), 2U), 12) << "a third of 43, but for two";
}

TEST(CostToGo, ASlowReplicaDoesNotTakeTheLastMicrobatch) {
  const StepResult result = settled(Routing::kCostToGo, Devices{{10, 10, 100}}, 12);
  EXPECT_NE(result.order.back(), 2U);
  EXPECT_LE(result.takes_ms, 100);
}

TEST(CostToGo, WaitsForNobodyWhenOnlyOneHasCreditAndMuchWaits) {
  const auto planner = make_path_planner(Routing::kCostToGo, 1);
  const Members members{{replica(1), replica(2)}};
  planner->learn({});
  std::set<Incarnation> without_credit;
  const auto plan = [&](std::uint32_t microbatch, std::size_t waiting) {
    PlanRequest request{MicrobatchId{microbatch}, Purpose::kTrain, &members, &without_credit};
    request.waiting = waiting;
    return planner->plan(request, Instant{});
  };
  (void)plan(0, 100);
  planner->learn({Hop{replica(1), 0, 10, 0}, Hop{replica(2), 0, 100, 0}});
  planner->begin_work();
  ASSERT_EQ(plan(0, 100)->front(), replica(1));
  EXPECT_EQ(planner->reason(0), "done soonest");
  without_credit = {replica(1)};
  EXPECT_EQ(plan(1, 99)->front(), replica(2));
  EXPECT_EQ(planner->reason(0), "others have more than enough");
  planner->answered(MicrobatchId{1}, {replica(2)});
  EXPECT_EQ(plan(2, 2), std::nullopt) << "the fast one finishes both before";
  without_credit = {replica(1), replica(2)};
  EXPECT_EQ(plan(2, 99), std::nullopt);
  without_credit = {};
  EXPECT_TRUE(plan(2, 99).has_value()) << "credit that came back unsaid is found";
}

TEST(CostToGo, HoldersAndBansAreAsForTheOthers) {
  const auto planner = make_path_planner(Routing::kCostToGo, 1);
  const Members members{{replica(1), replica(2)}, {replica(3), replica(4)}};
  const std::set<Incarnation> nobody;
  const std::map<StageId, Incarnation> held{{StageId{1}, replica(4)}};
  PlanRequest request{MicrobatchId{0}, Purpose::kTrain, &members, &nobody, &held};
  EXPECT_EQ(planner->plan(request, Instant{})->back(), replica(4));
  EXPECT_EQ(planner->reason(1), "holds it already");
  planner->begin_work();
  request.held = nullptr;
  const Instant now = Instant{} + std::chrono::hours(1);
  planner->failed(replica(1), now);
  for (std::uint32_t i = 0; i < 6; ++i) {
    request.microbatch = MicrobatchId{i};
    EXPECT_EQ(planner->plan(request, now)->front(), replica(2));
  }
  planner->failed(replica(2), now);
  request.microbatch = MicrobatchId{7};
  EXPECT_TRUE(planner->plan(request, now).has_value()) << "a ban never leaves a stage without a candidate";
}

TEST(CostToGo, MembershipMayChangeAtAnyTime) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto planner = make_path_planner(Routing::kCostToGo, 1);
  Members members{{replica(1), replica(2)}, {replica(3)}};
  std::uint64_t next = 4;
  const std::set<Incarnation> nobody;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    auto& stage = members[random() % 2];
    if (random() % 3 == 0) stage.push_back(replica(next++));
    if (random() % 3 == 0 && stage.size() > 1)
      stage.erase(stage.begin() + static_cast<std::ptrdiff_t>(random() % stage.size()));
    PlanRequest request{MicrobatchId{i % 64}, Purpose::kTrain, &members, &nobody};
    const auto path = planner->plan(request, Instant{});
    ASSERT_TRUE(path);
    for (std::size_t s = 0; s < 2; ++s) {
      ASSERT_TRUE(std::binary_search(members[s].begin(), members[s].end(), path->at(s)));
    }
    if (random() % 2 == 0)
      planner->learn({Hop{path->back(), 1, 5, 1}, Hop{path->front(), 1, static_cast<float>(random() % 50), 1}});
    if (random() % 2 == 0) planner->answered(MicrobatchId{i % 64}, *path);
  }
}

// More replicas than are added up one by one: the sums of rates do the same within a microbatch for each of them.
TEST(CostToGo, ManyReplicasComeNearTheBestSplitToo) {
  Devices devices;
  for (int i = 0; i < 40; ++i) devices.pace_ms.push_back(i % 4 == 0 ? 60 : 20);
  devices.link_ms.assign(devices.pace_ms.size(), 0);
  const double best = best_ms(devices.pace_ms, 500);
  EXPECT_GE(best / settled(Routing::kCostToGo, devices, 500).takes_ms, 0.9);
}

}  // namespace
}  // namespace shoal::cost_to_go_test
