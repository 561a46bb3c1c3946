// Shapes as people read them.
#include "runtime/storage/hugging_face/model_tensors.h"

#include "runtime/base/compose.h"

namespace shoal {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += compose(i == 0 ? "" : ",", shape[i]);
  return text + "]";
}

}  // namespace shoal
