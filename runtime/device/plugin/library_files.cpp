// Goes from the library to those that it needs, and from these on; each file once, by whatever path it is found.
#include "runtime/device/plugin/library_files.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "runtime/device/plugin/shared_object.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

using Folders = std::vector<std::string>;

struct Found {
  std::string path;
  Folders of_needers;  // RPATHs of those that need it, which count for what it needs, too
};

// The machine that a library's code is for: class and machine of elf(5), as bytes. Nothing: the file begins otherwise.
using Kind = std::optional<std::string>;

[[nodiscard]] Kind kind_of(const std::string& path) {
  const auto file = open_input(path);
  if (!file) return std::nullopt;
  std::string begin(offsetof(Elf64_Ehdr, e_version), '\0');  // what is read of it lies there in either class
  const auto got = file->read_at(0, begin);
  if (!got || *got != begin.size() || !begin.starts_with(ELFMAG)) return std::nullopt;
  return begin[EI_CLASS] + begin.substr(offsetof(Elf64_Ehdr, e_machine));
}

void append(Folders& folders, const Folders& more) { folders.insert(folders.end(), more.begin(), more.end()); }

[[nodiscard]] Folders from_origin(const Folders& folders, const std::string& library) {
  Folders whole;
  for (const std::string& folder : folders) whole.push_back(folder_from(folder, fs::path(library).parent_path()));
  return whole;
}

// A name with a slash is a path. The loader goes past a library for another machine. Nothing: it is the system's, or it
// is not there.
[[nodiscard]] std::optional<std::string> file_of(const std::string& name, const Folders& folders, const Kind& wanted) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / name;
    std::error_code unreadable;
    if (!fs::is_regular_file(path, unreadable)) continue;
    const Kind kind = kind_of(path.string());
    if (!kind || kind == wanted) return path.string();
  }
  return std::nullopt;
}

// Returns the file itself, of all paths that lead to it.
[[nodiscard]] std::string file_behind(const std::string& path) {
  std::error_code unknown;
  const fs::path file = fs::canonical(path, unknown);
  return unknown ? path : file.string();
}

// Folders in the loader's order.
[[nodiscard]] Folders folders_for(const SharedObject& object, const Found& found, const Folders& of_environment) {
  Folders folders;
  if (object.runpath.empty()) {
    append(folders, from_origin(object.rpath, found.path));
    append(folders, found.of_needers);
  }
  append(folders, of_environment);
  append(folders, from_origin(object.runpath, found.path));
  return folders;
}

[[nodiscard]] Folders split(const std::string& list) {
  Folders folders;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find_first_of(":;", begin), list.size());
    if (end > begin) folders.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

}  // namespace

std::optional<DamagedFile> find_damaged_file(const std::string& library, const std::string& library_path) {
  const Folders of_environment = split(library_path);
  const Kind kind = kind_of(library);
  std::set<std::string> seen = {file_behind(library)};
  std::deque<Found> waiting = {{library, {}}};
  while (!waiting.empty()) {
    const Found found = std::move(waiting.front());
    waiting.pop_front();
    const auto file = open_input(found.path);
    if (!file) continue;
    const auto object = read_shared_object(*file);
    if (!object && object.failure().error == Error::kInvalidData)
      return DamagedFile{found.path, object.failure().message};
    if (!object) continue;
    Folders of_needers;
    if (object->runpath.empty()) of_needers = from_origin(object->rpath, found.path);
    append(of_needers, found.of_needers);
    const Folders folders = folders_for(*object, found, of_environment);
    for (const std::string& name : object->needed) {
      auto path = file_of(name, folders, kind);
      if (path && seen.insert(file_behind(*path)).second) waiting.push_back({std::move(*path), of_needers});
    }
  }
  return std::nullopt;
}

}  // namespace shoal
