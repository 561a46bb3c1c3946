// Gives unequal machines their places: by speed, so that the weakest stage is as strong as can be, and by memory, so
// that no replica starts where it does not fit (P-25c). A machine is no faster than the link that it states carries the
// letters of a stage's microbatches: the first and the last stage have fewer.
//
// Pure. Machines whose speeds are alike are placed by place() (placement.h), and so are those of which nobody stated
// anything: the answer is then the same to the last place. A speed that is not stated counts as that of a machine like
// the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/placement.h"

namespace shoal {

inline constexpr double kPassesOfTraining = 3;  // of a microbatch: a backward is two forwards

// A replica of a stage asks this of a machine. 0: not known, and then nothing is decided by it.
struct StageNeed {
  double multiply_adds = 0;         // for one microbatch's forward
  std::uint64_t memory_bytes = 0;   // the most that it holds at once (`shoal plan`)
  std::uint64_t shared_bytes = 0;   // once in a process, among those: code and libraries
  double up_bytes = 0;              // of one microbatch, to the stages beside it: an activation, a gradient
  double down_bytes = 0;            // from them
  std::uint64_t bounded_bytes = 0;  // in place of memory_bytes if pipeline.credits were `credits`; 0: no less
  std::uint32_t credits = 0;        // those of the schedule, without what slow links may bring
  struct OnGpu {                    // in place of the same, for its kernels keep other things
    std::uint64_t memory_bytes = 0;
    std::uint64_t shared_bytes = 0;
    std::uint64_t bounded_bytes = 0;
    std::uint64_t host_bytes = 0;         // beside the GPU's memory, in the machine's
    std::uint64_t host_shared_bytes = 0;  // once in a process, among those
  };
  OnGpu on_gpu{};
};

struct PlacesWanted {
  std::vector<std::uint32_t> replicas;          // by stage
  std::vector<StageNeed> needs;                 // of each stage; empty: nothing is known
  std::uint32_t threads = 1;                    // the run's, for machines that state none of their own
  std::string config_file = "RUN/config.toml";  // the run's, as a person gives it to a command
};

// Returns what is known of a stage: nothing, where the list does not have it.
[[nodiscard]] StageNeed need_of(const std::vector<StageNeed>& needs, std::size_t stage);

// The need with memory_bytes and shared_bytes as they are on such a machine.
[[nodiscard]] StageNeed need_on(const MachineOffer& offer, StageNeed need);

[[nodiscard]] bool fits(const MachineOffer& offer, const StageNeed& need);

// Needs as they are on these workers, one number for all of them: on GPUs, on processors, or the larger of both where
// there are some of each.
[[nodiscard]] PlacesWanted wanted_on(const std::vector<Worker>& workers, PlacesWanted wanted);

// Bytes of a worker that serves a replica of each of these stages: sums, and what is shared once.
[[nodiscard]] std::uint64_t memory_of(const std::vector<StageNeed>& needs);

// Bytes that the same takes of the machine beneath it: a stage on a processor lies there whole, one on a GPU beside the
// GPU.
[[nodiscard]] std::uint64_t host_memory_of(const MachineOffer& offer, const std::vector<StageNeed>& needs);

// Says whether a worker could serve all of these stages at once (P-25c), and no other one on its machine any.
[[nodiscard]] bool fits_together(const MachineOffer& offer, const std::vector<StageNeed>& needs);

// Bytes that a machine gives; the largest number there is: it did not state any.
[[nodiscard]] std::uint64_t memory_given(const MachineOffer& offer);
// Bytes that its machine has for all workers on it together; likewise.
[[nodiscard]] std::uint64_t host_memory_given(const MachineOffer& offer);

// Names the machine beneath a worker of the node: by what the worker stated, or by its node where it does not know. An
// identity that nobody knows is nobody else's.
using MachineName = std::pair<std::uint64_t, std::string>;
[[nodiscard]] MachineName machine_beneath(const std::string& node, const MachineOffer& offer);

// Microbatches per second that a machine adds to a stage, counted by their forwards; in a unit of its own where nothing
// is known.
[[nodiscard]] double rate_of(const MachineOffer& offer, const StageNeed& need, std::uint32_t threads);

// Says whether speeds decide nothing: the fastest of these machines is not 1.5 times as fast as the slowest, on any
// stage, or of some the speed is not known.
[[nodiscard]] bool are_alike(const std::vector<MachineOffer>& offers, const std::vector<StageNeed>& needs,
                             std::uint32_t threads);

// Ascending by (slot, stage), as place(). Nothing while there are too few workers, or too few that a stage fits into.
// Longest processing time first with as many places in each stage, then swaps with the weakest one while they raise it.
[[nodiscard]] std::optional<std::vector<Placement>> place_machines(const std::vector<Worker>& workers,
                                                                   const PlacesWanted& wanted);

// Says whether these workers could fill all places. wanted: as wanted_on() returns it.
[[nodiscard]] bool can_fill_places(const std::vector<Worker>& workers, const PlacesWanted& wanted);

}  // namespace shoal
