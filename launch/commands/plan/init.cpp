// `shoal init`: draws the weights and writes the file whole or not at all. Any cut of a run starts at these bytes.
#include "launch/commands/plan/init.h"

#include <span>
#include <string_view>
#include <vector>

#include "launch/say.h"
#include "model/initial_weights.h"
#include "model/partition.h"
#include "runtime/base/file.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

Result<int> run_init(const InitOptions& options) {
  say_warning(options.warning);
  const StagePlan plan = whole_model(options.config.model);
  std::vector<std::vector<float>> values;
  std::vector<StoredTensor> tensors;
  for (const TensorSpec& spec : plan.tensors) {
    values.emplace_back(static_cast<std::size_t>(element_count(spec)));
    initial_weights(options.config.model, options.config.run.seed, spec, values.back());
    tensors.push_back({spec.name, DType::kFloat32, spec.shape, std::as_bytes(std::span(values.back()))});
  }
  const TensorBlob image = build_safetensors(std::move(tensors));
  const std::string_view bytes(reinterpret_cast<const char*>(image.bytes->data()), image.byte_count());
  if (Status written = replace_file(options.out, bytes); !written.ok()) return written.failure();
  return 0;
}

}  // namespace shoal
