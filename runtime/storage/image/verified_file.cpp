// One pass for both hashes; later reads block by block (see the header).
#include "runtime/storage/image/verified_file.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/sha256.h"

namespace shoal {
namespace {

std::span<char> as_chars(std::span<std::byte> bytes) { return {reinterpret_cast<char*>(bytes.data()), bytes.size()}; }

}  // namespace

Result<std::shared_ptr<const VerifiedFile>> VerifiedFile::open(const std::filesystem::path& path,
                                                               const CheckpointFile& expected) {
  std::error_code error;
  (void)std::filesystem::file_size(path, error);  // a folder can be opened, and has no size
  if (error) {
    const bool is_missing = error == std::errc::no_such_file_or_directory;
    return fail(is_missing ? Error::kInvalidData : Error::kIo,
                compose(path.string(), is_missing ? " is missing: " : " cannot be read: ", error.message()));
  }
  auto file = open_input(path.string());
  if (!file) return file.failure();
  return verify(path.string(), std::move(file.value()), expected);
}

Result<std::shared_ptr<const VerifiedFile>> VerifiedFile::verify(std::string path, InputFile file,
                                                                 const CheckpointFile& expected) {
  if (file.size != expected.bytes) {
    return fail(Error::kInvalidData, compose(path, " has ", file.size, " bytes, its manifest says ", expected.bytes));
  }
  const std::shared_ptr<VerifiedFile> made(new VerifiedFile(std::move(path), std::move(file)));
  Sha256 digest;
  std::vector<std::byte> memory(std::min<std::uint64_t>(kBlockBytes, made->byte_count()));
  for (std::uint64_t at = 0; at < made->byte_count(); at += kBlockBytes) {
    const auto block = std::span(memory).first(made->bytes_of_block(at / kBlockBytes));
    const auto count = made->file_.read_at(at, as_chars(block));
    if (!count) return count.failure();
    if (*count != block.size()) return fail(Error::kIo, compose("cannot read ", made->path_, " to its end"));
    digest.update(block.data(), block.size());
    made->values_.push_back(XXH3_64bits(block.data(), block.size()));
  }
  if (digest.hex() != expected.sha256) {
    return fail(Error::kInvalidData, compose(made->path_, " was changed: its SHA-256 is not the manifest's"));
  }
  return std::shared_ptr<const VerifiedFile>(made);
}

Status VerifiedFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  ENSURE(offset <= byte_count() && into.size() <= byte_count() - offset, "what is read lies within its file");
  std::vector<std::byte> memory;  // for a block of which a part is wanted
  while (!into.empty()) {
    const std::uint64_t block = offset / kBlockBytes;
    const std::size_t skipped = offset % kBlockBytes;
    const std::size_t block_bytes = bytes_of_block(block);
    const std::size_t wanted = std::min(block_bytes - skipped, into.size());
    const bool is_whole = wanted == block_bytes;
    if (!is_whole) memory.resize(block_bytes);
    if (auto read = read_block(block, is_whole ? into.first(wanted) : std::span(memory)); !read) return read;
    if (!is_whole) std::memcpy(into.data(), memory.data() + skipped, wanted);
    offset += wanted;
    into = into.subspan(wanted);
  }
  return Done{};
}

std::size_t VerifiedFile::bytes_of_block(std::uint64_t block) const {
  return std::min<std::uint64_t>(kBlockBytes, byte_count() - block * kBlockBytes);
}

Status VerifiedFile::read_block(std::uint64_t block, std::span<std::byte> into) const {
  const auto count = file_.read_at(block * kBlockBytes, as_chars(into));
  if (!count) return count.failure();
  if (*count != into.size() || XXH3_64bits(into.data(), into.size()) != values_[block]) {
    return fail(Error::kInvalidData, compose(path_, " was changed since it was verified: its bytes from ",
                                             block * kBlockBytes, " on are others"));
  }
  return Done{};
}

}  // namespace shoal
