// Runs kernels on the CPU and looks for their mistakes: what a test sets and reads (cuda_runtime.h has CUDA's words).
//
// A block's threads are fibers of one thread. Between two barriers each runs as far as it gets, one after the other, in
// an order drawn from the seed. Found, whatever the order:
//   * a thread that ends while others wait at a barrier or in a shuffle, or before copies that it has begun;
//   * a launch with more shared memory than its kernel may have on the device;
//   * a grid without blocks, or with more of them in one direction than CUDA launches;
// and, where the kernels' accesses are instrumented (checks_accesses()):
//   * a race: two threads of a block touch one byte between two barriers, or two blocks of one launch do, and one of
//     them writes: a missing barrier, or a wrong index;
//   * a read of shared memory that nobody of the block has written, as where a copy is not waited for;
//   * an access to shared memory behind what the launch has of it;
//   * an access outside of every array that the test has allocated.
// The instrumentation is the compiler's (-fsanitize=thread); its functions are answered by accesses.cpp, not by a
// sanitizer's library. With AddressSanitizer in its place only the orders and the first check are left.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shoal::shim {

enum class Order { kUpwards, kDownwards, kShuffled };

// A mistake, planted without a change of the kernel's source.
enum class FaultKind {
  kNone,
  kNoBarrier,      // no thread stops at barrier number `at`, counted from the beginning of its block
  kShiftedThread,  // thread `at` of each block sees the x index of the next one
  kLostBlock,      // the last block of the grid does not run
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  unsigned at = 0;
};

struct Plan {
  Order order = Order::kUpwards;
  unsigned seed = 1;
  Fault fault;
};

// Holds for the launches that follow; forgets findings and counts.
void begin(const Plan& plan);

// Returns what was found since begin(): the first few of them.
[[nodiscard]] std::vector<std::string> findings();
// Returns the most barriers that a thread has passed in one block since begin().
[[nodiscard]] unsigned barrier_count();

// Sets the shared memory of a multiprocessor, KiB, of which a block has all but one at most: kSharedKib at first,
// kSharedKibMost at most.
inline constexpr int kSharedKib = 100;
inline constexpr int kSharedKibMost = 228;
void set_shared_kib(int kib);

// Memory that kernels may touch. Freed memory is forgotten.
[[nodiscard]] void* allocate(std::size_t byte_count);
void free_allocated(void* memory);

[[nodiscard]] bool checks_accesses();

}  // namespace shoal::shim
