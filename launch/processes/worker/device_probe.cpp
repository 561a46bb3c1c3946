// Asks the device, or the processor's machine.
#include "launch/processes/worker/device_probe.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <optional>
#include <thread>

#include "model/partition.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/available_memory.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/speed_probe.h"
#include "runtime/executor/device_name.h"
#include "runtime/trace/machine.h"

namespace shoal {
namespace {

// Nothing: it is no GPU that this process may use.
[[nodiscard]] std::optional<int> gpu_of(const std::string& device) {
  const auto name = parse_device(device);
  const bool is_gpu = name && name->kind == DeviceKind::kCuda && device_plugin() != nullptr;
  return is_gpu ? std::optional(name->index) : std::nullopt;
}

[[nodiscard]] std::uint64_t number_of_gpu(int gpu) {
  const auto identity = device_plugin()->identity(gpu);
  return identity ? std::max<std::uint64_t>(1, std::hash<std::string>()(*identity)) : 0;
}

[[nodiscard]] double multiply_adds_of(const ExecutorConfig& wanted) {
  const ModelConfig& model = wanted.config.model;
  const bool is_whole_pipeline = wanted.stages == wanted.config.pipeline.stages;
  const auto plans = is_whole_pipeline ? partition(wanted.config) : partition(model, wanted.stages);
  if (!plans || wanted.stage.value >= plans->size()) return 0;  // the executor says why
  return training_multiply_adds(layers_of(model, plans->at(wanted.stage.value)));
}

}  // namespace

std::uint64_t DeviceProbe::multiply_adds_s(Precision precision) {
  const auto found = measured_.find(precision);
  return found != measured_.end() ? found->second : measured_[precision] = measure(precision);
}

std::uint64_t DeviceProbe::measure(Precision precision) const {
  if (pace_ms_of(device_)) return 0;
  const auto gpu = gpu_of(device_);
  if (!gpu) return measure_multiply_adds_s(precision);
  const bool can = precision == Precision::kFp32 || device_plugin()->check_bf16(*gpu).ok();
  try {
    return can ? measure_multiply_adds_s(device_, precision) : 0;
  } catch (const std::exception& error) {  // the card may be full: that is the stage's to say
    log_warn("device", "the speed of ", device_, " was not measured: ", error.what());
    return 0;
  }
}

StageOnDevice stage_on_device(const ExecutorConfig& wanted, DeviceProbe& probe) {
  StageOnDevice stage;
  stage.peak.multiply_adds_s = probe.multiply_adds_s(wanted.config.model.precision);
  stage.multiply_adds = multiply_adds_of(wanted);
  if (const auto gpu = gpu_of(wanted.device)) {
    stage.threads = stage.peak.cores = 1;
    stage.peak.device = number_of_gpu(*gpu);
    return stage;
  }
  const unsigned allowed = std::max(1U, std::thread::hardware_concurrency());  // the process's affinity
  stage.threads = std::min(static_cast<std::uint32_t>(wanted.config.run.threads), allowed);
  stage.peak.cores = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));  // the machine's
  stage.peak.device = machine_number();
  return stage;
}

DeviceMeter::AskMemory memory_of(const std::string& device) {
  return [gpu = gpu_of(device)] {
    DeviceUse use;
    if (gpu) {
      const DevicePeaks peaks = device_plugin()->peaks(*gpu);
      use.memory_bytes = peaks.tensors_now;
      use.memory_peak_bytes = peaks.tensor_bytes;
    } else if (const auto memory = process_memory()) {
      use.memory_bytes = memory->resident;
      use.memory_peak_bytes = memory->peak;
    }
    return use;
  };
}

}  // namespace shoal
