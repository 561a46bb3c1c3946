// Measures how fast one thread of this machine, or a GPU of it, multiplies matrices. Torch-free header.
//
// What a node states at its join, before it knows its run's model. Time is that of the processor that the thread had,
// so that several workers which start at once on one machine measure the same.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

// Multiply-adds per second, of the best of a few products of matrices in that precision; takes about a tenth of a
// second. Of bf16 0 where the processor has no units for it.
[[nodiscard]] std::uint64_t measure_multiply_adds_s(Precision precision);

// The same of a GPU that this process is ready for ("cuda:0"), by the clock: others on it are in the way.
[[nodiscard]] std::uint64_t measure_multiply_adds_s(const std::string& device, Precision precision);

// Makes a small product in bf16, by units for it or without. Errors: kInternal: this build has none, or a wrong one.
[[nodiscard]] Status check_bf16_products();

}  // namespace shoal
