// Texts made of what CUDA and torch answer or throw: what a person is told, and what peers compare. Pure.
// Kept apart from the calls, so that machines without a GPU test them.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <c10/util/Exception.h>

#include "runtime/base/error.h"

namespace shoal {

// The first line of what torch threw, as an answer to "why can this process not compute on the device".
[[nodiscard]] std::string refusal_text(std::string_view thrown);

// Returns what `ask` does, a Result; what it throws becomes its Failure: kUsage, with refusal_text().
template <class Ask>
[[nodiscard]] auto answer_of(const Ask& ask) -> decltype(ask()) {
  try {
    return ask();
  } catch (const c10::Error& problem) {
    return fail(Error::kUsage, refusal_text(problem.what_without_backtrace()));
  } catch (const std::exception& problem) {
    return fail(Error::kUsage, refusal_text(problem.what()));
  }
}

// Errors: kUsage, where a device of this capability (as in 90) has no units for bf16.
[[nodiscard]] Status check_bf16_units(std::string_view device, int capability);

// Errors: kUsage, with a sentence, where cuDNN's attention is not taken: torch itself prefers it on sm_90, sm_100 and
// sm_103 alone, from cuDNN 9.15.1 on. cudnn: as in 91501.
[[nodiscard]] Status check_cudnn_attention(std::string_view device, int capability, long cudnn);

struct DeviceFingerprint {
  std::string_view device;
  int capability = 0;  // as in 90
  int multiprocessors = 0;
  int driver = 0;   // as in 13000
  int runtime = 0;  // as in 13000
  long cudnn = 0;   // as in 91900
  std::string_view build;
};

// Everything that equal bits depend on. Libraries come with torch and toolkit, which build and runtime name; cuDNN's is
// found where the machine has it.
[[nodiscard]] std::string fingerprint_text(const DeviceFingerprint& facts);

// E.g. "GPU-0123...", of the sixteen bytes that CUDA calls a device by.
[[nodiscard]] std::string identity_text(const char* bytes);

}  // namespace shoal
