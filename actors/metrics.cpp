// Shell of MetricsCore: one line of JSON per output, flushed, and a call of the shower.
#include "actors/metrics.h"

#include "actors/injected.h"
#include "runtime/base/log.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = MetricsActor::stateful_pointer<MetricsState>;

void note_lost_line(MetricsState& state, const Failure& failure) {
  if (state.lines_lost++ == 0) log_error("metrics", failure.message, "; lines are lost, training goes on");
}

void perform(Self self, std::vector<MetricsOutput> outputs) {
  constexpr std::size_t kReadOn = 1 << 20;  // about 2000 lines in two milliseconds
  auto& state = self->state;
  state.pulse->waiting(self->mailbox().size());
  for (auto& output : outputs) {
    if (auto* last = std::get_if<FinalRecord>(&output)) last->goodput = state.goodput->of(last->steps);
    const std::string line = std::visit([](const auto& record) { return to_json_line(record); }, output);
    const Status written = state.file ? state.file->append(line) : Status(fail(Error::kIo, "no metrics file"));
    if (!written) note_lost_line(state, written.failure());
    state.goodput->read_on(kReadOn);
    if (state.settings.show) state.settings.show(output);
  }
}

void open_file(Self self) {
  auto& state = self->state;
  auto opened = MetricsFile::open(state.settings.path);
  if (!opened) return note_lost_line(state, opened.failure());
  state.core.begin(state.settings.live_after, opened->written(), self->clock().now());
  state.file.emplace(std::move(opened.value()));
}

// Counted before it is written: what ends this actor will not end the next one.
template <class Message>
void take(Self self, const Message& message) {
  ++*self->state.settings.taken;
  perform(self, self->state.core.on(message));
}

}  // namespace

MetricsActor::behavior_type metrics(Self self, MetricsSettings settings) {
  self->set_exception_handler(error_of);
  self->state.settings = std::move(settings);
  auto& state = self->state;
  state.core = MetricsCore(state.settings.core);
  state.core.begin(state.settings.live_after, {}, self->clock().now());
  state.goodput.emplace(state.settings.path);
  open_file(self);
  state.pulse = enter(state.settings.board, "metrics");
  self->send(state.settings.router,
             Attach{Role::kMetrics, {}, {}, caf::actor_cast<caf::actor>(self), state.pulse, state.settings.taken});
  return {
      [](const Inject& order) { suffer(order); },
      [self](const ReplicaReport& report) { take(self, report); },
      [self](const EvaluationResult& result) { take(self, result); },
      [self](const RunEvent& event) { take(self, event); },
      [self](const JournalSoFar& past) { self->state.core.begin_at(*past.view); },
      [self](const JournalEntry& entry) { perform(self, self->state.core.on(entry, self->clock().now())); },
  };
}

}  // namespace shoal
