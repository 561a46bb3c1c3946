// The JobRunner of a device that ends its jobs later: a thread waits for their marks, in order, and tells.
//
// What changes the state runs alone and waits (JobsUnderWay), so its end is answered at once. What a device fails with
// is the process's end when the device cannot be used any more (out of memory, an illegal address, a hang), and
// otherwise the job's outcome, as where a processor computes.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/executor/late_stage_executor.h"
#include "runtime/pipeline/job_runner.h"

namespace shoal {

inline constexpr Duration kDevicePatience = std::chrono::seconds(120);

struct LateSettings {
  // A reason, when what was thrown leaves the device of no use to this process.
  std::function<std::optional<std::string>(const std::exception_ptr&)> device_fault;
  // Ends the process, which does not come back to its device. Any thread calls it, and no job ends afterwards.
  std::function<void(const std::string& reason)> end_process;
  Duration patience = kDevicePatience;
  std::shared_ptr<const Clock> clock = std::make_shared<SteadyClock>();
};

// `device` lies within `executor`, which is it or stands in front of it. None: every call waits, and what the device
// fails with still ends the process.
[[nodiscard]] std::unique_ptr<JobRunner> run_later(std::unique_ptr<StageExecutor> executor, LateStageExecutor* device,
                                                   TellJobEnd tell, LateSettings settings);

// Puts the device's figures into a result that lacked them.
void complete(JobResult& result, const LateFigures& figures);

}  // namespace shoal
