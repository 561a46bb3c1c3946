// Encodes piece by piece, so that memory does not grow with the text; the header comes last.
#include "runtime/data/token_file.h"

#include <fstream>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/sha256.h"
#include "runtime/data/fetch.h"
#include "runtime/data/tokenizers/pretokenizer.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 4U << 20U;  // bytes of text that are encoded at once

// Names all that the tokens depend on; the tables of letters are the library's.
std::string key_of(const std::string& text_sha256, const Tokenizer& tokenizer) {
  return sha256_hex(
      std::string_view(compose("tokens 1\n", text_sha256, "\n", tokenizer.fingerprint(), "\n", unicode_version())));
}

std::string header_of(const std::string& key, std::uint32_t width, std::uint64_t count, const std::string& sha256) {
  std::string header = compose("shoal tokens 1 ", key, " ", width, " ", count, " ", sha256);
  ENSURE(header.size() < kTokenFileHeader, "the header has room");
  header.resize(kTokenFileHeader - 1, ' ');
  return header + "\n";
}

bool is_whole(const MappedFile& file, const std::string& key, std::uint32_t width) {
  const std::string_view text = file.text();
  if (text.size() < kTokenFileHeader || (text.size() - kTokenFileHeader) % width != 0) return false;
  const std::string_view tokens = text.substr(kTokenFileHeader);
  const std::string wanted = header_of(key, width, tokens.size() / width, sha256_hex(tokens));
  return text.substr(0, kTokenFileHeader) == wanted;
}

void append_little_endian(std::string& bytes, std::int32_t token, std::uint32_t width) {
  const auto value = static_cast<std::uint32_t>(token);
  for (std::uint32_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
}

// Writes the whole file at `path`.
Status write_tokens(const fs::path& path, std::string_view text, const std::string& key, const Tokenizer& tokenizer) {
  const std::uint32_t width = token_width(tokenizer.vocabulary_size());
  std::ofstream file(path, std::ios::binary);
  file << std::string(kTokenFileHeader, ' ');
  Sha256 digest;
  std::uint64_t count = 0;
  while (!text.empty() && file) {
    const std::string_view piece = text.substr(0, tokenizer.seam_after(text, kPieceBytes));
    text.remove_prefix(piece.size());
    std::string bytes;
    const std::vector<std::int32_t> tokens = tokenizer.encode(piece);
    for (const std::int32_t token : tokens) append_little_endian(bytes, token, width);
    count += tokens.size();
    digest.update(bytes);
    file << bytes;
  }
  file.seekp(0);
  file << header_of(key, width, count, digest.hex());
  file.close();
  if (file) return Done{};
  return fail(Error::kIo, compose("cannot write the tokens to ", path.string(), ": is the disk full?"));
}

Result<MappedFile> map(const fs::path& path) {
  auto file = MappedFile::open(path);
  if (file.ok()) return file;
  return fail(Error::kIo, compose("cannot read the tokens in ", path.string(), ": ", file.failure().message));
}

}  // namespace

Result<MappedFile> obtain_token_file(std::string_view text, const std::string& text_sha256, const Tokenizer& tokenizer,
                                     const fs::path& folder) {
  const std::string key = key_of(text_sha256, tokenizer);
  const fs::path path = folder / compose("tokens-", key);
  if (auto kept = MappedFile::open(path); kept.ok() && is_whole(*kept, key, token_width(tokenizer.vocabulary_size()))) {
    return kept;
  }
  const auto scratch = make_fetch_folder(folder);
  if (!scratch) return scratch.failure();
  const fs::path finished = scratch->path() / "tokens";
  if (const Status written = write_tokens(finished, text, key, tokenizer); !written) return written.failure();
  auto mapped = map(finished);
  if (!mapped) return mapped;
  if (const Status placed = take_its_place(finished, path); !placed) return placed.failure();
  return mapped;
}

}  // namespace shoal
