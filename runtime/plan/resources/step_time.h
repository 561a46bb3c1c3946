// The time of a step: every stage splits the step's microbatches over its replicas by their speeds, whole ones only,
// and the slowest stage decides; the others add what the first microbatch takes to come there and the last one to
// return.
//
// Letters on their way are hidden behind computing for as long as a link carries them in the time that a stage
// computes; beyond that the link is the slowest stage. Sums and commits come after all microbatches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal {

// Microbatches that each replica computes, and when the last one is done.
struct MicrobatchSplit {
  std::vector<std::uint64_t> shares;  // index = replica
  double takes_s = 0;
};

// The split that is done first. microbatch_s: the time that each replica takes for one. Ensures that it is above zero
// and that there is a replica.
[[nodiscard]] MicrobatchSplit best_split(const std::vector<double>& microbatch_s, std::uint64_t microbatches);
// The same where each replica that has any takes so much time beside its microbatches'.
[[nodiscard]] MicrobatchSplit best_split(const std::vector<double>& microbatch_s, const std::vector<double>& beside_s,
                                         std::uint64_t microbatches);

struct StepTiming {
  std::vector<std::vector<double>> microbatch_s;  // per stage and replica: forward and backward
  std::vector<double> link_s;                     // per border: time that one microbatch's letters keep it busy
  std::uint64_t microbatches = 1;
  double reduce_s = 0;  // of the stage that takes longest
  double commit_s = 0;  // agreement, journal and update
};

struct StepTime {
  double compute_s = 0;  // of the slowest stage or link
  double fill_s = 0;
  double total_s = 0;
  std::size_t slowest_stage = 0;
};

[[nodiscard]] StepTime step_time(const StepTiming& timing);

}  // namespace shoal
