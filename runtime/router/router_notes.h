// Notes of a router on its own work: the trace, letters that were not delivered, and how full its queues have been.
//
// Nothing is decided by it.
#pragma once

#include <memory>

#include "messages/letter.h"
#include "runtime/pipeline/undelivered.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/high_water.h"
#include "runtime/trace/trace_words.h"
#include "runtime/trace/tracer.h"

namespace shoal {

// How full this router's queues have been, each with its bound (S-6).
struct RouterMarks {
  HighWater waiting{"bytes for absent peers"};
  HighWater held{"letters ahead of journal"};
  HighWater requests{"requests kept"};
  HighWater assembling{"bytes of open transfers"};
};

struct RouterNotes {
  ActorTrace trace;
  std::shared_ptr<ActorPulse> pulse;
  Undelivered undelivered{};
  RouterMarks marks{};

  // The letter goes nowhere: counted, and in the trace.
  void drop(const Letter& letter, Undelivered::Why why) {
    undelivered.add(why);
    trace_letter(trace, TraceKind::kDrop, letter);
  }
  void link(ProcessIncarnation process, std::string_view what) const {
    TraceEvent event;
    event.kind = TraceKind::kLink;
    event.subject = process.value;
    event.set_detail(what);
    trace.record(event);
  }
};

}  // namespace shoal
