// Space that files of a run leave on its disk, so that they stop in this order: traces and the logs of other machines
// first, then metrics.jsonl and checkpoints. The journal has the last of it: without an entry no step is committed.
#pragma once

#include <algorithm>
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

// The same, and returns how many bytes may be taken in all: without a bound where the disk does not say.
[[nodiscard]] Result<std::uint64_t> usable_space(const std::string& path, std::uint64_t wanted, std::uint64_t left);

// Says when the disk is asked again about a file that is written in small parts: the question is a round trip where the
// disk is another machine's. Each answer grants a part of what is usable. What others write meanwhile takes so much of
// what is left for the journal at most. Pure.
class SpaceGrant {
 public:
  static constexpr std::uint64_t kMost = kLeftForTheJournal / 4;

  // Says whether so many bytes may be written without a question.
  [[nodiscard]] bool covers(std::uint64_t wanted) const { return wanted <= granted_; }
  // So many bytes are wanted, and the disk has room for so many.
  void answered(std::uint64_t wanted, std::uint64_t usable) {
    constexpr std::uint64_t kPart = 4;
    granted_ = wanted + std::min(kMost, (usable - wanted) / kPart);
  }
  // So many of them, which it covers, are written.
  void take(std::uint64_t bytes) { granted_ -= bytes; }
  // The disk has refused some.
  void refused() { granted_ = 0; }

 private:
  std::uint64_t granted_ = 0;
};

// Says whether two folders are on one disk; true where nobody can say.
[[nodiscard]] bool is_on_disk_of(const std::string& folder, const std::string& other);

}  // namespace shoal
