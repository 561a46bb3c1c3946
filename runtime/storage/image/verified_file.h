// A file that was read once against its SHA-256 and is open since then, so that it can be read in pieces: no byte of it
// is believed, at any time, but those that the SHA-256 covers.
//
//   the pass at the beginning: SHA-256 of the file, and XXH3-64 of each block of 1 MiB
//   a later read:              its blocks, each against its value; a block of which a part is wanted is read whole
//
// The values find what changes by accident, a failing disk or a program that writes there; they are no defence against
// forgery. The file stays readable when its name is gone. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/storage/checkpoint_manifest.h"

namespace shoal {

class VerifiedFile {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

  // Reads the file to its end. Errors, with its path: kInvalidData (missing, of another size, or changed), kIo.
  [[nodiscard]] static Result<std::shared_ptr<const VerifiedFile>> open(const std::filesystem::path& path,
                                                                        const CheckpointFile& expected);
  // Does so with a file that is open. path: for the sentences.
  [[nodiscard]] static Result<std::shared_ptr<const VerifiedFile>> verify(std::string path, InputFile file,
                                                                          const CheckpointFile& expected);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t byte_count() const { return file_.size; }
  // Fills `into` with the bytes from `offset` on, which the file has (ensured). Errors, with the path: kInvalidData
  // (changed or cut since it was verified), kIo; what is in `into` after one means nothing.
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  VerifiedFile(std::string path, InputFile file) : path_(std::move(path)), file_(std::move(file)) {}

  [[nodiscard]] std::size_t bytes_of_block(std::uint64_t block) const;
  [[nodiscard]] Status read_block(std::uint64_t block, std::span<std::byte> into) const;

  std::string path_;
  InputFile file_;
  std::vector<std::uint64_t> values_;  // of each block
};

}  // namespace shoal
