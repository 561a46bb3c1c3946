// Files of transformers as a checkpoint's weights: the inverse of weights_export.h.
//
//   model.safetensors, or the files that model.safetensors.index.json names  ──▶  our names, float32
//
// A prefix of the names is optional; F32, F16 and BF16 are read exactly. A tied head is a copy of the embedding and
// trains apart from it. Constants that older files hold among the weights are left out. Pure: contents in, contents
// out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/storage/hugging_face/description.h"
#include "runtime/storage/hugging_face/model_tensors.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

// Every weight of the model, float32, ascending by name.
struct ImportedWeights {
  std::vector<StoredTensor> tensors;                      // they point into the files or into `converted`
  std::vector<std::unique_ptr<AlignedBuffer>> converted;  // tensors that the files have in another type

  // Ascending by name: those of the names given. Ensures that they exist.
  [[nodiscard]] std::vector<StoredTensor> of(const std::vector<std::string>& names) const;
};

// The names of the files that an index lists, ascending. Errors: kInvalidData; `where` is the index's path.
[[nodiscard]] Result<std::vector<std::string>> files_of_index(const std::string& text, const std::string& where);

struct WeightFile {
  std::span<const std::byte> bytes;  // must outlive the result
  std::string where;
};

// Errors: kInvalidData naming the file and a tensor that is foreign, there twice, or of another type or shape than
// config.json says; or, by `where`, one that is missing in all of them.
[[nodiscard]] Result<ImportedWeights> import_weights(const std::vector<WeightFile>& files,
                                                     const ModelDescription& description, const ModelTensors& model,
                                                     const std::string& where);

}  // namespace shoal
