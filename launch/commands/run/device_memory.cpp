// The device is asked, so that what others use of it counts.
#include "launch/commands/run/device_memory.h"

#include <algorithm>

#include "launch/commands/plan/model_cut.h"
#include "runtime/base/compose.h"
#include "runtime/base/machine/available_memory.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/queue/device_fault.h"
#include "runtime/executor/device_name.h"
#include "runtime/plan/resources/device_fit.h"
#include "runtime/plan/resources/host_need.h"

namespace shoal {

namespace {

// A stage on a GPU as planning sees it.
struct Planned {
  std::uint32_t gpu = 0;
  DeviceNeed need;
  MemoryNeed of_replica;
  HostNeed on_host;
};

// Returns the run's configuration with as many stages as the executor is of.
Config config_of(const ExecutorConfig& wanted) {
  Config config = wanted.config;
  config.pipeline.stages = wanted.stages;
  return config;
}

// Nothing: its device is no GPU.
Result<std::optional<Planned>> plan_of(const ExecutorConfig& wanted) {
  const auto device = parse_device(wanted.device);
  if (!device) return device.failure();
  if (device->kind != DeviceKind::kCuda || device_plugin() == nullptr) return std::optional<Planned>();
  const Config config = config_of(wanted);
  const auto cut = cut_of(config);
  if (!cut) return cut.failure();
  const auto replicas = static_cast<std::size_t>(config.pipeline.replicas);
  const std::size_t stage = wanted.stage.value;
  const MemoryNeed of_replica = memory_need(config, *cut, stage, replicas);
  return std::optional(Planned{static_cast<std::uint32_t>(device->index), device_need(config, *cut, stage, replicas),
                               of_replica, host_need(config, of_replica, cut->size(), stage, replicas)});
}

}  // namespace

Status check_device_memory(const ExecutorConfig& wanted) {
  const auto planned = plan_of(wanted);
  if (!planned) return planned.failure();
  if (!*planned) return Done{};
  const auto memory = device_plugin()->memory(static_cast<int>((*planned)->gpu));
  if (!memory) return memory.failure();
  const auto lack = lack_on_device((*planned)->need, memory->free_bytes);
  if (!lack) return Done{};
  return fail(Error::kUsage, compose("device ", wanted.device, ": stage ", wanted.stage, " ", *lack));
}

std::string memory_warning(const ExecutorConfig& wanted) {
  const auto device = parse_device(wanted.device);
  const auto free_bytes = available_memory();
  if (!device || device->kind == DeviceKind::kCuda || !free_bytes) return {};
  const Config config = config_of(wanted);
  const auto cut = cut_of(config);
  return cut ? lack_in_memory(memory_need(config, *cut, wanted.stage.value, 1), *free_bytes) : std::string();
}

std::optional<std::uint64_t> free_device_memory(const std::string& device) {
  const auto name = parse_device(device);
  if (!name || name->kind != DeviceKind::kCuda || device_plugin() == nullptr) return std::nullopt;
  const auto memory = device_plugin()->memory(name->index);
  return memory ? std::optional(memory->free_bytes) : std::nullopt;
}

std::optional<std::string> planned_memory(const ExecutorConfig& wanted) {
  const auto planned = plan_of(wanted);
  if (!planned || !*planned) return std::nullopt;
  const auto available = available_memory();
  return compose(parts_of_need((*planned)->need, (*planned)->of_replica), "; beside it ",
                 parts_of_need((*planned)->on_host),
                 available ? compose("; ", size_text(*available), " are free") : "");
}

std::optional<std::string> used_memory(const ExecutorConfig& wanted) {
  const auto planned = plan_of(wanted);
  if (!planned || !*planned) return std::nullopt;
  const int gpu = static_cast<int>((*planned)->gpu);
  const auto memory = device_plugin()->memory(gpu);
  if (!memory) return std::nullopt;
  const DevicePeaks peaks = device_plugin()->peaks(gpu);
  const std::uint64_t used = memory->total_bytes - memory->free_bytes;
  return use_text({peaks.tensor_bytes, peaks.reserved_bytes, used - std::min(used, peaks.tensors_now)},
                  (*planned)->need);
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
