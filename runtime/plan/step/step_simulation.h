// Steps of a pipeline on a virtual clock, machine by machine and microbatch by microbatch.
//
//   data loader ──tokens──▶ stage 0 ──activation──▶ ... last stage       the data loader's core, the order of work of
//               ◀──answer──         ◀──gradient──                        replicas: the program's own; the rest is here
//   all answered ──▶ prepare, manifests, reduce over a ring, votes ──▶ commit ──▶ next step
//
// Which microbatch leaves when and on which path is decided by DataLoaderCore, with its credits and path policy, and a
// replica's next piece of work by ComputeQueue. What machines and links take is the scene's. A pair of processes has
// one way in each direction, which carries one letter after the other. Pure; the same scene gives the same times.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/step/step_scene.h"

namespace shoal {

struct SimulatedStep {
  double takes_s = 0;                 // from the commit before to its own
  std::vector<std::uint32_t> shares;  // microbatches of each machine of the scene
  std::vector<std::size_t> replicas;  // of each stage
  std::size_t moves = 0;              // that were over by its end, since the beginning
};

// Ensures that every stage has a machine.
[[nodiscard]] std::vector<SimulatedStep> simulate_steps(const StepScene& scene);

}  // namespace shoal
