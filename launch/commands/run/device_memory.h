// Asks before a start whether a stage fits the memory of its device, and says of one that fails what it failed with.
// The machine's memory is not asked about again: a process that begins a stage anew still has that of the one before,
// and the spawner has placed the stage by what the node stated. The sentence names the device, what is needed, what is
// free, and what would fit (runtime/plan/resources/device_fit.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/device/executor_factory.h"

namespace shoal {

// Errors: kUsage.
[[nodiscard]] Status check_device_memory(const ExecutorConfig& wanted);

// Says that one process on the machine's processor lacks memory for the whole model; empty where it does not, or where
// its device is a GPU.
[[nodiscard]] std::string memory_warning(const ExecutorConfig& wanted);

// Bytes; none of what is no GPU, or does not answer.
[[nodiscard]] std::optional<std::uint64_t> free_device_memory(const std::string& device);

// Says what the stage needs by the plan, of its device and of the machine, part by part, and what of the latter is
// free; nothing where its device is no GPU.
[[nodiscard]] std::optional<std::string> planned_memory(const ExecutorConfig& wanted);
// Says what this process used at most, beside that plan. Nothing where its device is no GPU.
[[nodiscard]] std::optional<std::string> used_memory(const ExecutorConfig& wanted);

// Runs a command of one process on a device. What the device fails with is kInternal, in one sentence.
[[nodiscard]] Result<int> run_on_device(const std::string& device, const std::function<Result<int>()>& command);

}  // namespace shoal
