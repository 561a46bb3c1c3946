// The ways of synchronising that are compared, as schedules; and what a scenario must be to be simulated.
//
//   data_parallel          every step, everything, waited for
//   diloco                 every H steps, everything, waited for
//   streaming              one fragment at a time within H steps, waited for
//   streaming_overlap      ... needed `overlap` steps later; _fp4: with 4 bits per value
//   eager_overlap_fp4      ... needed when its fragment contributes again: the longest overlap there is
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/plan/scenario.h"

namespace shoal {

enum class Method : std::uint8_t {
  kDataParallel,
  kDiloco,
  kStreaming,
  kStreamingOverlap,
  kStreamingOverlapFp4,
  kEagerOverlapFp4,
};

inline constexpr std::array kMethods = {Method::kDataParallel,        Method::kDiloco,
                                        Method::kStreaming,           Method::kStreamingOverlap,
                                        Method::kStreamingOverlapFp4, Method::kEagerOverlapFp4};

[[nodiscard]] std::string_view name_of(Method method);
[[nodiscard]] std::optional<Method> method_named(std::string_view name);

struct MethodSettings {
  std::uint64_t H = 100;
  std::size_t fragments = 1;        // for the streaming methods
  std::uint64_t overlap_steps = 1;  // for the overlapped methods
  double bits = 16;                 // per value
  double narrow_bits = 4;           // per value, for the fp4 methods
  FragmentPattern pattern = FragmentPattern::kStrided;
  SyncGrain grain = SyncGrain::kLayer;  // kLayer: fragments at intervals, as published; kStep: within rounds, as here
};

[[nodiscard]] SyncSchedule schedule_of(Method method, const MethodSettings& settings);

// Says why that cannot be simulated, as a sentence; nothing when it can.
[[nodiscard]] std::optional<std::string> problem_of(const Scenario& scenario);

}  // namespace shoal
