// Devices as a person names them, turned into those that workers are started for.
// The driver is asked once, where a GPU is named, before anything is started: a device that is absent ends the command.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launch/say.h"
#include "runtime/base/error.h"
#include "runtime/base/machine/gpu_driver.h"

namespace shoal {

// Syntax alone. Errors: kUsage.
[[nodiscard]] Status check_device_words(const std::vector<std::string>& words);

// In place of `cuda` every GPU that can be used; each that cannot is left out, with a warning. Errors: kUsage, naming
// the device and what the driver says.
[[nodiscard]] Result<std::vector<std::string>> settle_devices(
    const std::vector<std::string>& words, const std::function<DriverAnswers()>& ask,
    const std::function<void(const std::string&)>& warn = say_warning);

// For a command that computes on one device: `cuda` is the GPU of a machine that has one. Errors: as settle_devices(),
// and kUsage where there are several.
[[nodiscard]] Result<std::string> settle_one_device(const std::string& word, const std::function<DriverAnswers()>& ask);

// Says which devices no node gets, where there are fewer nodes than devices: each node has one. Empty: none.
[[nodiscard]] std::string idle_devices_warning(const std::vector<std::string>& devices, std::uint64_t nodes);

// sync.backend = "nccl" with no GPU among the devices (none named: the processor), and no library that sums on
// processors. Errors: kUsage, with what is lacking.
[[nodiscard]] Status check_collective_devices(const std::vector<std::string>& devices,
                                              const std::function<bool()>& sums_on_processors);

}  // namespace shoal
