// Table 4 of "Streaming DiLoCo with overlapping communication" (arXiv 2501.18512), its eager rows from "Eager Updates
// for Overlapped Communication and Computation in DiLoCo" (arXiv 2502.12996): Gbit/s between two datacentres that
// bring the compute utilisation to a given share. Its models, its figures, and what is assumed to come to them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/methods.h"

namespace shoal {

inline constexpr std::array kUtilisations = {0.50, 0.80, 0.90, 0.95, 0.99};

struct PublishedModel {
  std::string_view name;
  double values = 0;
  double step_s = 0;
  std::size_t layers = 0;
  std::size_t fragments = 0;  // fragments of three layers
};

inline constexpr std::array kPublishedModels = {PublishedModel{"1B", 1e9, 0.1, 24, 8},
                                                PublishedModel{"10B", 1e10, 0.8, 48, 16},
                                                PublishedModel{"100B", 1e11, 4.9, 108, 36}};

// The share of a model's values that is sent. The papers do not say it; it presumably leaves out the embeddings. From
// 0.835 to 0.851 at least 70 of the 75 cells come out as printed.
inline constexpr double kPayloadShare = 0.84;

// Gbit/s as printed, at each of kUtilisations.
[[nodiscard]] std::array<double, kUtilisations.size()> published_gbit_s(Method method, const PublishedModel& model);

// Two datacentres, a plain exchange, no latency; bandwidth is what the table asks for.
[[nodiscard]] Scenario published_scenario(Method method, const PublishedModel& model,
                                          double payload_share = kPayloadShare);
[[nodiscard]] Workload published_workload(const PublishedModel& model, double payload_share = kPayloadShare);
[[nodiscard]] MethodSettings published_settings(const PublishedModel& model);

// One sentence each.
[[nodiscard]] std::vector<std::string> published_assumptions();

}  // namespace shoal
