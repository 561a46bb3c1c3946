// encode and decode: one case for each row of the catalogue; the fields themselves are listed in fields/*.h.
#include "messages/codec.h"

#include <kj/exception.h>

#include "messages/address.capnp.h"
#include "messages/cause.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/fields/cluster.h"
#include "messages/fields/journal.h"
#include "messages/fields/step.h"
#include "messages/fields/storage.h"
#include "messages/fields/supervision.h"
#include "messages/journal.capnp.h"
#include "messages/letter.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/operate.capnp.h"
#include "messages/pipeline.capnp.h"
#include "messages/storage.capnp.h"
#include "messages/supervision.capnp.h"
#include "messages/sync.capnp.h"

namespace shoal {
namespace codec {

namespace {

// The schema's union names its members like the types.
void write_letter_body(Writer& io, wire::Letter::Body::Builder body, const MessageBody& value) {
  std::visit(
      [&](const auto& m) {
        using T = std::decay_t<decltype(m)>;
#define WRITE(Type, ...) \
  if constexpr (std::is_same_v<T, Type>) fields(io, body.init##Type(), m);
        SHOAL_MESSAGES(WRITE)
#undef WRITE
      },
      value);
}

void read_letter_body(Reader& io, wire::Letter::Body::Reader body, MessageBody& value) {
#define READ(Type, ...)                    \
  if (body.is##Type()) {                   \
    Type message;                          \
    fields(io, body.get##Type(), message); \
    value = std::move(message);            \
    return;                                \
  }
  SHOAL_MESSAGES(READ)
#undef READ
  throw Malformed{"a message of a kind this version does not know"};
}

std::vector<char> flatten(capnp::MessageBuilder& message) {
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
  const auto chars = words.asChars();
  return {chars.begin(), chars.end()};
}

// The bounds of what reading a message may cost. Elements are larger here than on the wire, by a factor of 10 at most.
constexpr std::size_t kMemoryPerByteMax = 32;
constexpr std::size_t kMemoryAtLeast = std::size_t{64} << 10;
constexpr std::size_t kVisitsPerWordMax = 8;  // a list's shape is read more than once
constexpr std::size_t kVisitsAtLeast = 4096;

std::size_t memory_for(std::span<const char> bytes) { return kMemoryAtLeast + kMemoryPerByteMax * bytes.size(); }

// Runs `read` over a reader of the bytes, which are copied to word alignment first; anything thrown is a refusal.
template <class T, class Read>
Decoded<T> guarded(std::span<const char> bytes, Read read) {
  if (bytes.size() > kLetterBytesMax || bytes.size() % sizeof(capnp::word) != 0 || bytes.empty()) {
    return {std::nullopt, "a message of " + std::to_string(bytes.size()) + " bytes"};
  }
  Decoded<T> out;
  try {
    auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
    std::memcpy(words.begin(), bytes.data(), bytes.size());
    capnp::ReaderOptions options;
    options.traversalLimitInWords = kVisitsAtLeast + kVisitsPerWordMax * words.size();
    options.nestingLimit = 16;
    capnp::FlatArrayMessageReader reader(words, options);
    read(reader, out.value.emplace());
  } catch (const Malformed& malformed) {
    return {std::nullopt, malformed.why};
  } catch (const kj::Exception& exception) {
    return {std::nullopt, std::string("Cap'n Proto: ") + exception.getDescription().cStr()};
  } catch (const std::exception& exception) {
    return {std::nullopt, exception.what()};
  }
  return out;
}

// Encodes a value that holds no tensors and is not sent as it is.
template <class Wire, class T>
std::vector<char> encode_alone(const T& value) {
  std::vector<SharedBuffer> none;
  Writer io{none};
  capnp::MallocMessageBuilder message;
  fields(io, message.initRoot<Wire>(), value);
  return flatten(message);
}

template <class Wire, class T>
Decoded<T> decode_alone(std::span<const char> bytes) {
  return guarded<T>(bytes, [bytes](capnp::MessageReader& reader, T& value) {
    const std::vector<SharedBuffer> none;
    Reader io{none, memory_for(bytes)};
    fields(io, reader.getRoot<Wire>(), value);
  });
}

}  // namespace
}  // namespace codec

EncodedLetter encode(const Letter& letter) {
  EncodedLetter out;
  codec::Writer io{out.buffers};
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<wire::Letter>();
  root.setFrom(letter.from.value);
  codec::fields(io, root.initTo(), letter.to);
  codec::write_letter_body(io, root.initBody(), letter.body);
  root.setSpan(letter.span);
  out.bytes = codec::flatten(message);
  return out;
}

Decoded<Letter> decode(std::span<const char> bytes, const std::vector<SharedBuffer>& buffers) {
  return codec::guarded<Letter>(bytes, [&](capnp::MessageReader& reader, Letter& letter) {
    codec::Reader io{buffers, codec::memory_for(bytes)};
    auto root = reader.getRoot<wire::Letter>();
    letter.from.value = root.getFrom();
    codec::fields(io, root.getTo(), letter.to);
    codec::read_letter_body(io, root.getBody(), letter.body);
    letter.span = root.getSpan();
  });
}

std::vector<char> encode(const JournalEntry& entry) { return codec::encode_alone<wire::JournalEntry>(entry); }

Decoded<JournalEntry> decode_journal_entry(std::span<const char> bytes) {
  return codec::decode_alone<wire::JournalEntry, JournalEntry>(bytes);
}

std::vector<char> encode(const JournalSnapshot& snapshot) {
  return codec::encode_alone<wire::JournalSnapshot>(snapshot);
}

Decoded<JournalSnapshot> decode_journal_snapshot(std::span<const char> bytes) {
  return codec::decode_alone<wire::JournalSnapshot, JournalSnapshot>(bytes);
}

}  // namespace shoal
