// One file of tokens in llm.c's format (Karpathy, llm.c, dev/data/data_common.py), read by position.
//
//   file   = header token*
//   header = 256 x int32, little-endian: kind, version, count, zeros
//   kind 20240520, version 1: a token is an uint16; kind 20240801, version 7: an uint32
//
// Not mapped: pages of a mapped file count as this process's memory, and a file that is cut meanwhile ends it with a
// bus error. Each read opens the file, and sees what has happened to it. Immutable and thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

inline constexpr std::size_t kShardHeader = 1024;  // bytes

class ShardFile {
 public:
  // Reads the header and checks it against the length of the file. Errors: kInvalidData, naming the file.
  [[nodiscard]] static Result<ShardFile> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }  // of tokens
  // Digest of the header and of a few blocks, the first and the last among them: another file under this name has
  // another one, unless it differs between the blocks alone. SHA-256, hex.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }
  // Copies tokens [first, first + out.size()), which exist (ensured). Errors: kInvalidData, the file is gone, or is not
  // the one that was opened; kIo.
  [[nodiscard]] Status read(std::uint64_t first, std::span<std::int32_t> out) const;

 private:
  struct Stamp {  // what tells, without reading, that a file is still the same
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec changed{};
    [[nodiscard]] bool operator==(const Stamp& other) const;
  };
  class Open;

  explicit ShardFile(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Status read_header(const Open& file);
  [[nodiscard]] Result<std::string> fingerprint_of(const Open& file) const;

  std::filesystem::path path_;
  std::uint32_t width_ = 0;  // bytes of a token
  std::uint64_t count_ = 0;
  std::string fingerprint_;
  Stamp stamp_;
};

}  // namespace shoal
