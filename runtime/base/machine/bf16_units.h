// Tells what this processor multiplies bf16 with, and refuses model.precision = "bf16" where it has nothing for it.
//
// Without units a library would compute bf16 by way of float32, slower than float32 itself and with other bits. The
// environment's SHOAL_BF16=none makes a process behave as on a processor without them; tests refuse with it.
#pragma once

#include <string>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

// "amx_bf16", "avx512_bf16" or "none". Torch's libraries take the first of them that is there.
[[nodiscard]] std::string bf16_units();

// Names the first GPUs with units for it, as sm_80 (Ampere).
inline constexpr int kFirstGpuWithBf16 = 80;

// Returns a kernel fingerprint without what products of this precision do not use: those of float32 take no bf16 units.
[[nodiscard]] std::string kernels_used(const std::string& fingerprint, Precision precision);

// Errors: kUsage, when the run computes in bf16 and this processor cannot.
[[nodiscard]] Status check_precision(const ModelConfig& model);

}  // namespace shoal
