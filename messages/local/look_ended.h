// Tells the supervisor that a look for a checkpoint has ended, maybe long after it asked: a thread beside it reads the
// disk, which may be slow or hang (P-29).
#pragma once

#include <cstdint>
#include <memory>

namespace shoal {

struct LookEnd;  // runtime/cluster/truth/supervisor_effects.h

struct LookEnded {
  std::shared_ptr<const LookEnd> end;
  std::uint64_t fault_span = 0;  // of the loss that made all go back; 0: none
};

}  // namespace shoal
