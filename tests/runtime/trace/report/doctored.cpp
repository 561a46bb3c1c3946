// One event, one field of it.
#include "tests/runtime/trace/report/doctored.h"

#include <algorithm>
#include <string>

namespace shoal {
namespace {

TraceEvent& any_event(TraceBench& bench, const std::string& life, const TraceBench::Which& which,
                      std::mt19937& random) {
  auto& events = bench.life(life).events;
  for (;;) {
    TraceEvent& event = events[random() % events.size()];
    if (which(event)) return event;
  }
}

}  // namespace

void doctor(TraceBench& bench, const TraceBench::Which& which, std::mt19937& random) {
  static constexpr const char* kLives[] = {"spawner", "node1", "node2", "node3", "node4"};
  const std::string life = kLives[random() % std::size(kLives)];
  TraceEvent& event = any_event(bench, life, which, random);
  const std::uint64_t shift = 1 + random() % 9;
  switch (random() % 12) {
    case 0: event.kind = TraceKind::kFault; break;
    case 1: event.cause.step.value += shift; break;
    case 2: event.cause.step.value -= std::min(event.cause.step.value, shift); break;
    case 3: event.cause.position.value += shift; break;
    case 4: event.cause.position.value -= std::min(event.cause.position.value, shift); break;
    case 5: event.cause.branch.value += 1; break;
    case 6: event.cause.attempt += 1; break;
    case 7: event.bytes ^= shift; break;
    case 8: event.subject += shift % 3; break;
    case 9:
      event.time_ns = static_cast<std::int64_t>(random() % (2 * static_cast<std::uint64_t>(bench.now_ns())));
      break;
    case 10: bench.life(life).dropped += random() % 2; break;
    default: {
      TraceEvent again = event;  // may be late, or another's
      again.actor = bench.name_of("node1", "stage/0/0");
      again.incarnation.value += random() % 2;
      if (random() % 2 == 0) again.time_ns = static_cast<std::int64_t>(random() % 1000) * 1'000'000;
      bench.add("node1", again);
    }
  }
}

void add_sums(TraceBench& bench, std::uint64_t steps, std::mt19937& random) {
  for (std::uint64_t step = 0; step < steps; ++step) {
    TraceEvent sum = bench.event("node3", of_step(TraceKind::kDigest, step));
    sum.set_detail("sum");
    sum.cause.attempt = static_cast<std::uint32_t>(step) + 1;
    sum.subject = 22;
    sum.bytes = 900 + step + (random() % 8 == 0 ? 1 : 0);
    bench.add("node3", sum);
  }
}

}  // namespace shoal
