// A tensor as messages hold it: a type, a shape, and the values in one of two forms. Executors take and give either.
//
//   host:     raw little-endian bytes. Only these leave a process.
//   resident: where they were computed, in a form that only the device knows. Passed on by reference within a process;
//             the router has it copied to the host before its letter leaves (runtime/router/outgoing_letters.h).
//
// A copy is a whole tensor, not its bytes: what a tensor is on the host, its device may know only when the values are
// computed. Values that an encoding does not carry come as they are, larger than the tensor that was given away said.
//
// Values are shared and never written after construction; bytes start at a multiple of 64, because equal bits of a
// vectorised kernel need equal alignment.
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

using SharedBuffer = std::shared_ptr<const AlignedBuffer>;

struct TensorBlob;

// Values on a device, or on their way into being: an executor gives one away before they are computed. Thread-safe.
class ResidentTensor {
 public:
  ResidentTensor() = default;
  ResidentTensor(const ResidentTensor&) = delete;
  ResidentTensor& operator=(const ResidentTensor&) = delete;
  virtual ~ResidentTensor() = default;

  // Counts what they are on the host, as far as that is known before they are computed.
  [[nodiscard]] virtual std::size_t byte_count() const = 0;
  // False: to_host() would wait.
  [[nodiscard]] virtual bool is_ready() const = 0;
  // Waits until the values are computed and copies them: a tensor in host form. Throws what the device fails with.
  // Never called by an actor that others wait for.
  [[nodiscard]] virtual TensorBlob to_host() const = 0;
};

struct TensorBlob {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;                           // empty together with no values: no tensor
  SharedBuffer bytes;                                        // size = product(shape) * size_of(dtype)
  std::shared_ptr<const ResidentTensor> resident = nullptr;  // in place of bytes

  [[nodiscard]] bool has_value() const { return bytes || resident; }
  [[nodiscard]] std::size_t byte_count() const { return bytes ? bytes->size() : resident ? resident->byte_count() : 0; }
  [[nodiscard]] std::int64_t element_count() const { return static_cast<std::int64_t>(byte_count() / size_of(dtype)); }
  // Reads the host form.
  template <class T>
  [[nodiscard]] const T* as() const {
    return reinterpret_cast<const T*>(bytes->data());
  }

  // Compares contents: for tests and for repeated messages. A resident tensor equals only itself.
  friend bool operator==(const TensorBlob& a, const TensorBlob& b) {
    if (a.dtype != b.dtype || a.shape != b.shape || a.byte_count() != b.byte_count()) return false;
    if (a.resident || b.resident) return a.resident == b.resident;
    return a.byte_count() == 0 || std::memcmp(a.bytes->data(), b.bytes->data(), a.byte_count()) == 0;
  }
};

// Returns the tensor in host form, wherever it lies. Waits for a device, and throws, as ResidentTensor::to_host() does.
[[nodiscard]] inline TensorBlob on_host(const TensorBlob& tensor) {
  return tensor.resident ? tensor.resident->to_host() : tensor;
}

}  // namespace shoal
