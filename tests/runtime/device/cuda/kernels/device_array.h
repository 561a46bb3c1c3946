// Arrays in the memory that kernels touch: the shim's on the CPU, the device's on a GPU. Tests are the same for both.
//
// New elements are garbage, so that what a kernel leaves unwritten is seen.
#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

[[nodiscard]] void* allocate_on_device(std::size_t byte_count);
void free_on_device(void* memory);
void copy_to_device(void* to, const void* from, std::size_t byte_count);
// Waits for all work before.
void copy_from_device(void* to, const void* from, std::size_t byte_count);

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size), at_(static_cast<T*>(allocate_on_device(size * sizeof(T)))) {}
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    copy_to_device(at_, values.data(), size_ * sizeof(T));
  }
  ~DeviceArray() { free_on_device(at_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] T* at() { return at_; }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> values(size_);
    copy_from_device(values.data(), at_, size_ * sizeof(T));
    return values;
  }

 private:
  std::size_t size_;
  T* at_;
};

}  // namespace shoal::gpu
