// Settings of rounds for tests.
// What is not named is the default.
#pragma once

#include "runtime/base/config.h"

namespace shoal {

inline SyncConfig diloco(std::uint64_t period, int fragments = 1, std::uint64_t overlap = 0,
                         OuterUpdate update = OuterUpdate::kWait) {
  SyncConfig sync;
  sync.mode = SyncMode::kDiloco;
  sync.H = period;
  sync.fragments = fragments;
  sync.overlap = overlap;
  sync.outer_update = update;
  return sync;
}

}  // namespace shoal
