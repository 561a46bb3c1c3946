// Chooses the matrix products that this process computes with, and names that choice. Torch-free header.
//
// Torch's BLAS takes a slow path on processors of other makers than its own (measured: less than half the speed).
// Where the processor has the vector instructions its fast path needs, that path is taken by default. Environment
// SHOAL_GEMM=default leaves the library's own choice; SHOAL_GEMM=fast is the default, by name. The choice holds for
// the life of a process, so that equal steps give equal bits; it is part of the fingerprint that peers compare.
#pragma once

#include <string>

namespace shoal {

// Once per process, before the first product: fixes the choice and how memory is kept between steps. Repeats are free.
void prepare_process_for_compute();

// Torch's BLAS keeps the buffers of a thread's products for its next ones, some megabytes, also when the thread has
// ended. Gives back those that no product uses at the moment, and returns free memory to the system, for a thread
// that begins to compute where another has.
void give_memory_back();

// Returns what must be equal for two processes to have equal bits: library, chosen kernels, instruction set, units
// of bf16, threads. E.g. "torch 2.11.0; gemm mkl fast path (forced), avx512; vector AVX512; bf16 avx512_bf16; threads
// 1".
[[nodiscard]] std::string kernel_fingerprint(int threads);

}  // namespace shoal
