// Record of the run's processes: who has which number. The spawner that is started after this one gives each its number
// back by it, and to nobody else (P-30, S-7).
//
//   RUN/certs/processes, one JSON object per line: {"process": 12, "role": "node", "name": "node2"}
//
// Replaced as a whole. It may be a moment behind: whoever is not in it yet gets another number from the next spawner,
// and starts again. It names whoever is in and, until the first list after a return, whoever this spawner waits
// for. A run that a version before it began has none.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/cluster.h"
#include "runtime/base/error.h"

namespace shoal {

class NumberRecord {
 public:
  explicit NumberRecord(std::string path) : path_(std::move(path)) {}

  // Returns what an earlier spawner wrote, without addresses; none: there is no such file. Takes away what one that was
  // killed left half-written. Errors: kIo, kInvalidData.
  [[nodiscard]] static Result<std::optional<std::vector<Peer>>> read(const std::string& path);

  // Takes the newest list. True: it is not the one on the disk, and is to be written. Any thread; never waits for the
  // disk.
  [[nodiscard]] bool take(const std::vector<Peer>& peers);
  // Writes the list that was taken last, durably, unless it is there. One thread. Errors: kIo; it is taken for one that
  // is not on the disk.
  [[nodiscard]] Status write();

 private:
  std::string path_;
  std::mutex mutex_;  // guards what follows
  std::string newest_;
  std::optional<std::string> written_;
};

}  // namespace shoal
