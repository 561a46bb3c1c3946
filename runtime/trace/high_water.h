// The highest fill of one bounded queue, told to the trace as it rises (S-6).
//
// A mark is recorded when it is a quarter above the last one told, and always when it breaks the bound: so a queue
// costs a few events in its life, and what the trace says is at most a fifth below the truth.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/trace/tracer.h"

namespace shoal {

class HighWater {
 public:
  // queue: text that lives as long as the program.
  explicit HighWater(std::string_view queue) : queue_(queue) {}

  void note(const ActorTrace& trace, std::uint64_t fill, std::uint64_t bound) {
    const bool is_worth_telling = fill > told_ && (fill >= told_ + told_ / 4 || fill > bound);
    if (!is_worth_telling || !trace.wants(TraceKind::kMark)) return;
    told_ = fill;
    TraceEvent event;
    event.kind = TraceKind::kMark;
    event.bytes = fill;
    event.subject = bound;
    event.set_detail(queue_);
    trace.record(event);
  }

 private:
  std::string_view queue_;
  std::uint64_t told_ = 0;
};

}  // namespace shoal
