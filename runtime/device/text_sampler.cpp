// Runs the whole model over what was seen so far and draws from the last position's logits.
#include "runtime/device/text_sampler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "model/partition.h"
#include "model/transformer.h"
#include "runtime/base/ensure.h"
#include "runtime/device/gemm_choice.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/queue/stream_queue.h"
#include "runtime/device/torch_device.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

struct TextSampler::Model {
  Config config;
  c10::Device device;
  Transformer transformer;
};

Result<std::unique_ptr<TextSampler>> TextSampler::make(const Config& config, const TensorBlob& image,
                                                       const std::string& device) {
  if (!image.has_value()) return fail(Error::kInvalidData, "there are no weights to sample from");
  const auto stored = parse_safetensors({image.bytes->data(), image.bytes->size()}, "the weights");
  if (!stored.ok()) return stored.failure();
  if (auto status = check_units(device, config.model, device_plugin()); !status) return status.failure();
  prepare_process_for_compute();
  const bool is_cpu = torch_device(device).is_cpu();
  if (!is_cpu) settle_arithmetic(Reduction::kExact, false);  // nothing is trained: bits may repeat
  const StagePlan plan = whole_model(config.model);
  WeightMap weights;
  for (const TensorSpec& spec : plan.tensors) {
    const StoredTensor* tensor = find_tensor(*stored, spec.name);
    if (tensor == nullptr || tensor->dtype != DType::kFloat32 || tensor->shape != spec.shape) {
      return fail(Error::kInvalidData, "the weights have no tensor '" + spec.name +
                                           "' of the shape that [model] asks for; is it another model's checkpoint?");
    }
    at::Tensor values = at::empty(spec.shape, at::kFloat);
    std::memcpy(values.mutable_data_ptr(), tensor->bytes.data(), tensor->bytes.size());
    weights[spec.name] = values.to(torch_device(device));
  }
  auto model = std::make_unique<Model>(Model{config, torch_device(device), Transformer(config.model, plan, weights)});
  return std::unique_ptr<TextSampler>(new TextSampler(std::move(model)));
}

TextSampler::TextSampler(std::unique_ptr<Model> model) : model_(std::move(model)) {}
TextSampler::~TextSampler() = default;

std::int32_t TextSampler::next(std::span<const std::int32_t> tokens, const SamplerConfig& sampler,
                               std::uint64_t position) const {
  const ModelConfig& model = model_->config.model;
  ENSURE(!tokens.empty(), "there is a token before the next one");
  const auto seen = tokens.last(std::min(tokens.size(), static_cast<std::size_t>(model.context)));
  for (const std::int32_t token : seen) ENSURE(token >= 0 && token < model.vocabulary, "a token of the vocabulary");
  at::set_num_threads(model_->config.run.threads);
  const at::NoGradGuard no_graph;
  const auto count = static_cast<std::int64_t>(seen.size());
  const at::Tensor input = at::empty({1, count}, at::kInt);
  std::copy(seen.begin(), seen.end(), input.mutable_data_ptr<std::int32_t>());
  const at::Tensor logits_BTV = model_->transformer.forward(input.to(model_->device));
  const at::Tensor logits_V = logits_BTV.select(1, count - 1).cpu().contiguous();
  const auto with_text = static_cast<std::size_t>(model.vocabulary - model.extra_tokens);
  return pick_token(sampler, {logits_V.const_data_ptr<float>(), with_text}, position);
}

}  // namespace shoal
