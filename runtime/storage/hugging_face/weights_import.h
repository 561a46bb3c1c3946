// Files of transformers as a checkpoint's weights: the inverse of weights_export.h.
//
//   model.safetensors, or the files that model.safetensors.index.json names  ──▶  our names, float32
//
// A prefix of the names is optional; F32, F16 and BF16 are read exactly, each value when it is asked for. Every value
// is finite. A tied head is a copy of the embedding and trains apart from it. Constants that older files hold among the
// weights are left out. Pure: contents in, contents out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/storage/hugging_face/description.h"
#include "runtime/storage/hugging_face/model_tensors.h"

namespace shoal {

enum class NumberType { kFloat32, kFloat16, kBfloat16 };

// A weight where it lies in a file.
struct ImportedTensor {
  std::string name;
  NumberType type = NumberType::kFloat32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;

  [[nodiscard]] std::uint64_t value_count() const;
  [[nodiscard]] float value(std::uint64_t index) const;  // index < value_count()
};

// Every weight of the model, ascending by name.
struct ImportedWeights {
  std::vector<ImportedTensor> tensors;

  // Ensures that there is a weight of this name.
  [[nodiscard]] const ImportedTensor& of(const std::string& name) const;
};

// The names of the files that an index lists, ascending. Errors: kInvalidData; `where` is the index's path.
[[nodiscard]] Result<std::vector<std::string>> files_of_index(const std::string& text, const std::string& where);

struct WeightFile {
  std::span<const std::byte> bytes;  // must outlive the result
  std::string where;
};

// Errors: kInvalidData naming the file and a tensor that is foreign, there twice, of another type or shape than
// config.json says, or with a value that is not finite; or, by `where`, one that is missing in all of them.
[[nodiscard]] Result<ImportedWeights> import_weights(const std::vector<WeightFile>& files,
                                                     const ModelDescription& description, const ModelTensors& model,
                                                     const std::string& where);

}  // namespace shoal
