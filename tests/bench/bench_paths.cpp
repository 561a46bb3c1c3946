// Measures what one choice of a path costs, by policy and number of replicas per stage: `build/bin/bench_paths`.
// Four stages of unequal replicas; as many microbatches in flight as credits allow, answers in the order of their ends.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <set>

#include "runtime/pipeline/path_planner.h"

namespace shoal {
namespace {

constexpr std::size_t kStages = 4;
constexpr std::uint32_t kMicrobatches = 4096;

float pace_ms(Incarnation replica) { return replica.value % 3 == 0 ? 60.F : 20.F; }

double microseconds_of_a_choice(Routing routing, std::size_t replicas) {
  const auto planner = make_path_planner(routing, 1);
  Members members(kStages);
  for (std::size_t i = 0; i < kStages * replicas; ++i) members[i / replicas].push_back(Incarnation{i + 1});
  const std::set<Incarnation> without_credit;
  std::deque<std::pair<MicrobatchId, std::vector<Incarnation>>> in_flight;
  std::chrono::steady_clock::duration spent{};
  planner->begin_work();
  const auto answer = [&] {
    const auto& [microbatch, path] = in_flight.front();
    std::vector<Hop> trail;
    for (const Incarnation replica : path) trail.push_back({replica, 0, pace_ms(replica), 1});
    planner->learn(trail);
    planner->answered(microbatch, path);
    in_flight.pop_front();
  };
  const auto choices = static_cast<std::uint32_t>(4 * replicas);
  for (std::uint32_t i = 0; i < choices; ++i) {
    PlanRequest request{MicrobatchId{i % kMicrobatches}, Purpose::kTrain, &members, &without_credit};
    request.waiting = kMicrobatches;
    const auto begin = std::chrono::steady_clock::now();
    auto path = planner->plan(request, Instant{} + std::chrono::milliseconds(i));
    spent += std::chrono::steady_clock::now() - begin;
    in_flight.emplace_back(request.microbatch, std::move(*path));
    if (in_flight.size() >= std::min<std::size_t>(2 * replicas, kMicrobatches / 2)) answer();
  }
  return std::chrono::duration<double, std::micro>(spent).count() / choices / kStages;
}

}  // namespace
}  // namespace shoal

int main() {
  std::printf("microseconds for the choice of a hop\nreplicas    iwrr  cost_to_go\n");
  for (const std::size_t replicas : {10U, 100U, 1000U}) {
    std::printf("%8zu %7.2f %11.2f\n", replicas, shoal::microseconds_of_a_choice(shoal::Routing::kIwrr, replicas),
                shoal::microseconds_of_a_choice(shoal::Routing::kCostToGo, replicas));
  }
}
