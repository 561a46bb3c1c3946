// Decides which workers serve several stages where machines are fewer than stages x replicas (`swarm.share_devices`),
// and when one of them gives a stage up again. Pure, says why.
//
//   start          balance/shared_places.h
//   training       a stage that lacks a replica while nobody is free ──▶ who had it before doubles up again; after a
//                  while, the worker with the fewest stages
//                  a newcomer, or a worker with two stages less than another ──▶ joins a stage of the busiest
//                  a stage has more than it should ──▶ the busiest worker that serves it gives way
//
// Never two replicas of one stage on one worker (P-25b), never more stages than its memory holds together (P-25c). Each
// move makes loads more equal, so that moves come to an end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/cluster/recovery/replacement.h"

namespace shoal {

// A member that lives and stays.
struct SharedMember {
  ProcessIncarnation process;
  StageId stage;
  Incarnation replica;
};

enum class Doubling : std::uint8_t { kWhoHadIt, kAnybody };

// The next worker that takes a stage in addition. Nothing: somebody is free, or no stage lacks a replica that one of
// those who share could have.
[[nodiscard]] std::optional<Replacement> plan_doubling(const ReplacementQuestion& question, Doubling who);

// The next worker that joins a stage which another is to give up. Nothing: loads are equal, or a move is under way.
[[nodiscard]] std::optional<Replacement> plan_take_over(const ReplacementQuestion& question);

// The member that is not needed: its stage has more than `replicas`, and its worker serves another one.
[[nodiscard]] std::optional<SharedMember> find_superfluous(const std::vector<SharedMember>& members,
                                                           const ReplicasWanted& replicas);

}  // namespace shoal
