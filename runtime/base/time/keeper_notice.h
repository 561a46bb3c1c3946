// Says once that the keeper of this process no longer reads its signs of life, as one that is stopped (SIGSTOP) does,
// and once that it reads again. Meanwhile the process goes on: it needs its keeper only at its end.
// Pure: what was seen comes in, a sentence for a person comes out.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "runtime/base/clock.h"

namespace shoal {

class KeeperNotice {
 public:
  // silence: keeper_silence() (launch/life_line.h). keeper: its process. Returns a sentence when something changed.
  [[nodiscard]] std::optional<std::string> look(std::optional<Duration> silence, pid_t keeper);
  [[nodiscard]] bool is_silent() const { return is_silent_; }

 private:
  bool is_silent_ = false;
};

}  // namespace shoal
