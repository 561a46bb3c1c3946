// The folder of a node's keeper: what admits its workers, and what they have not yet sent to the run directory.
//
// Under the folder for temporary files, owner-only (0700), gone with the keeper. It is locked (flock) while the keeper
// lives: cleaners of that folder that honour locks, as systemd-tmpfiles does, leave it alone however long a run takes;
// and what a killed keeper has left behind, keys among it, is known by having no lock and removed by the next one.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

class KeptFolder {
 public:
  KeptFolder() = default;
  ~KeptFolder();
  KeptFolder(const KeptFolder&) = delete;
  KeptFolder& operator=(const KeptFolder&) = delete;

  // In `parent`. Errors: kIo.
  [[nodiscard]] Status make(const std::filesystem::path& parent);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;
};

// Removes those of this user in `parent` that nobody has locked, unless they are too young to tell; how many.
int remove_left_folders(const std::filesystem::path& parent);

}  // namespace shoal
