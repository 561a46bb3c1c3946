// Lists what this program was built with, and what it finds: for `shoal version` and `shoal doctor`.
// LibTorch's version and the kernel fingerprint come from the worker, which is started and asked.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/machine/gpu_driver.h"

namespace shoal {

// "0.1.0".
[[nodiscard]] std::string program_version();

// Name and version of each library, as loaded where that can be asked, else as compiled against.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> library_versions();

// Returns what decides the bits of this machine's arithmetic, as shoal-worker states it (it holds LibTorch).
// Errors: kIo, kInternal when the worker is missing or cannot run here.
[[nodiscard]] Result<std::string> worker_fingerprint();

// Says how fast a thread of this machine computes, as a worker measures it: "38.0 GFLOP/s". Errors: as above.
[[nodiscard]] Result<std::string> worker_speed();

// Something that a build may lack.
struct Feature {
  std::string name;
  bool is_there = false;  // built in, and the worker can load it
  std::string why_not;
  bool is_damaged = false;  // its file is there, and is cut, or ends whoever opens it
};

// Says whether this machine can use a feature of the build, for shoal doctor.
struct FeatureUse {
  std::string name;
  bool is_usable = false;
  std::string why;  // with what it is used, or why it cannot be
};
// Each feature of features_of(), in that order. devices: as usable_devices() gives them. bf16_units: of the processor.
[[nodiscard]] std::vector<FeatureUse> feature_uses(const std::vector<Feature>& built,
                                                   const Result<std::vector<GpuFacts>>& devices,
                                                   const std::string& bf16_units);

// Reads the worker's lines: NAME yes, NAME no WHY or NAME damaged WHY. A feature without a line is not there.
[[nodiscard]] std::vector<Feature> features_of(const std::string& lines);

// Option of the worker's `features`: no line of cuda, and the part for GPUs is not opened.
inline constexpr const char* kWithoutGpuPart = "--without-gpu-part";

// Reads the answer of a worker. Where there is none, ask_rest asks another with kWithoutGpuPart: if that one answers,
// the part for GPUs, a file named gpu_part, is damaged, for it ends whoever opens it.
[[nodiscard]] std::vector<Feature> features_told(const Result<std::string>& answer, const std::string& gpu_part,
                                                 const std::function<Result<std::string>()>& ask_rest);
// Starts the worker and asks it.
[[nodiscard]] std::vector<Feature> worker_features();

}  // namespace shoal
