// The identities of the system: one distinct type per thing, so that a step is never passed where a stage belongs.
//
// Words are those of the README's table. An Incarnation is given once, by the supervisor, and never reused: it is the
// fence that makes everything older harmless (S-4).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace shoal {

template <class Tag, class Representation = std::uint64_t>
struct Id {
  Representation value{};
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Id& id) { return out << +id.value; }
};

using RunId = Id<struct RunTag>;                               // random, chosen when a run directory is made
using Branch = Id<struct BranchTag, std::uint32_t>;            // +1 at each roll-back
using Term = Id<struct TermTag>;                               // +1, durable, at each start of a spawner
using JournalPosition = Id<struct JournalPositionTag>;         // number of entries before and including this one
using StageId = Id<struct StageTag, std::uint32_t>;            // 0 .. stages-1
using ReplicaId = Id<struct ReplicaTag, std::uint32_t>;        // slot in a stage, for names: stage/<stage>/<replica>
using Incarnation = Id<struct IncarnationTag>;                 // an actor's life; 0 is nobody
using ProcessIncarnation = Id<struct ProcessIncarnationTag>;   // a process's life; 0 is the spawner, whatever its term
using StepId = Id<struct StepTag>;                             // t = 0, 1, ...
using MicrobatchId = Id<struct MicrobatchTag, std::uint32_t>;  // index in the step
// Number of an order of a sync group: (its incarnation, counter), compared in this order. A group counts its orders of
// steps and those of rounds apart (P-31): within a kind none is given twice (P-15), so RoundId tells the kinds apart.
struct Epoch {
  Incarnation group;
  std::uint32_t counter = 0;
  friend constexpr auto operator<=>(const Epoch&, const Epoch&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Epoch& epoch) {
    return out << epoch.group << '.' << epoch.counter;
  }
};

}  // namespace shoal

template <class Tag, class Representation>
struct std::hash<shoal::Id<Tag, Representation>> {
  std::size_t operator()(const shoal::Id<Tag, Representation>& id) const {
    return std::hash<Representation>{}(id.value);
  }
};
