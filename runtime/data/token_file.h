// The tokens of a text as a file that is mapped: made once per (text, tokenizer), then shared by all that train on it.
//
//   file   = header token*         FOLDER/tokens-KEY, KEY = SHA-256 of what the tokens depend on, in hex
//   header = "shoal tokens 1 KEY WIDTH COUNT SHA256" padded with blanks to 255 bytes, "\n"
//   token  = WIDTH bytes, little-endian: 2 where the vocabulary allows it, else 4
//
// SHA256 is that of the tokens. A file whose header is not exactly the one its tokens ask for is made anew; a text that
// changes has another key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/data/mapped_file.h"
#include "runtime/data/tokenizers/tokenizer.h"

namespace shoal {

inline constexpr std::size_t kTokenFileHeader = 256;  // bytes

// Bytes of a token on disk: 1, 2 or 4.
[[nodiscard]] constexpr std::uint32_t token_width(int vocabulary) {
  return vocabulary <= 1 << 8 ? 1 : vocabulary <= 1 << 16 ? 2 : 4;
}

// Maps the file of these tokens in `folder`, which is made together with them where they are not there. Any number of
// processes may do this at once. text_sha256: of `text`. Errors: kIo (the disk refuses).
[[nodiscard]] Result<MappedFile> obtain_token_file(std::string_view text, const std::string& text_sha256,
                                                   const Tokenizer& tokenizer, const std::filesystem::path& folder);

}  // namespace shoal
