// Reads what torch throws when a device fails, as a reason to end the process. Everything else is a bug of the caller.
// After an illegal address every later call fails; after a lack of memory its pieces lie as they lie: the process that
// takes this one's place begins with a clean device. Whoever reports a lack of memory (torch's allocator, CUDA for
// memory of the host, a launch, a library), tells_of_memory_lack() finds it in the reason.
#pragma once

#include <exception>
#include <optional>
#include <string>

namespace shoal {

[[nodiscard]] std::optional<std::string> device_fault_of(const std::exception_ptr& problem);

}  // namespace shoal
