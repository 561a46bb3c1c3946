// A folder that is this process's own while it lives, owner-only (0700), and gone with it.
//
// It is locked (flock): cleaners that honour locks, as systemd-tmpfiles does, leave it alone however long it is used;
// and what a killed process has left behind, keys among it, is known by having no lock and removed by the maker of the
// next one. Its name is <prefix>scratch-XXXXXX, and <prefix>scratch-new-XXXXXX for the moment before it is locked: a
// person's own folder beside it has no such name.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

class ScratchFolder {
 public:
  // Makes one in `parent`, which must exist; removes what was left there first. Errors: kIo with the system's reason.
  [[nodiscard]] static Result<ScratchFolder> make(const std::filesystem::path& parent, const std::string& prefix);
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  ScratchFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::filesystem::path path_;
  int lock_ = -1;
};

// TMPDIR, or /tmp where that is empty or not set. Errors: kIo, it is no folder.
[[nodiscard]] Result<std::filesystem::path> temporary_folder();

// Removes the scratch folders of this user in `parent` that nobody has locked, unless they may be about to be; how
// many.
int remove_left_folders(const std::filesystem::path& parent, const std::string& prefix);

}  // namespace shoal
