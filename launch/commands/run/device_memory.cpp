// The device is asked, so that what others use of it counts.
#include "launch/commands/run/device_memory.h"

#include "launch/commands/plan/model_cut.h"
#include "runtime/base/compose.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/queue/device_fault.h"
#include "runtime/executor/device_name.h"
#include "runtime/plan/resources/device_fit.h"

namespace shoal {

Status check_device_memory(const ExecutorConfig& wanted) {
  const auto device = parse_device(wanted.device);
  if (!device) return device.failure();
  if (device->kind != DeviceKind::kCuda || device_plugin() == nullptr) return Done{};
  const auto memory = device_plugin()->memory(device->index);
  if (!memory) return memory.failure();
  Config config = wanted.config;
  config.pipeline.stages = wanted.stages;
  const auto cut = cut_of(config);
  if (!cut) return cut.failure();
  const auto replicas = static_cast<std::size_t>(config.pipeline.replicas);
  const auto need = device_need(config, *cut, wanted.stage.value, replicas);
  const auto lack = lack_on_device(need, memory->free_bytes);
  if (!lack) return Done{};
  return fail(Error::kUsage, compose("device ", wanted.device, ": stage ", wanted.stage, " ", *lack));
}

std::optional<std::uint64_t> free_device_memory(const std::string& device) {
  const auto name = parse_device(device);
  if (!name || name->kind != DeviceKind::kCuda || device_plugin() == nullptr) return std::nullopt;
  const auto memory = device_plugin()->memory(name->index);
  return memory ? std::optional(memory->free_bytes) : std::nullopt;
}

Result<int> run_on_device(const std::string& device, const std::function<Result<int>()>& command) {
  try {
    return command();
  } catch (...) {
    const auto fault = device_fault_of(std::current_exception());
    if (!fault) throw;
    return fail(Error::kInternal, compose("device ", device, ": ", *fault));
  }
}

}  // namespace shoal
