// One sentence of what torch says; its trace of calls is for its own developers.
#include "runtime/device/queue/device_fault.h"

#include <array>
#include <string_view>

#include <c10/util/Exception.h>

#include "runtime/base/compose.h"
#include "runtime/base/machine/memory_lack.h"

namespace shoal {
namespace {

[[nodiscard]] std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// Libraries of CUDA report by torch's general error, whose text begins so.
[[nodiscard]] bool tells_of_device(std::string_view text) {
  return text.find("CUDA error") != std::string_view::npos || text.find("cuDNN error") != std::string_view::npos ||
         text.find("cuDNN Frontend error") != std::string_view::npos ||
         text.find("CUDA driver error") != std::string_view::npos;
}

// Says whose memory is at its end, by the words of CUDA, cuBLAS and cuDNN; none: the text tells of something else.
// CUDA has one word for a device's memory and for the host's that a device reaches.
[[nodiscard]] std::optional<std::string_view> short_of_memory(std::string_view text) {
  struct Words {
    std::string_view text;
    std::string_view whose;
  };
  constexpr std::array kWords = {
      Words{"_DEVICE_ALLOCATION_FAILED", "the device"}, Words{"_HOST_ALLOCATION_FAILED", "the device's host"},
      Words{"CUBLAS_STATUS_ALLOC_FAILED", "the device"}, Words{"CUDNN_STATUS_ALLOC_FAILED", "the device or its host"},
      Words{" error: out of memory", "the device or its host"}};
  for (const Words& words : kWords) {
    if (text.find(words.text) != std::string_view::npos) return words.whose;
  }
  return std::nullopt;
}

[[nodiscard]] std::string lack_of(std::string_view whose, std::string_view text) {
  return compose(whose, " has no memory left (", kNoMoreMemory, "): ", first_line(text));
}

[[nodiscard]] std::string fault_in(std::string_view text) {
  const auto whose = short_of_memory(text);
  return whose ? lack_of(*whose, text) : compose("the device failed: ", first_line(text));
}

}  // namespace

std::optional<std::string> device_fault_of(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const c10::OutOfMemoryError& lack) {
    return lack_of("the device", lack.what_without_backtrace());
  } catch (const c10::AcceleratorError& broken) {
    return fault_in(broken.what_without_backtrace());
  } catch (const c10::Error& error) {
    const std::string_view text = error.what_without_backtrace();
    if (tells_of_device(text)) return fault_in(text);
    return std::nullopt;
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace shoal
