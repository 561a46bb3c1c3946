// Space that files of a run leave on its disk, so that they stop in this order: traces and the logs of other machines
// first, then metrics.jsonl and checkpoints. The journal has the last of it: without an entry no step is committed.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

inline constexpr std::uint64_t kLeftForTheJournal = std::uint64_t{256} << 10U;  // bytes
// Bytes for the most entries that a journal has, its log, and lines of metrics.jsonl for days.
inline constexpr std::uint64_t kLeftByTraces = std::uint64_t{8} << 20U;

// Refuses so many bytes more in the file at `path`, whose folder exists, where fewer than `left` would be left on its
// disk. A disk that does not say what it has takes them. Errors: kIo.
[[nodiscard]] Status check_space(const std::string& path, std::uint64_t wanted, std::uint64_t left);

// Says whether two folders are on one disk; true where nobody can say.
[[nodiscard]] bool is_on_disk_of(const std::string& folder, const std::string& other);

}  // namespace shoal
