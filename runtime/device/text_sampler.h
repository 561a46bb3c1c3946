// Text from a checkpoint: one token at a time from the whole model's logits. Torch-free header.
// The same seed and prompt give the same text on machines with the same kernel fingerprint.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "messages/tensor_blob.h"
#include "model/sampler.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

class TextSampler {
 public:
  // image: safetensors with every weight of the model (checkpoints of all stages joined, or `shoal init`'s file).
  // device: cpu or cuda:N, prepared (plugin/load_plugin.h). Errors: kInvalidData for a missing or ill-shaped tensor;
  // kUsage for a precision that the device cannot have.
  [[nodiscard]] static Result<std::unique_ptr<TextSampler>> make(const Config& config, const TensorBlob& image,
                                                                 const std::string& device = "cpu");
  ~TextSampler();
  TextSampler(const TextSampler&) = delete;
  TextSampler& operator=(const TextSampler&) = delete;

  // The token after `tokens` (at least one, all within the vocabulary: ensured); the model sees the last `context` of
  // them. position: how many tokens were drawn before.
  [[nodiscard]] std::int32_t next(std::span<const std::int32_t> tokens, const SamplerConfig& sampler,
                                  std::uint64_t position) const;

 private:
  struct Model;
  explicit TextSampler(std::unique_ptr<Model> model);

  std::unique_ptr<Model> model_;
};

}  // namespace shoal
