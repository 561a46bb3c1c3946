// Decides the order in which processes end once a run is over: nodes first, then storage, the spawner's process last.
//
// Storage stays while the ends of the others' logs and traces are on their way to it, but not for ever; the spawner for
// processes that still live, and at least until its last words to its own actors are read. A spawner that hands over
// ends alone: the others wait for the next one. Pure: time comes in.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/cluster/truth/supervisor_effects.h"

namespace shoal {

class Dismissal {
 public:
  static constexpr Duration kLastWords = std::chrono::milliseconds(200);  // for letters to actors of this process

  struct Company {
    bool are_nodes_left = false;
    bool is_anybody_left = false;
  };
  struct Decision {
    bool goes_storage = false;  // it is told, again and again
    bool is_over = false;
  };

  Dismissal(Duration storage_stays, Duration leave_within)
      : storage_stays_(storage_stays), leave_within_(leave_within) {}

  void begin(EndRun end, Instant now) { end_ = std::move(end), since_ = now; }
  // A process that has not heard of the end may come back and ask: the spawner waits, though no process is there.
  void expect_questions() { is_asked_ = true; }
  [[nodiscard]] const EndRun& end() const { return end_; }
  // After status 1 the spawner's keeper starts it again, and the others come back to it.
  [[nodiscard]] bool is_for_good() const { return end_.exit_status != exit_code(Error::kInternal); }
  // With what the others end. Of storage nobody asks what became of the run; its keeper asks whether it goes on.
  [[nodiscard]] std::uint32_t status_of(ProcessRole role) const {
    return role == ProcessRole::kStorage && is_for_good() ? 0 : end_.status_of_others;
  }

  [[nodiscard]] Decision decide(const Company& company, Instant now) const {
    const Duration waited = now - since_;
    const bool is_written = !company.are_nodes_left || waited >= storage_stays_;
    const bool is_waited_for = !end_.is_handed_over && (is_asked_ || company.is_anybody_left);
    const bool is_over = waited >= kLastWords && (!is_waited_for || waited >= leave_within_);
    return {!end_.is_handed_over && is_written, is_over};
  }

 private:
  Duration storage_stays_, leave_within_;
  EndRun end_;
  Instant since_{};
  bool is_asked_ = false;
};

}  // namespace shoal
