// Shell of TraceDrain: a flush per tick.
#include "actors/tracer.h"

#include "actors/injected.h"
#include "runtime/base/log.h"

namespace shoal {
namespace {

using Self = TracerActor::stateful_pointer<TracerState>;

// What has not been written when the machine dies is lost: at most the last 200 ms, also where threads wait for a core.
constexpr std::chrono::milliseconds kFlushInterval{50};

void flush(Self self) {
  const auto flushed = self->state.drain->flush();
  if (!flushed && !self->state.is_refused) {
    log_error("tracer", flushed.failure().message, "; events are lost, training goes on");
  }
  self->state.is_refused = !flushed;
  self->delayed_send(self, kFlushInterval, Tick{});
}

}  // namespace

TracerActor::behavior_type tracer(Self self, TracerActorSettings settings) {
  self->state.drain.emplace(std::move(settings.tracer), std::move(settings.path), std::move(settings.process_name));
  self->send(self, Tick{});
  return {
      [](const Inject& order) { suffer(order); },
      [self](const Tick&) { flush(self); },
  };
}

}  // namespace shoal
