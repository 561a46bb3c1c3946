// Lives of processes, from the parts of their files: what files say beside the events.
//
// Keeps the best of a life's clock measurements, which is all that align_clocks() asks for: memory grows with lives and
// actors, not with events.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

class LifeList {
 public:
  // Adds what a part says and returns its life's index. Parts of a life follow each other; the process's name counts. A
  // tracer actor that is replaced begins a life in the file, though its process lives on.
  std::uint32_t add(const TraceLife& part);

  // Returns all lives on one time line, whose 0 is the begin of the earliest.
  [[nodiscard]] std::vector<ProcessLife> lives() const;

  // Returns the index in actors() of a name in a life, after all parts: a name may stand in the file behind the first
  // events that mean it.
  [[nodiscard]] std::uint32_t actor_number(std::uint32_t life, ActorName name);
  [[nodiscard]] const std::vector<TracedActor>& actors() const { return actors_; }

 private:
  std::vector<ProcessLife> summaries_;  // without clocks, by their own ones
  std::vector<TraceLife> lives_;        // of their events, the best measurement of the clock
  std::vector<TracedActor> actors_;
  std::map<TracedActor, std::uint32_t> numbers_;
  std::map<std::pair<std::uint32_t, ActorName>, std::uint32_t> numbers_of_names_;
};

}  // namespace shoal
