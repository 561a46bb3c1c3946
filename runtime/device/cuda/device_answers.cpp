// One line each.
#include "runtime/device/cuda/device_answers.h"

#include <torch/headeronly/version.h>

#include "runtime/base/compose.h"
#include "runtime/base/machine/bf16_units.h"

namespace shoal {
namespace {

[[nodiscard]] std::string dotted(int version) { return compose(version / 1000, ".", version % 1000 / 10); }

}  // namespace

std::string refusal_text(std::string_view thrown) {
  return compose("LibTorch cannot use the CUDA device: ", thrown.substr(0, thrown.find('\n')));
}

Status check_bf16_units(std::string_view device, int capability) {
  if (capability >= kFirstGpuWithBf16) return Done{};
  return fail(Error::kUsage, compose("model.precision = \"bf16\": the device ", device, " (sm_", capability,
                                     ") has no units for it; sm_", kFirstGpuWithBf16, " and later have."));
}

Status check_cudnn_attention(std::string_view device, int capability, long cudnn) {
  constexpr long kFirstTaken = 91501;
  const bool is_taken = capability == 90 || capability == 100 || capability == 103;
  if (is_taken && cudnn >= kFirstTaken) return Done{};
  return fail(Error::kUsage,
              compose("cuDNN's is taken on sm_90, sm_100 and sm_103 from cuDNN 9.15.1 on, and ", device, " is sm_",
                      capability, " with cuDNN ", cudnn / 10000, ".", cudnn % 10000 / 100, ".", cudnn % 100));
}

std::string fingerprint_text(const DeviceFingerprint& facts) {
  return compose("torch ", TORCH_VERSION, "; ", facts.device, ", sm_", facts.capability, ", ", facts.multiprocessors,
                 " SMs; driver ", dotted(facts.driver), ", cuda ", dotted(facts.runtime), ", cudnn ",
                 facts.cudnn / 10000, ".", facts.cudnn % 10000 / 100, ".", facts.cudnn % 100, "; build ", facts.build);
}

std::string identity_text(const char* bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "GPU-";
  for (int at = 0; at < 16; ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace shoal
