// Scenario of a simulation: what a worker computes and sends (Workload), when it sends and needs it (SyncSchedule), and
// the links between the workers (Network). Plain values; times in seconds, sizes in bits.
//
// Steps count from 0. A fragment that contributes after v steps sends what it has after step v - 1, and is needed
// merged before step v + overlap_steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/config.h"

namespace shoal {

// All layers are alike; forward goes from the first to the last, backward returns.
struct Workload {
  std::string name;
  std::size_t layers = 1;
  double step_s = 1;               // forward and backward, while nothing is waited for
  double forward_share = 1.0 / 3;  // part of step_s
  double values_per_layer = 0;     // numbers that are synchronised
};

// Says when a fragment's payload is sent and needed.
enum class SyncGrain : std::uint8_t {
  kLayer,  // each layer is sent when its backward ends, and needed by its forward
  kStep,   // everything is sent when the step is over, and needed before the next one begins: what this system does
};

struct SyncSchedule {
  std::uint64_t period_steps = 1;
  std::vector<std::uint64_t> offsets = {1};  // fragment p contributes after v steps with v % period == offset % period
  FragmentPattern pattern = FragmentPattern::kStrided;
  std::uint64_t overlap_steps = 0;
  double bits_per_value = 16;
  SyncGrain grain = SyncGrain::kLayer;
};

// Says how every worker comes to hold the contributions of all.
enum class Exchange : std::uint8_t {
  kGather,  // each sends its whole payload to each other one: one hop; with two workers a plain exchange
  kRing,    // reduce-scatter, then all-gather, from neighbour to neighbour: 2 (M - 1) hops
  kOwner,   // each sends part j to worker j, which sends the mean to all: two hops
};

// A transfer holds the sender's up link and the receiver's down link, at the slower one's rate.
struct Network {
  std::size_t workers = 2;
  Exchange exchange = Exchange::kGather;
  double bits_per_s = 1e9;           // rate of a link with factor 1, each way
  std::vector<double> link_factors;  // per worker; empty: all 1
  double latency_s = 0;              // per hop: the time that the last bit is on its way; links are free meanwhile
  double jitter = 0;                 // relative standard deviation of each step's and each transfer's time
  std::uint64_t seed = 1;            // seed of the jitter
};

struct Scenario {
  Workload workload;
  SyncSchedule schedule;
  Network network;
};

[[nodiscard]] std::size_t fragment_of(const SyncSchedule& schedule, std::size_t layers, std::size_t layer);
[[nodiscard]] bool contributes_after(const SyncSchedule& schedule, std::size_t fragment, std::uint64_t steps);
[[nodiscard]] double payload_bits(const Scenario& scenario);                               // one layer of one worker
[[nodiscard]] double link_rate(const Network& network, std::size_t from, std::size_t to);  // bits per second

// Bits that a worker sends in a period when it sends each layer once: what any bandwidth has to carry in the long run.
[[nodiscard]] double sent_bits_per_period(const Scenario& scenario);

// The fragments' offsets at equal distances of round(H / fragments) steps, as published (a half to the even one); the
// period is what `fragments` of them take, which need not be H.
[[nodiscard]] SyncSchedule at_intervals(std::uint64_t H, std::size_t fragments);
// Schedules as this system does: a period of H, fragment p after round((p + 1) H / fragments) steps of it.
[[nodiscard]] SyncSchedule within_rounds(std::uint64_t H, std::size_t fragments);

}  // namespace shoal
