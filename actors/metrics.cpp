// Shell of MetricsCore: one line of JSON per output, flushed, and a call of the shower.
#include "actors/metrics.h"

#include "actors/hear.h"
#include "actors/injected.h"
#include "runtime/base/log.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = MetricsActor::stateful_pointer<MetricsState>;

// Logs lines that nobody comes to write after this actor's end.
void note_unwritten(const MetricsOutbox& outbox) {
  if (outbox.unwritten() > 0) log_error("metrics", counted(outbox.unwritten(), "line"), " not in ", outbox.path());
}

void give_out(MetricsState& state, const MetricsOutput& output, const BothClocks& now) {
  if (const auto news = state.outbox->write(output, now)) log_error("metrics", *news);
  if (state.settings.show) state.settings.show(output);
}

// A summary goes before the line that ends the run.
void perform(Self self, std::vector<MetricsOutput> outputs) {
  constexpr std::size_t kReadOn = 256 << 10;  // about 350 lines in two milliseconds
  auto& state = self->state;
  state.pulse->waiting(self->mailbox().size());
  *state.settings.work_end = state.core.work_end();
  const BothClocks now = BothClocks::now();
  for (auto& output : outputs) {
    if (const auto steps = steps_at_end(output)) {
      const RunSummary& summary = state.summary->read_all();
      auto* last = std::get_if<FinalRecord>(&output);
      if (last != nullptr) last->goodput = summary.goodput().of(*steps);
      const WallTime until = state.outbox->by_clock_of_last_line(now);
      give_out(state, summary.of(*steps, until, last != nullptr ? last->lost_tokens : 0), now);
    }
    give_out(state, output, now);
    if (std::holds_alternative<FinalRecord>(output)) note_unwritten(*state.outbox);
    state.summary->read_on(kReadOn);
  }
}

void open_file(Self self) {
  auto& state = self->state;
  const auto written = state.outbox.emplace(state.settings.path).open();
  if (!written) return log_error("metrics", written.failure().message);
  state.core.begin(state.settings.live_after, *written, self->clock().now(), *state.settings.work_end);
}

// Counted before it is written: what ends this actor will not end the next one.
template <class Message, class... Time>
void take(Self self, const Message& message, Time... now) {
  ++*self->state.settings.taken;
  perform(self, self->state.core.on(message, now...));
}

}  // namespace

MetricsActor::behavior_type metrics(Self self, MetricsSettings settings) {
  self->set_exception_handler(error_of);
  self->state.settings = std::move(settings);
  auto& state = self->state;
  state.core = MetricsCore(state.settings.core);
  state.core.begin(state.settings.live_after, {}, self->clock().now(), *state.settings.work_end);
  state.summary.emplace(state.settings.path);
  open_file(self);
  state.pulse = enter(state.settings.board, "metrics");
  self->send(state.settings.router,
             Attach{Role::kMetrics, {}, {}, caf::actor_cast<caf::actor>(self), state.pulse, state.settings.taken});
  return {
      [](const Inject& order) { suffer(order); },
      hear<Hearer::kMetrics>(BodyHandlers{
          [self](const ReplicaReport& report) { take(self, report); },
          [self](const EvaluationResult& result) { take(self, result, self->clock().now()); },
          [self](const RunEvent& event) { take(self, event, self->clock().now()); },
      }),
      [self](const JournalSoFar& past) { self->state.core.begin_at(*past.view); },
      [self](const JournalEntry& entry) { perform(self, self->state.core.on(entry, self->clock().now())); },
  };
}

}  // namespace shoal
