// Checks and gathers what needs each event once, as it passes by: marks of queues (S-6), signs of life, the first plan.
// Memory grows with lives and findings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/trace/report/check/findings.h"
#include "runtime/trace/report/pieces/event_pieces.h"

namespace shoal {

// Until when each process is known to have lived: by its own events, and by letters that came from it.
class SignsOfLife {
 public:
  explicit SignsOfLife(const RunTrace& frame);

  void hear(const TracedEvent& letter);
  // Returns the life that had this number last; nothing: none had, or it is the spawner's.
  [[nodiscard]] std::optional<std::uint32_t> life_of(ProcessIncarnation process) const;
  [[nodiscard]] std::int64_t last_ns(std::uint32_t life) const { return last_ns_[life]; }

 private:
  std::vector<std::int64_t> last_ns_;  // by life
  std::map<ProcessIncarnation, std::uint32_t> life_of_;
};

struct PassingFacts {
  explicit PassingFacts(const RunTrace& frame) : signs(frame) {}

  SignsOfLife signs;
  std::optional<std::uint64_t> first_plan;  // microbatches of the earliest step that a plan is known of
  std::uint64_t marks = 0;
  std::vector<TimedViolation> beyond_bounds;
};

// Errors: those of the pieces.
[[nodiscard]] Result<PassingFacts> check_passing(const EventPieces& pieces);

// "stage/1/0 (replica 12) in node3".
[[nodiscard]] std::string actor_in_words(const RunTrace& frame, const TracedEvent& traced);

}  // namespace shoal
