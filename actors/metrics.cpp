// Shell of MetricsCore: one line of JSON per output, flushed, and a call of the shower.
#include "actors/metrics.h"

#include "runtime/base/log.h"

namespace shoal {
namespace {

using Self = MetricsActor::stateful_pointer<MetricsState>;

void perform(Self self, const std::vector<MetricsOutput>& outputs) {
  auto& state = self->state;
  for (const auto& output : outputs) {
    state.file << std::visit([](const auto& record) { return to_json_line(record); }, output) << '\n' << std::flush;
    if (!state.file) {
      state.file.clear();
      if (state.lines_lost++ == 0) log_error("metrics", "cannot write ", state.settings.path, "; training goes on");
    }
    if (state.settings.show) state.settings.show(output);
  }
}

}  // namespace

MetricsActor::behavior_type metrics(Self self, MetricsSettings settings) {
  self->state.settings = std::move(settings);
  auto& state = self->state;
  state.core = MetricsCore(state.settings.core);
  state.core.begin(state.settings.live_after, self->clock().now());
  state.file.open(state.settings.path, std::ios::app);
  self->send(state.settings.router, Attach{Role::kMetrics, {}, {}, caf::actor_cast<caf::actor>(self)});
  return {
      [self](const ReplicaReport& report) { perform(self, self->state.core.on(report)); },
      [self](const EvaluationResult& result) { perform(self, self->state.core.on(result)); },
      [self](const RunEvent& event) { perform(self, self->state.core.on(event)); },
      [self](const JournalEntry& entry) { perform(self, self->state.core.on(entry, self->clock().now())); },
  };
}

}  // namespace shoal
