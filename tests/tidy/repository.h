// Reads the repository from disk for the tidy rules: what a build would see, committed or not, so that a finding comes
// before the commit and not after it. The rules themselves never touch the disk.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tidy/source_text.h"

namespace shoal::tidy {

[[nodiscard]] std::string read_text(const std::filesystem::path& path);

// Every file of the house's folders, as paths from `root` with '/', sorted. Build and run folders are outside of them.
[[nodiscard]] std::vector<std::string> house_files(const std::filesystem::path& root);

// The sources among them, read.
[[nodiscard]] std::vector<SourceFile> house_sources(const std::filesystem::path& root);

// The folder of a path ("" for none), and its last part.
[[nodiscard]] std::string folder_of(const std::string& path);
[[nodiscard]] std::string name_of(const std::string& path);

}  // namespace shoal::tidy
