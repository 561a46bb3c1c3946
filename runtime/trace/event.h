// One thing that happened to one actor, as a plain value of fixed size: what rings hold and trace files keep.
//
// Recording copies it and allocates nothing. Names of actors are numbers (Tracer::name); their texts are in the file
// once. Kinds are part of the file format: never renumber.
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
  kPhase = 12,     // a sync group or replica entered a phase: open, prepare, reduce, voted
  kRollBack = 13,  // a new branch began
};
inline constexpr TraceKind kTraceKindLast = TraceKind::kRollBack;

[[nodiscard]] std::string_view text_of(TraceKind kind);

// Data-plane events are recorded at level `all` only; everything else at `lifecycle` too.
[[nodiscard]] constexpr bool is_traced(TraceKind kind, TraceLevel level) {
  const bool is_data_plane = kind <= TraceKind::kAccumulate;
  return level == TraceLevel::kAll || (level == TraceLevel::kLifecycle && !is_data_plane);
}

using ActorName = Id<struct ActorNameTag, std::uint16_t>;

struct TraceEvent {
  std::int64_t time_ns = 0;  // since the tracer began (steady clock); Tracer::record fills it in
  TraceKind kind = TraceKind::kFault;
  ActorName actor;
  Incarnation incarnation;
  Cause cause;             // parent_span: the span in which it was brought about
  std::uint64_t span = 0;  // of kStart and kEnd, and of kSend with its kReceive elsewhere; 0: none
  std::uint64_t bytes = 0;
  std::array<char, 24> detail{};  // zero-padded text, cut to its first bytes
  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;

  void set_detail(std::string_view text) {
    detail.fill('\0');
    std::copy_n(text.begin(), std::min(text.size(), detail.size()), detail.begin());
  }
  [[nodiscard]] std::string_view detail_text() const {
    const auto* const end = std::find(detail.begin(), detail.end(), '\0');
    return {detail.data(), static_cast<std::size_t>(end - detail.begin())};
  }
};

}  // namespace shoal
