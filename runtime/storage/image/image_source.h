// A state's image that is read in pieces, so that nobody holds it whole who only passes it on (P-26b).
//
// An image stays what it was: that of an executor whatever is computed meanwhile; reading one of a checkpoint fails
// where its file has changed. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "messages/tensor_blob.h"
#include "runtime/base/bound.h"
#include "runtime/base/error.h"

namespace shoal {

// Size of a piece, which the giver of an image decides.
inline const Bound kImagePieceBytes{"storage.image_piece_bytes", std::uint64_t{16} << 20};

class ImageSource {
 public:
  ImageSource() = default;
  ImageSource(const ImageSource&) = delete;
  ImageSource& operator=(const ImageSource&) = delete;
  virtual ~ImageSource() = default;

  [[nodiscard]] virtual std::uint64_t byte_count() const = 0;
  // The bytes from `offset` on, uint8 [size]; fewer at the image's end. `offset` is not beyond it, and not before what
  // was released (ensured). Errors: kIo, kInvalidData.
  [[nodiscard]] virtual Result<TensorBlob> read(std::uint64_t offset, std::size_t size) = 0;
  // Nothing before `offset` is read again.
  virtual void release(std::uint64_t offset) { static_cast<void>(offset); }
};

// Makes room for a piece of an image of `byte_count` bytes: `size` of them from `offset` on, fewer at its end.
[[nodiscard]] inline std::shared_ptr<AlignedBuffer> piece_buffer(std::uint64_t offset, std::size_t size,
                                                                 std::uint64_t byte_count) {
  return std::make_shared<AlignedBuffer>(std::min<std::uint64_t>(size, byte_count - std::min(offset, byte_count)));
}
// Returns a piece of those bytes: uint8 [n].
[[nodiscard]] inline TensorBlob as_piece(std::shared_ptr<AlignedBuffer> bytes) {
  return {DType::kUint8, {static_cast<std::int64_t>(bytes->size())}, std::move(bytes)};
}

// An image in memory.
class WholeImage final : public ImageSource {
 public:
  explicit WholeImage(TensorBlob image) : image_(std::move(image)) {}

  [[nodiscard]] std::uint64_t byte_count() const override { return image_.byte_count(); }
  [[nodiscard]] Result<TensorBlob> read(std::uint64_t offset, std::size_t size) override {
    auto bytes = piece_buffer(offset, size, byte_count());
    if (bytes->size() > 0) std::memcpy(bytes->data(), image_.bytes->data() + offset, bytes->size());
    return as_piece(std::move(bytes));
  }

 private:
  TensorBlob image_;
};

}  // namespace shoal
