// The hops by which one payload of every worker reaches all of them, and what each hop waits for.
//
// Time is not in it: only who sends which share to whom after which other hops. The same for every payload of a run.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/plan/scenario.h"

namespace shoal {

// Hop of an exchange: it waits for other hops, and for the sender's own contribution.
struct ExchangeHop {
  std::size_t from = 0;
  std::size_t to = 0;
  double share = 0;                  // part of a payload
  std::size_t needs_count = 0;       // hops that must have arrived before it
  std::vector<std::size_t> unlocks;  // hops that wait for this one
};

// Returns the hops in the order in which a sender prefers them. None for one worker.
[[nodiscard]] std::vector<ExchangeHop> hops_of(Exchange exchange, std::size_t workers);

// Returns what each worker sends, as a share of its payload: M - 1 for a gather, 2 (M - 1) / M for ring and owner.
[[nodiscard]] double sent_share(Exchange exchange, std::size_t workers);

}  // namespace shoal
