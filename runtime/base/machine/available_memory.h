// Memory that programs of this machine may have, and what they may still take: all of it, and what the system calls
// available, within the limits of the control group that this process is in and of those around it, as Slurm, systemd
// and containers set them (version 2, or version 1 where that has the memory); and memory that this process has. Linux
// only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

// Where the figures stand; tests have files of their own.
struct MemoryFiles {
  std::string meminfo = "/proc/meminfo";
  std::string groups = "/sys/fs/cgroup";  // a folder for each, as deep as they lie in each other
  std::string own_group = "/proc/self/cgroup";
};

// Bytes, whoever has them now. Nothing: the system does not say.
[[nodiscard]] std::optional<std::uint64_t> whole_memory(const MemoryFiles& files = {});
// The folder of the group that bounds whole_memory(), the outermost of several with that limit. Nothing: none does.
[[nodiscard]] std::optional<std::string> bounding_group(const MemoryFiles& files = {});
// Bytes. Nothing: the system does not say.
[[nodiscard]] std::optional<std::uint64_t> available_memory(const MemoryFiles& files = {});

// Bytes that are resident of this process, code and libraries included: now, and at most since it began.
struct ProcessMemory {
  std::uint64_t resident = 0;
  std::uint64_t peak = 0;
};
// Nothing: the system does not say.
[[nodiscard]] std::optional<ProcessMemory> process_memory(const std::string& status = "/proc/self/status");

}  // namespace shoal
