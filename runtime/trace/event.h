// One thing that happened to one actor, as a plain value of fixed size: what rings hold and trace files keep.
//
// Recording copies it and allocates nothing. Names of actors are numbers (Tracer::name); their texts are in the file
// once. Kinds are part of the file format: never renumber. What the fields say beside the cause, by kind:
//
//   kind         subject                    bytes                      detail, and the cause's fields
//   receive..    replica it is for, or 0    of its tensors             the message's name; span: the letter's
//   start, end   0                          of a letter, or 0          "forward", "apply", ...; hop: the stage
//   accumulate   0                          tokens                     hop: the stage
//   path         replica of this hop        replicas of the path       why it was chosen, or nothing; hop
//   plan         0                          microbatches of the step
//   view         replica or sync group      process (AddReplica)       the entry's name; hop: stage, attempt: slot
//   commit       tokens counted             number of its content      "skipped" or nothing
//   stage commit incarnation of the epoch   digest of the sum          hop: stage, attempt: counter of the epoch
//   manifest     member                     microbatches in this part  a bitmap from cause.microbatch on; hop: stage
//   digest       layout of the state        the digest                 "state", "loaded": hop: stage
//                incarnation of the epoch                              "sum": attempt: counter of the epoch
//   clock        offset in ns (two's compl.) round trip in ns          to the spawner's steady clock, of this one
//   mark         the bound                  the highest fill so far    the queue's name
//   link         process at the other end                              "up", or why it was lost
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "messages/cause.h"
#include "messages/ids.h"
#include "runtime/base/config.h"

namespace shoal {

enum class TraceKind : std::uint8_t {
  kReceive = 0,     // a message was taken from the mailbox
  kStart = 1,       // a piece of work began (span)
  kEnd = 2,         // and ended
  kSend = 3,        // a message left
  kAccumulate = 4,  // a microbatch was counted into a replica's sum
  kDrop = 5,        // something was thrown away: old branch, unknown receiver, full queue
  kRestart = 6,
  kView = 7,    // a membership change was journalled or followed
  kCommit = 8,  // a step was committed or applied
  kFault = 9,
  kSpawn = 10,
  kExit = 11,
  kPhase = 12,        // a sync group or replica entered a phase: open, prepare, reduce, voted
  kRollBack = 13,     // a new branch began
  kPath = 14,         // a microbatch left the data loader: one event per replica it is to visit
  kPlan = 15,         // a step was planned
  kStageCommit = 16,  // the part of a commit about one stage
  kManifest = 17,     // the part of a commit about one of its members
  kDigest = 18,       // a replica's state
  kClock = 19,        // how far the spawner's clock is from this process's
  kMark = 20,         // a queue was fuller than ever before (S-6)
  kLink = 21,         // to another process
  kNote = 22,         // news for people: joined, training, checkpoint, ...
};
inline constexpr TraceKind kTraceKindLast = TraceKind::kNote;

[[nodiscard]] std::string_view text_of(TraceKind kind);

// A letter from another process came to an end: it was taken, or thrown away.
[[nodiscard]] constexpr bool is_arrival(TraceKind kind) {
  return kind == TraceKind::kReceive || kind == TraceKind::kDrop;
}

// Data-plane events are recorded at level `all` only; everything else at `lifecycle` too.
[[nodiscard]] constexpr bool is_traced(TraceKind kind, TraceLevel level) {
  const bool is_data_plane = kind <= TraceKind::kAccumulate || kind == TraceKind::kPath;
  return level == TraceLevel::kAll || (level == TraceLevel::kLifecycle && !is_data_plane);
}

using ActorName = Id<struct ActorNameTag, std::uint16_t>;

inline constexpr std::size_t kTraceDetailBytes = 32;

struct TraceEvent {
  std::int64_t time_ns = 0;  // since the tracer began (steady clock); Tracer::record fills a 0 in
  TraceKind kind = TraceKind::kFault;
  ActorName actor;
  Incarnation incarnation;
  Cause cause;             // parent_span: the span in which it was brought about
  std::uint64_t span = 0;  // for kStart and kEnd, and for kSend with its kReceive elsewhere; 0: none
  std::uint64_t bytes = 0;
  std::uint64_t subject = 0;                     // the actor or process that it is about
  std::array<char, kTraceDetailBytes> detail{};  // zero-padded text, cut to its first bytes
  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;

  void set_detail(std::string_view text) {
    detail.fill('\0');
    std::copy_n(text.begin(), std::min(text.size(), detail.size()), detail.begin());
  }
  // Appends after a space, as far as there is room.
  void add_detail(std::string_view text) {
    const std::size_t used = detail_text().size();
    if (text.empty() || used + 1 >= detail.size()) return;
    detail[used] = ' ';
    std::copy_n(text.begin(), std::min(text.size(), detail.size() - used - 1), detail.begin() + used + 1);
  }
  [[nodiscard]] std::string_view detail_text() const {
    const auto* const end = std::find(detail.begin(), detail.end(), '\0');
    return {detail.data(), static_cast<std::size_t>(end - detail.begin())};
  }
};

// Microbatches that one kManifest event can hold.
inline constexpr std::uint32_t kManifestBits = 8 * kTraceDetailBytes;

}  // namespace shoal
