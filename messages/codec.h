// Letters as bytes: Cap'n Proto for what is said (schemas beside the headers), raw buffers for the tensors in it.
//
//   encode(letter) ─▶ { bytes: one flat Cap'n Proto message, buffers: the tensors' bytes in order of appearance }
//   decode(bytes, buffers) ─▶ letter, or Error::kInvalidData and nothing touched
//
// Everything is validated before it is believed: discriminants, enumerations, dtype, shape and byte count of each
// tensor against its buffer, counts against stated bounds. Floats survive bit for bit.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/error.h"

namespace shoal {

// Bounds on what a peer may make us hold (S-6).
inline constexpr std::size_t kLetterBytesMax = std::size_t{8} << 20;
inline constexpr std::size_t kTensorBytesMax = std::size_t{4} << 30;
inline constexpr std::size_t kTensorRankMax = 8;

using SharedBuffer = std::shared_ptr<const AlignedBuffer>;

struct EncodedLetter {
  std::vector<char> bytes;
  std::vector<SharedBuffer> buffers;
};

[[nodiscard]] EncodedLetter encode(const Letter& letter);
[[nodiscard]] Result<Letter> decode(std::span<const char> bytes, const std::vector<SharedBuffer>& buffers);

// The same for one journal entry, as the journal stores it. Entries hold no tensors.
[[nodiscard]] std::vector<char> encode(const JournalEntry& entry);
[[nodiscard]] Result<JournalEntry> decode_journal_entry(std::span<const char> bytes);

}  // namespace shoal
