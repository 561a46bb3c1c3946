// Letters as bytes: Cap'n Proto for what is said (schemas beside the headers), raw buffers for the tensors in it.
//
//   encode(letter) ─▶ { bytes: one flat Cap'n Proto message, buffers: the tensors' bytes in order of appearance }
//   decode(bytes, buffers) ─▶ letter, or why it is malformed
//
// A letter that is encoded has its tensors on the host: a resident one is a bug of its sender (std::logic_error).
//
// Everything is validated before it is believed: discriminants, enumerations, dtype, shape and byte count of each
// tensor against its buffer, counts against stated bounds. Floats survive bit for bit.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/letter.h"

namespace shoal {

// Bounds on what a peer may make us hold (S-6).
inline constexpr std::size_t kLetterBytesMax = std::size_t{8} << 20;
inline constexpr std::size_t kTensorBytesMax = std::size_t{4} << 30;
inline constexpr std::size_t kTensorRankMax = 8;

// A value, or the sentence that says what is wrong with the bytes (this folder is a leaf: it knows no Result).
template <class T>
struct Decoded {
  std::optional<T> value;
  std::string malformed;  // empty if and only if there is a value
};

struct EncodedLetter {
  std::vector<char> bytes;
  std::vector<SharedBuffer> buffers;
};

[[nodiscard]] EncodedLetter encode(const Letter& letter);
[[nodiscard]] Decoded<Letter> decode(std::span<const char> bytes, const std::vector<SharedBuffer>& buffers);

// The same for one journal entry, as the journal stores it. Entries hold no tensors.
[[nodiscard]] std::vector<char> encode(const JournalEntry& entry);
[[nodiscard]] Decoded<JournalEntry> decode_journal_entry(std::span<const char> bytes);
// And for what it keeps in place of its oldest entries.
[[nodiscard]] std::vector<char> encode(const JournalSnapshot& snapshot);
[[nodiscard]] Decoded<JournalSnapshot> decode_journal_snapshot(std::span<const char> bytes);

}  // namespace shoal
