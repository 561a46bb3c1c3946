// Makes the executor of a device. Torch-free header: what runs a stage is chosen here and nowhere else.
//
//   cpu          LibTorch on this machine's processor
//   cuda:N       LibTorch on a GPU, which prepare_device() has made ready
//   paced:MS     cpu, but each microbatch takes at least MS milliseconds forward and 2 MS backward: a device of known
//                speed for tests and experiments
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "messages/ids.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/executor/late_stage_executor.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

struct ExecutorConfig {
  Config config;
  StageId stage;
  int stages = 1;  // those of the whole pipeline; may differ from config.pipeline.stages (--single: 1)
  std::string device = "cpu";
  // Asked of a device that can end its calls later (a LateStageExecutor); none may be in front of it.
  Answering answers = Answering::kAtOnce;
  BeginsWith begins = BeginsWith::kInitialWeights;
};

// Milliseconds of a paced device's forward; nothing: the device is not paced, or its name is none.
[[nodiscard]] std::optional<double> pace_ms_of(const std::string& device);

// Errors: kUsage for an unknown device, an impossible cut,
// or a precision that this processor has no units for.
[[nodiscard]] Result<std::unique_ptr<StageExecutor>> make_stage_executor(const ExecutorConfig& config);

}  // namespace shoal
