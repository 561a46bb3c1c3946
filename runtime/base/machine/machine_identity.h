// Says which machine's memory a process takes: one number for all processes that one bound of memory holds together,
// another one for all others.
//
// A machine is the kernel, by the number that it drew when it booted, and the control group that bounds whole_memory(),
// if one does, by the inode number of its folder: that is the same within a container and outside, whatever path each
// of them reads. Linux only. What cannot be told:
//   a group in a group, each with a limit below the machine's: two bounds, though the outer one holds both
//   containers that were given a boot number of their own (LXC): a machine each
//   virtual machines that were resumed from one snapshot: one machine, until each of them has booted
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/machine/available_memory.h"

namespace shoal {

// boot_id: the kernel's, 32 hexadecimal digits with hyphens. group: the inode number of the folder of the group that
// bounds memory; none: no group does. 0: nobody knows which machine it is, for that is no boot number.
[[nodiscard]] std::uint64_t machine_identity_of(std::string_view boot_id, std::optional<std::uint64_t> group);

// Names the files that say it; tests have files of their own.
struct MachineFiles {
  std::string boot_id = "/proc/sys/kernel/random/boot_id";
  MemoryFiles memory{};
};

// Reads it for this process. 0: nobody knows.
[[nodiscard]] std::uint64_t machine_identity(const MachineFiles& files = {});

}  // namespace shoal
