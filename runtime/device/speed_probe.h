// Measures how fast one thread of this machine multiplies matrices. Torch-free header.
//
// What a node states at its join, before it knows its run's model. Time is that of the processor that the thread had,
// so that several workers which start at once on one machine measure the same.
#pragma once

#include <cstdint>

namespace shoal {

// Multiply-adds per second, of the best of a few products of float32 matrices; takes about a tenth of a second.
[[nodiscard]] std::uint64_t measure_multiply_adds_s();

}  // namespace shoal
