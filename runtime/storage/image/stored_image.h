// An image made of tensors that lie in verified files: its header is made anew, its bytes are read as they are asked
// for. The same bytes as build_safetensors() makes of the same tensors.
//
// Readable as long as it lives, also when the files have lost their names. A file that was changed since it was
// verified fails the read (kInvalidData), and no byte of it is given away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/storage/image/image_source.h"
#include "runtime/storage/image/verified_file.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

// A tensor, and the file in which it lies from place.begin to place.end.
struct FiledTensor {
  PlacedTensor place;
  std::shared_ptr<const VerifiedFile> file;
};

// The tensors of a safetensors file, ascending by name. Errors: kInvalidData as parse_safetensors(), or as a read of
// the file.
[[nodiscard]] Result<std::vector<FiledTensor>> tensors_in(const std::shared_ptr<const VerifiedFile>& file);

class StoredImage final : public ImageSource {
 public:
  // Names are distinct, and places agree with types and shapes (ENSURE).
  explicit StoredImage(std::vector<FiledTensor> tensors);

  [[nodiscard]] std::uint64_t byte_count() const override { return byte_count_; }
  [[nodiscard]] Result<TensorBlob> read(std::uint64_t offset, std::size_t size) override;

 private:
  // Tensors that lie in a file one behind the other, as they do in the image. Never empty.
  struct Run {
    std::uint64_t at = 0;  // in the image
    std::shared_ptr<const VerifiedFile> file;
    std::uint64_t begin = 0;  // in the file
    std::uint64_t end = 0;
  };

  void append(const FiledTensor& tensor);
  [[nodiscard]] Status fill(std::uint64_t offset, std::span<std::byte> into) const;

  std::vector<std::byte> header_;
  std::vector<Run> runs_;  // behind the header, without gaps
  std::uint64_t byte_count_ = 0;
};

}  // namespace shoal
