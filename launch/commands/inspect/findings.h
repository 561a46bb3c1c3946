// Holds what `shoal doctor` says of one thing that training needs, and finds what it says of GPUs and of features.
// A machine without an NVIDIA driver lacks nothing: it trains on its processor.
#pragma once

#include <string>
#include <vector>

#include "launch/commands/inspect/versions.h"
#include "runtime/base/machine/gpu_driver.h"

namespace shoal {

enum class Verdict { kGood, kDoubtful, kWrong, kUntried };

struct Finding {
  std::string what;
  Verdict verdict = Verdict::kGood;
  std::string facts;
  std::string remedy;  // empty where the verdict is good
};

// Returns one of the GPUs and their driver, one of the part for GPUs of this build (cuda), one of nccl, one of bf16.
// built: as worker_features() gives them. uses: as feature_uses() makes them of the same features and GPUs.
[[nodiscard]] std::vector<Finding> device_findings(const std::vector<Feature>& built, const DriverAnswers& driver,
                                                   const std::vector<FeatureUse>& uses);

}  // namespace shoal
