// A stage's shard of imported weights, read out of their files piece by piece: a value is widened when its piece is
// read, and the state of an optimiser that has made no step is zero. Held: the header, and the piece that is read.
#pragma once

#include <string>
#include <vector>

#include "runtime/storage/hugging_face/weights_import.h"
#include "runtime/storage/image/image_source.h"
#include "runtime/storage/inner_parts.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

class ImportedImage final : public ImageSource {
 public:
  // The weights of these names, all of which are there (ensured), and these parts of each. The weights and the files
  // that they lie in must outlive it.
  ImportedImage(const ImportedWeights& weights, const std::vector<std::string>& names,
                const std::vector<InnerPart>& parts);

  [[nodiscard]] std::uint64_t byte_count() const override { return made_.layout.byte_count; }
  [[nodiscard]] Result<TensorBlob> read(std::uint64_t offset, std::size_t size) override;

 private:
  const ImportedWeights& weights_;
  NewLayout made_;
};

}  // namespace shoal
