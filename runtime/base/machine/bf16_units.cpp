// Asks the compiler's runtime, which asks the processor.
#include "runtime/base/machine/bf16_units.h"

#include <cstdlib>
#include <string_view>

namespace shoal {

std::string bf16_units() {
  const char* wish = std::getenv("SHOAL_BF16");
  if (wish != nullptr && std::string_view(wish) == "none") return "none";
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") == 0 || __builtin_cpu_supports("avx512bf16") == 0) return "none";
  return __builtin_cpu_supports("amx-bf16") != 0 ? "amx_bf16" : "avx512_bf16";
#else
  return "none";
#endif
}

// The fingerprint is a list of parts: "torch 2.11.0; ...; bf16 none; threads 1".
std::string kernels_used(const std::string& fingerprint, Precision precision) {
  constexpr std::string_view kPart = "; bf16 ";
  const auto begin = fingerprint.find(kPart);
  if (precision == Precision::kBf16 || begin == std::string::npos) return fingerprint;
  const auto end = fingerprint.find(';', begin + kPart.size());
  return fingerprint.substr(0, begin) + (end == std::string::npos ? "" : fingerprint.substr(end));
}

Status check_precision(const ModelConfig& model) {
  if (model.precision == Precision::kFp32 || bf16_units() != "none") return Done{};
  return fail(Error::kUsage,
              "model.precision = \"bf16\": this processor has no units for bf16 (avx512_bf16 or amx_bf16); train with "
              "model.precision = \"fp32\", or on another machine");
}

}  // namespace shoal
