// Whole small files: read at once, replaced atomically (temporary file, fsync, rename, fsync of the folder). Files that
// may be larger than memory are read and replaced in pieces.
//
// A reader of a path written here sees the old text or the new one, never a part of either.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace shoal {

// The bytes of a file. Errors: kIo with the path and the system's reason.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

// Bytes of a file from `at` on: as many as `into` holds or the file has by now. Gives how many. Errors: kIo.
using ReadAt = std::function<Result<std::size_t>(std::uint64_t at, std::span<char> into)>;

struct InputFile {
  std::uint64_t size = 0;  // when it was opened
  ReadAt read_at;          // keeps it open
};
// Errors: kIo with the path and the system's reason.
[[nodiscard]] Result<InputFile> open_input(const std::string& path);
// Bytes of a file from `begin` to `end` as a file of their own.
[[nodiscard]] ReadAt part_of(ReadAt read_at, std::uint64_t begin, std::uint64_t end);

enum class FileAccess { kEverybodyReads, kOwnerOnly };

// Replaces `path` by `text`. Owner-only files (keys, tokens) are 0600 from their first byte on. Errors: kIo.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view text,
                                  FileAccess access = FileAccess::kEverybodyReads);

// Recognises by its name a file beside `path` that a replacement of it left when it was killed: nobody reads that.
[[nodiscard]] bool is_unfinished(const std::string& path, const std::string& beside);
// Removes these. Nobody else may be replacing `path`.
void remove_unfinished(const std::string& path);

// Reports how much of a large file is on the disk, again and again while it is written.
using Written = std::function<void(std::uint64_t bytes)>;
inline constexpr std::size_t kPieceWritten = std::size_t{16} << 20;  // from one telling to the next

// Replaces a file by text that comes in pieces: under another name beside it until finish(). One that goes before that
// leaves the old file as it was, and nothing of its own.
class FileReplacement {
 public:
  // Errors: kIo.
  [[nodiscard]] static Result<FileReplacement> begin(const std::string& path,
                                                     FileAccess access = FileAccess::kEverybodyReads);
  ~FileReplacement();
  FileReplacement(FileReplacement&&) noexcept;
  FileReplacement& operator=(FileReplacement&&) noexcept;

  [[nodiscard]] std::uint64_t byte_count() const;  // so far
  // Appends. Errors: kIo; what is in the file after one is unknown.
  [[nodiscard]] Status append(std::string_view text);
  // Appends in pieces of kPieceWritten, each on the disk before `told` hears of the file's bytes so far. Errors: kIo.
  [[nodiscard]] Status append_durably(std::string_view text, const Written& told);
  // Puts it in its place, on the disk. Once, and nothing is appended after it. Errors: kIo.
  [[nodiscard]] Status finish();

 private:
  struct Scratch;
  explicit FileReplacement(std::unique_ptr<Scratch> scratch);

  std::unique_ptr<Scratch> scratch_;
};

// Makes the names in a folder durable, after a rename. Errors: kIo.
[[nodiscard]] Status sync_folder(const std::string& path);

}  // namespace shoal
