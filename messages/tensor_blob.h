// The host form of a tensor: raw little-endian bytes, a type, a shape. What crosses processes, and what a device
// executor takes and gives.
//
// The bytes are shared and never written after construction; they start at a multiple of 64 bytes, because equal bits
// of a vectorised kernel need equal alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace shoal {

enum class DType : std::uint8_t { kFloat32 = 0, kInt32 = 1, kInt64 = 2, kUint8 = 3 };

[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kInt32: return 4;
    case DType::kInt64: return 8;
    case DType::kUint8: return 1;
  }
  return 0;
}

// A block of bytes at a 64-byte boundary. Contents are uninitialised.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit AlignedBuffer(std::size_t size)
      : data_(static_cast<std::byte*>(::operator new (size == 0 ? 1 : size, std::align_val_t{kAlignment}))),
        size_(size) {}
  ~AlignedBuffer() { ::operator delete (data_, std::align_val_t{kAlignment}); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

struct TensorBlob {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;             // empty together with null bytes: no tensor
  std::shared_ptr<const AlignedBuffer> bytes;  // size = product(shape) * size_of(dtype)

  [[nodiscard]] bool has_value() const { return bytes != nullptr; }
  [[nodiscard]] std::size_t byte_count() const { return bytes ? bytes->size() : 0; }
  [[nodiscard]] std::int64_t element_count() const {
    return bytes ? static_cast<std::int64_t>(bytes->size() / size_of(dtype)) : 0;
  }
  template <class T>
  [[nodiscard]] const T* as() const {
    return reinterpret_cast<const T*>(bytes->data());
  }

  // Compares contents: for tests and for repeated messages.
  friend bool operator==(const TensorBlob& a, const TensorBlob& b) {
    return a.dtype == b.dtype && a.shape == b.shape && a.byte_count() == b.byte_count() &&
           (a.byte_count() == 0 || std::memcmp(a.bytes->data(), b.bytes->data(), a.byte_count()) == 0);
  }
};

}  // namespace shoal
