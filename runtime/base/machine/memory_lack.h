// Recognises exceptions that tell of a machine without memory or threads to give, and not of what was being done.
// LibTorch's allocator of host memory throws an error of a type for everything; only its text says more.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

namespace shoal {

[[nodiscard]] inline bool is_lack_of_memory(const std::exception& problem) {
  if (dynamic_cast<const std::bad_alloc*>(&problem) != nullptr) return true;
  if (const auto* refused = dynamic_cast<const std::system_error*>(&problem)) {
    return refused->code() == std::errc::not_enough_memory ||
           refused->code() == std::errc::resource_unavailable_try_again;
  }
  return std::string_view(problem.what()).find("DefaultCPUAllocator: ") != std::string_view::npos;
}

// Text of the error, by which other code, in other processes too, recognises it, with what the process has and may
// have.
inline constexpr std::string_view kNoMoreMemory = "its machine gives no more memory";
[[nodiscard]] std::string memory_lack_text(const std::exception& problem);
[[nodiscard]] inline bool tells_of_memory_lack(std::string_view text) {
  return text.find(kNoMoreMemory) != std::string_view::npos;
}

}  // namespace shoal
