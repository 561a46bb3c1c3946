// The file image of a stage's state: named float32 tensors that lie in buffers of this process.
//
// A part is what shares a prefix: weights (""), an average, the outer parameters. Reading takes every tensor of a part
// or, where the image has none of it and the part may lack, none; it changes nothing unless all fits. Torch-free.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "messages/tensor_blob.h"
#include "runtime/base/error.h"
#include "runtime/device/flat_layout.h"

namespace shoal {

// Value: float, or const float where it is only read.
template <class Value>
struct StateField {
  std::string part;  // prefix; the tensor's name in the image is part + name
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<Value> values;
};

using StateFields = std::vector<StateField<float>>;
using ConstStateFields = std::vector<StateField<const float>>;

// Appends every tensor of the layout, in `buffer`, as one part. Buffer: FlatBuffer<float>, const or not.
template <class Value, class Buffer>
void add_part(std::vector<StateField<Value>>& fields, const FlatLayout& layout, const std::string& part,
              Buffer& buffer) {
  for (const FlatTensor& tensor : layout.tensors) {
    fields.push_back({part, tensor.spec.name, tensor.spec.shape, buffer.of(tensor)});
  }
}

// safetensors, uint8 [n].
[[nodiscard]] TensorBlob write_state_image(const ConstStateFields& fields);

// The parts that the image lacks: a subset of `optional`. It may hold other tensors too. Errors: kInvalidData naming
// the tensor; nothing was changed.
[[nodiscard]] Result<std::set<std::string>> read_state_image(const TensorBlob& image, const StateFields& fields,
                                                             const std::set<std::string>& optional);

}  // namespace shoal
