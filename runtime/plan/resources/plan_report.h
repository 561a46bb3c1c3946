// A plan for people and for programs.
//
// JSON: {"stages":[{"layers":[..],"parameters":N,"replicas":N,"machines":[..],"bytes":{item:
// N,...,"total":N,"beside_gpu":N},
// "fits":true}],"tokens_per_s":X,"step_s":{...},"link_bytes_per_step":{"activation":N,"gradient":N,"reduce":N,
// "borders":[{"activation":N,"gradient":N}],"reduce_per_member":[..],"state_copy":[..]},"fits":true,"would_fit":[..],
// "would_fit_together":[..],"one_more":[{"kind","stage","tokens_per_s"}],"price_per_billion_tokens":X}; null where a
// speed or a price is unknown.
#pragma once

#include <string>

#include "runtime/plan/resources/run_plan.h"

namespace shoal {

[[nodiscard]] std::string text_of(const RunPlan& plan);
[[nodiscard]] std::string json_of(const RunPlan& plan);

}  // namespace shoal
