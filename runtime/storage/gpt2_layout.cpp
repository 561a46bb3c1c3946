// One list of names for both directions.
#include "runtime/storage/gpt2_layout.h"

#include "runtime/base/compose.h"

namespace shoal {
namespace {

void add_layer(TensorShapes& shapes, int layer, std::int64_t width) {
  const std::string prefix = compose("h.", layer, ".");
  for (const char* norm : {"ln_1", "ln_2"}) {
    shapes[prefix + norm + ".weight"] = {width};
    shapes[prefix + norm + ".bias"] = {width};
  }
  const auto add_projection = [&](const char* name, std::int64_t in, std::int64_t out) {
    shapes[prefix + name + ".weight"] = {in, out};
    shapes[prefix + name + ".bias"] = {out};
  };
  add_projection("attn.c_attn", width, 3 * width);
  add_projection("attn.c_proj", width, width);
  add_projection("mlp.c_fc", width, 4 * width);
  add_projection("mlp.c_proj", 4 * width, width);
}

}  // namespace

TensorShapes gpt2_shapes(const ModelConfig& model) {
  TensorShapes shapes;
  shapes["wte.weight"] = {model.vocabulary, model.width};
  shapes["wpe.weight"] = {model.context, model.width};
  for (int layer = 0; layer < model.layers; ++layer) add_layer(shapes, layer, model.width);
  shapes["ln_f.weight"] = {model.width};
  shapes["ln_f.bias"] = {model.width};
  shapes["lm_head.weight"] = {model.vocabulary, model.width};
  return shapes;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += compose(i == 0 ? "" : ",", shape[i]);
  return text + "]";
}

}  // namespace shoal
