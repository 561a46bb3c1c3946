// Schedules of rounds for tests: DiLoCo with few words.
// Real ones, so that a test has the rounds that a run of these settings has.
#pragma once

#include "runtime/journal/round_plan.h"

namespace shoal {

// One fragment that contributes after `period` steps, 2 * period, ...; its rounds are due there, or, delayed, at the
// next contribution.
[[nodiscard]] inline RoundSchedule rounds_every(std::uint64_t period, OuterUpdate update = OuterUpdate::kWait,
                                                int fragments = 1) {
  SyncConfig sync;
  sync.mode = SyncMode::kDiloco;
  sync.H = period;
  sync.fragments = fragments;
  sync.overlap = 0;
  sync.outer_update = update;
  return RoundSchedule(sync);
}

}  // namespace shoal
