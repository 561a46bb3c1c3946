// Traces of runs in which something is wrong, at random: reports of them have to be the same whatever they hold of a
// trace at a time.
#pragma once

#include <cstdint>
#include <random>

#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal {

// Makes one thing of a run wrong, or none: one of the events that `which` is true of, of which every life has some.
void doctor(TraceBench& bench, const TraceBench::Which& which, std::mt19937& random);

// Adds the sums of some epochs as replicas adopted them, right and wrong ones.
void add_sums(TraceBench& bench, std::uint64_t steps, std::mt19937& random);

}  // namespace shoal
