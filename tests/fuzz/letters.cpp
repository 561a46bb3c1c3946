// Letters, journal entries and snapshots as Cap'n Proto messages.
//
//   input = kind:u8  buffers:u8  be16 size[buffers mod 8]  message        kind mod 3: letter, journal entry, snapshot
//
// The buffers of a letter's tensors are zeros. What is accepted can be encoded, and comes back as it was.
#include "messages/codec.h"

#include <cstring>

#include "runtime/base/ensure.h"
#include "tests/fuzz/harness.h"
#include "tests/messages/samples.h"

namespace shoal::fuzz {
namespace letters {
namespace {

enum Kind : std::uint8_t { kLetter, kEntry, kSnapshot, kKinds };
constexpr std::size_t kBuffersMax = 8;

std::string input_of(Kind kind, const EncodedLetter& letter) {
  std::string input;
  append_number(input, kind, 1);
  append_number(input, letter.buffers.size(), 1);
  for (const SharedBuffer& buffer : letter.buffers) append_number(input, buffer->size(), 2);
  return input.append(letter.bytes.data(), letter.bytes.size());
}

SharedBuffer zeros(std::size_t size) {
  auto buffer = std::make_shared<AlignedBuffer>(size);
  std::memset(buffer->data(), 0, size);
  return buffer;
}

bool accepts_letter(std::span<const char> bytes, const std::vector<SharedBuffer>& buffers) {
  const Decoded<Letter> decoded = decode(bytes, buffers);
  ENSURE(decoded.value.has_value() == decoded.malformed.empty(), "a letter is there, or a reason why it is not");
  if (!decoded.value) return false;
  const EncodedLetter once = encode(*decoded.value);
  const Decoded<Letter> again = decode(once.bytes, once.buffers);
  ENSURE(again.value, "an accepted letter is refused after its encoding: " + again.malformed);
  ENSURE(encode(*again.value).bytes == once.bytes, "an accepted letter changes by its encoding");
  return true;
}

template <class Decode>
bool accepts_alone(std::span<const char> bytes, Decode decode_one) {
  const auto decoded = decode_one(bytes);
  if (!decoded.value) return false;
  const std::vector<char> once = encode(*decoded.value);
  const auto again = decode_one(once);
  ENSURE(again.value, "what was accepted is refused after its encoding: " + again.malformed);
  ENSURE(encode(*again.value) == once, "what was accepted changes by its encoding");
  return true;
}

bool accepts(std::string_view input) {
  Cursor cursor(input);
  const auto kind = cursor.byte() % kKinds;
  std::vector<SharedBuffer> buffers(cursor.byte() % kBuffersMax);
  for (SharedBuffer& buffer : buffers) buffer = zeros(cursor.number(2));
  const std::string_view message = cursor.rest();
  const std::vector<char> bytes(message.begin(), message.end());  // ends where its memory ends
  if (kind == kEntry) return accepts_alone(bytes, decode_journal_entry);
  if (kind == kSnapshot) return accepts_alone(bytes, decode_journal_snapshot);
  return accepts_letter(bytes, buffers);
}

std::vector<std::string> samples() {
  std::mt19937_64 random(1);
  std::vector<std::string> inputs;
  for (MessageBody& body : samples::every_body(random)) {
    const Address to{ProcessIncarnation{9}, Role::kStage, StageId{1}, Incarnation{42}};
    inputs.push_back(input_of(kLetter, encode(Letter{ProcessIncarnation{7}, to, std::move(body)})));
  }
  for (const JournalEntry& entry : samples::every_entry(random))
    inputs.push_back(input_of(kEntry, {encode(entry), {}}));
  inputs.push_back(input_of(kSnapshot, {encode(samples::snapshot(random)), {}}));
  return inputs;
}

}  // namespace
}  // namespace letters

const Harness kLetters{"letters", letters::samples, letters::accepts};

}  // namespace shoal::fuzz
