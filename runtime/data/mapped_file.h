// A whole regular file in memory, read-only and shared: processes on one machine share its pages.
//
// The file must not be shortened while it is mapped: reading behind its new end is a bus error.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "runtime/base/error.h"

namespace shoal {

class MappedFile {
 public:
  // Errors: kInvalidData whose message is the reason alone ("it is a folder"); the caller says of what. An empty file
  // is mapped as nothing.
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace shoal
