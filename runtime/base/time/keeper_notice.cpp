// See keeper_notice.h.
#include "runtime/base/time/keeper_notice.h"

#include <chrono>
#include <utility>

#include "runtime/base/compose.h"

namespace shoal {

std::optional<std::string> KeeperNotice::look(std::optional<Duration> silence, pid_t keeper) {
  if (std::exchange(is_silent_, silence.has_value()) == silence.has_value()) return std::nullopt;
  if (!silence) return compose("its keeper (process ", keeper, ") lives again");
  return compose("its keeper (process ", keeper, ") shows no sign of life for ",
                 std::chrono::duration_cast<std::chrono::seconds>(*silence).count(),
                 " s, as if it were frozen. This process goes on; if it ends, nobody starts it again before the keeper "
                 "lives. `kill -CONT ",
                 keeper, "` wakes a keeper that was stopped");
}

}  // namespace shoal
