// What model.precision = "bf16" changes in memory. Pure and without torch: planning reads it.
// Copies of weights come to what is there in float32, and what passes keep for the backward pass shrinks.
#pragma once

#include <cstdint>

#include "model/layer_list.h"
#include "model/partition.h"
#include "runtime/base/config.h"

namespace shoal {

// Bytes of the bf16 copies of the weights and biases that products read; with rounds twice, of what is trained and of
// what is agreed. 0 in float32.
[[nodiscard]] std::uint64_t bf16_copy_bytes(const StagePlan& plan, const Config& config);

// kept_of() where products are computed in bf16, in values of float32: one of bf16 is half of one.
[[nodiscard]] std::int64_t kept_in_bf16(const PartSpec& part);

}  // namespace shoal
