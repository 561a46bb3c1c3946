// The ranks of a byte-pair encoding: which sequences of bytes are tokens, and which pair is merged first.
//
//   file = line*            a .tiktoken file, in any order of its lines
//   line = base64 " " rank "\n"        base64 of the token's bytes, padded; ranks are 0..N-1, each once
//
// GPT-2's file (50,256 ranks) is in the Python package openai-whisper, its source form. pip downloads that as this
// machine is configured; one file is taken out of it and kept beside the corpora, checked by its SHA-256 whenever it is
// used. $SHOAL_CORPORA names a folder with gpt2.tiktoken or the package; when it is set nothing is downloaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

inline constexpr std::string_view kGpt2RanksSha256 = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930";
inline constexpr std::uint64_t kGpt2RanksCount = 50256;
// Bounds what is read of a file that claims to be ranks.
inline constexpr std::uint64_t kRanksMax = 1'000'000;
inline constexpr std::size_t kTokenBytesMax = 4096;

// Tokens by rank. Every single byte is among them, so that any text can be encoded; no two are equal, none is empty.
// Errors: kInvalidData with the line and what is wrong; `where` names the file for the sentence.
[[nodiscard]] Result<std::vector<std::string>> parse_ranks(std::string_view text, const std::string& where);

// folder/gpt2.tiktoken, fetched when it is absent or damaged. Any number of processes may do this at once.
// Errors: kUnreachable (no pip, no package index), kInvalidData (another file than published), kIo (the disk refuses).
[[nodiscard]] Result<std::filesystem::path> fetch_gpt2_ranks(const std::filesystem::path& folder);

}  // namespace shoal
