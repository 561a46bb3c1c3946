// encode and decode: one switch over the bodies; the fields themselves are listed in fields/*.h.
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

// Every body: its C++ name (also the name in the schema's accessors) and its discriminant.
#define SHOAL_BODIES(X)                  \
  X(Forward, FORWARD)                    \
  X(Backward, BACKWARD)                  \
  X(Refusal, REFUSAL)                    \
  X(Ask, ASK)                            \
  X(AskAnswer, ASK_ANSWER)               \
  X(Open, OPEN)                          \
  X(Zero, ZERO)                          \
  X(Prepare, PREPARE)                    \
  X(Reduce, REDUCE)                      \
  X(Manifest, MANIFEST)                  \
  X(Reduced, REDUCED)                    \
  X(Part, PART)                          \
  X(Prepared, PREPARED)                  \
  X(Missing, MISSING)                    \
  X(Progress, PROGRESS)                  \
  X(AllAnswered, ALL_ANSWERED)           \
  X(AskHolders, ASK_HOLDERS)             \
  X(Holders, HOLDERS)                    \
  X(JournalEntries, JOURNAL_ENTRIES)     \
  X(FetchJournal, FETCH_JOURNAL)         \
  X(Hello, HELLO)                        \
  X(Join, JOIN)                          \
  X(Welcome, WELCOME)                    \
  X(JoinRefused, JOIN_REFUSED)           \
  X(Peers, PEERS)                        \
  X(SpawnStage, SPAWN_STAGE)             \
  X(StageReady, STAGE_READY)             \
  X(StageEnded, STAGE_ENDED)             \
  X(Heartbeat, HEARTBEAT)                \
  X(EndProcess, END_PROCESS)             \
  X(Leaving, LEAVING)                    \
  X(ProcessLost, PROCESS_LOST)           \
  X(SaveShard, SAVE_SHARD)               \
  X(CheckpointSaved, CHECKPOINT_SAVED)   \
  X(CheckpointFailed, CHECKPOINT_FAILED) \
  X(FetchState, FETCH_STATE)             \
  X(StateImage, STATE_IMAGE)             \
  X(StateUnavailable, STATE_UNAVAILABLE) \
  X(ReplicaReport, REPLICA_REPORT)       \
  X(EvaluationResult, EVALUATION_RESULT) \
  X(RunEvent, RUN_EVENT)                 \
  X(EndStage, END_STAGE)                 \
  X(HeartbeatEcho, HEARTBEAT_ECHO)       \
  X(PeerUnreachable, PEER_UNREACHABLE)   \
  X(Inject, INJECT)                      \
  X(SaveState, SAVE_STATE)               \
  X(StepSum, STEP_SUM)                   \
  X(FileChunk, FILE_CHUNK)               \
  X(FileKept, FILE_KEPT)                 \
  X(StateProgress, STATE_PROGRESS)       \
  X(PartsSent, PARTS_SENT)               \
  X(MissingParts, MISSING_PARTS)         \
  X(Revocations, REVOCATIONS)

namespace shoal {
namespace codec {

namespace {

void write_letter_body(Writer& io, wire::Letter::Body::Builder body, const MessageBody& value) {
  std::visit(
      [&](const auto& m) {
        using T = std::decay_t<decltype(m)>;
#define WRITE(Type, DISCRIMINANT) \
  if constexpr (std::is_same_v<T, Type>) fields(io, body.init##Type(), m);
        SHOAL_BODIES(WRITE)
#undef WRITE
      },
      value);
}

void read_letter_body(Reader& io, wire::Letter::Body::Reader body, MessageBody& value) {
  switch (body.which()) {
#define READ(Type, DISCRIMINANT) \
  case wire::Letter::Body::DISCRIMINANT: return fields(io, body.get##Type(), value.emplace<Type>());
    SHOAL_BODIES(READ)
#undef READ
  }
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

// What holds no tensors and is not sent as it is.
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
