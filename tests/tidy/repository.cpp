// The only file of the tidy test that touches the disk. A file that cannot be read is a bug of the build, so it throws.
// Names come sorted, so that findings come in the same order everywhere.
#include "tests/tidy/repository.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace shoal::tidy {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> house_files(const std::filesystem::path& root) {
  std::vector<std::string> paths;
  for (const char* folder : {"messages", "model", "runtime", "actors", "launch", "tests", "cmake"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

std::vector<SourceFile> house_sources(const std::filesystem::path& root) {
  std::vector<SourceFile> sources;
  for (const std::string& path : house_files(root)) {
    if (is_source_name(path)) sources.push_back(make_source(path, read_text(root / path)));
  }
  return sources;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace shoal::tidy
