// Runs a kernel's test as it is and with planted faults.
//
// On the CPU `holds`, which launches and compares, must be true in every order of threads without a finding of the
// shim; and each fault must make it false or be found: each barrier left out in turn, a thread with another's index, a
// block that is not run. On a GPU `holds` runs once, as it is.
#pragma once

#include <functional>

namespace shoal::gpu {

void expect_holds_and_faults_are_found(const std::function<bool()>& holds);

// Runs it on devices with 100, 164 and 228 KiB of shared memory for a multiprocessor; on a GPU once, as it is.
void for_each_shared_memory(const std::function<void()>& run);

}  // namespace shoal::gpu
