// The published figures, and the sentences about them.
#include "runtime/plan/published_table.h"

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

using Cells = std::array<double, kUtilisations.size()>;

constexpr std::array<std::array<Cells, kPublishedModels.size()>, kMethods.size()> kPublished = {{
    {{{86.8, 152.6, 184.2, 222.3, 569.0}, {104.8, 222.3, 222.3, 268.3, 471.5}, {184.2, 323.8, 390.7, 390.7, 471.5}}},
    {{{1.4, 6.2, 13.3, 23.3, 86.8}, {1.7, 7.5, 16.0, 33.9, 104.8}, {3.0, 11.0, 23.3, 49.4, 184.2}}},
    {{{1.4, 5.2, 9.1, 16.0, 28.1}, {1.7, 5.2, 9.1, 13.3, 19.3}, {2.4, 6.2, 9.1, 11.0, 19.3}}},
    {{{1.4, 4.3, 6.2, 9.1, 11.0}, {1.7, 3.6, 5.2, 6.2, 7.5}, {1.7, 3.6, 4.3, 5.2, 5.2}}},
    {{{0.4, 0.9, 1.7, 2.0, 3.0}, {0.4, 0.9, 1.4, 1.4, 1.7}, {0.5, 0.9, 1.1, 1.1, 1.4}}},
    {{{0.1, 0.2, 0.2, 0.2, 0.2}, {0.1, 0.2, 0.2, 0.3, 0.3}, {0.2, 0.3, 0.3, 0.3, 0.4}}},
}};

}  // namespace

Cells published_gbit_s(Method method, const PublishedModel& model) {
  for (std::size_t i = 0; i < kPublishedModels.size(); ++i) {
    if (kPublishedModels[i].name == model.name) return kPublished[static_cast<std::size_t>(method)][i];
  }
  ENSURE(false, "a model of the table");
  return {};
}

Workload published_workload(const PublishedModel& model, double payload_share) {
  return {std::string(model.name), model.layers, model.step_s, 1.0 / 3,
          payload_share * model.values / static_cast<double>(model.layers)};
}

MethodSettings published_settings(const PublishedModel& model) {
  MethodSettings settings;
  settings.fragments = model.fragments;
  return settings;
}

Scenario published_scenario(Method method, const PublishedModel& model, double payload_share) {
  return {published_workload(model, payload_share), schedule_of(method, published_settings(model)), {}};
}

std::vector<std::string> published_assumptions() {
  return {
      "two datacentres, one worker in each; between them one serial channel each way, without latency",
      "a step takes 0.1, 0.8, 4.9 s (1B, 10B, 100B); a third of it is forward, equal for each of 24, 48, 108 layers",
      "a layer is sent when its backward ends, in that order, and needed by its own next forward; overlapped: by the "
      "forward one step later",
      "data parallel sends every layer each step, DiLoCo each 100th step; fragments of three layers (l mod P) follow "
      "each other at round(100 / P) steps, P = 8, 16, 36: every 12, 6, 3 steps",
      "16 bits per value, 4 with fp4; the share of the values that is sent, 0.84, is fitted (it presumably leaves out "
      "the "
      "embeddings); 0.835 to 0.851 give 70 cells or more",
      "bandwidths are 10^(-1 + 4k/49) Gbit/s, k = 0..49; a cell is the least that reaches the utilisation, rounded to "
      "two decimals and then printed with one",
      "utilisation is computing time by all time in the steady state, when each period leaves as much unsent as the "
      "one before",
  };
}

}  // namespace shoal
