// Measures how fast one thread of this machine, or a GPU of it, multiplies matrices. Torch-free header.
//
// What a node states at its join, before it knows its run's model. Time is that of the processor that the thread had,
// so that several workers which start at once on one machine measure the same.
#pragma once

#include <cstdint>
#include <string>

namespace shoal {

// Multiply-adds per second, of the best of a few products of float32 matrices; takes about a tenth of a second.
[[nodiscard]] std::uint64_t measure_multiply_adds_s();

// The same of a GPU that this process is ready for ("cuda:0"), by the clock: others on it are in the way.
[[nodiscard]] std::uint64_t measure_multiply_adds_s(const std::string& device);

}  // namespace shoal
