// Bytes that one replica holds at most, item by item.
//
// Derived from what a device keeps (runtime/device/README.md) and checked against the resident memory of workers
// (launch/experiments/plan.md). The activations are what the parts of the blocks keep of each token (`kept_of` in
// model/layer_list.h): of a GPT-2's block 16 vectors of the width (both norms' inputs and outputs, q, k, v, the
// attention's result, both sides of the GELU), the attention's logarithm of sums for each head, and four moments.
// Beside them come dropout's masks, and once what a backward pass holds for a moment (model/pass_memory.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/plan/resources/cut_stage.h"

namespace shoal {

struct MemoryNeed {
  std::uint64_t weights = 0;
  std::uint64_t copies = 0;        // copies of weights in bf16; with model.precision = bf16 only
  std::uint64_t optimizer = 0;     // averages
  std::uint64_t outer = 0;         // agreed parameters, momentum, and what eager updates keep; with rounds only
  std::uint64_t rounds = 0;        // contributions and sums of rounds that are in flight while steps are computed
  std::uint64_t accumulators = 0;  // sums over microbatches: int64 in exact mode, else float32
  std::uint64_t mean = 0;          // gradient of a step, before its update
  std::uint64_t gradients = 0;     // gradients of one microbatch
  std::uint64_t activations = 0;   // activations of the microbatches in flight
  std::uint64_t letters = 0;       // activations and gradients that are kept to be sent again until the commit
  std::uint64_t reduction = 0;     // contribution, sum, parts on their way: of a step, or of a round that is waited for
  std::uint64_t image = 0;         // state that is saved or given, as far as an update changed it; all of it at most
  std::uint64_t allocator = 0;     // free memory between buffers that come and go
  std::uint64_t program = 0;       // code and libraries
  // Bytes of a round's largest fragment, as it travels: part of `rounds`, or of `reduction`.
  std::uint64_t contribution = 0;
};

[[nodiscard]] std::uint64_t tokens_of_microbatch(const Config& config);
// Bytes of a microbatch's activation, or gradient, between two stages; and with how many others a stage has a border.
[[nodiscard]] std::uint64_t border_bytes(const Config& config);
[[nodiscard]] std::uint64_t borders_of(std::size_t stages, std::size_t stage);

struct MemoryItem {
  std::string_view name;  // as in JSON
  std::string_view meaning;
  std::uint64_t MemoryNeed::*bytes;
};
[[nodiscard]] const std::vector<MemoryItem>& memory_items();

// Returns the most that is held at once: a step computes (gradients, activations, letters) or reduces, never both.
[[nodiscard]] std::uint64_t total_bytes(const MemoryNeed& need);

// Says what one process that trains the whole model lacks: "needs 61.2 GB of memory, and 22.9 GB are free: ...". Empty
// where it has enough. It is no refusal: part of the need comes late or never, and a system may swap.
[[nodiscard]] std::string lack_in_memory(const MemoryNeed& need, std::uint64_t free_bytes);

// Quick: what workers were measured with. Slow: a later stage's machines or links are, so that all credits that links
// may bring wait for its answers, and one more of a step's last ones is answered first (schedule.h): the most there is.
enum class LaterStages : std::uint8_t { kQuick, kSlow };

// Microbatches in flight whose activations a replica of that stage holds at once, on any device: those that wait for
// their answer, and those that are answered and not accumulated yet. With one replica in each stage they come in order,
// and accumulations wait for the last few of a step alone (is_answered_first() in schedule.h): all that is held then is
// among these.
[[nodiscard]] std::uint64_t held_microbatches(const Config& config, std::size_t stage, LaterStages later_stages);

// What a replica holds at most of microbatches that are not answered, and by that what the stage before may have sent
// it: the data loader gives no more of them to it (P-14).
struct CreditNeed {
  std::uint64_t microbatches = 0;
  std::uint64_t at_most = 0;      // microbatches, as where links take long (schedule.h); the bytes are of so many
  std::uint64_t input_bytes = 0;  // of all of them, from the stage before; stage 0: tokens, from the data loader
  std::uint64_t total_bytes = 0;  // of the replica, all of them held at once, as where a later stage is slow
};
[[nodiscard]] CreditNeed credit_need(const Config& config, const std::vector<CutStage>& stages, std::size_t stage,
                                     std::size_t replicas);

// stages: the whole cut; replicas: of that stage.
[[nodiscard]] MemoryNeed memory_need(const Config& config, const std::vector<CutStage>& stages, std::size_t stage,
                                     std::size_t replicas);

}  // namespace shoal
