// One sentence of what torch says; its trace of calls is for its own developers.
#include "runtime/device/queue/device_fault.h"

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

}  // namespace

std::optional<std::string> device_fault_of(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const c10::OutOfMemoryError& lack) {
    return compose("the device has no memory left (", kNoMoreMemory, "): ", first_line(lack.what_without_backtrace()));
  } catch (const c10::AcceleratorError& broken) {
    return compose("the device failed: ", first_line(broken.what_without_backtrace()));
  } catch (const c10::Error& error) {
    const std::string_view text = error.what_without_backtrace();
    if (tells_of_device(text)) return compose("the device failed: ", first_line(text));
    return std::nullopt;
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace shoal
