// Folders and programs; nothing here knows what is fetched.
#include "runtime/data/fetch.h"

#include <cstdlib>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/data/command.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<fs::path> corpora_folder() {
  if (const std::string own = environment_value("SHOAL_DATA"); !own.empty()) return fs::path(own);
  if (const std::string cache = environment_value("XDG_CACHE_HOME"); !cache.empty()) {
    return fs::path(cache) / "shoal/corpora";
  }
  if (const std::string home = environment_value("HOME"); !home.empty()) return fs::path(home) / ".cache/shoal/corpora";
  return fail(Error::kUsage, "there is no folder for texts: set SHOAL_DATA, or HOME.");
}

Result<fs::path> local_copy(const std::string& file) {
  const fs::path folder = environment_value("SHOAL_CORPORA");
  std::error_code error;
  const bool is_there = !folder.empty() && fs::exists(folder / file, error);
  if (error) return fail(Error::kInvalidData, compose("SHOAL_CORPORA=", folder.string(), ": ", error.message()));
  return is_there ? folder / file : fs::path();
}

Result<ScratchFolder> make_fetch_folder(const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  auto made = error ? Result<ScratchFolder>(
                          fail(Error::kIo, compose("cannot make a folder in ", parent.string(), ": ", error.message())))
                    : ScratchFolder::make(parent, "fetch.");
  if (made) return made;
  return fail(Error::kIo, made.failure().message + ". Set SHOAL_DATA to a folder that can be written.");
}

std::string last_line(const fs::path& log) {
  const auto text = read_file(log.string());
  if (!text) return "it said nothing";
  const std::size_t end = text->find_last_not_of(" \n");
  if (end == std::string::npos) return "it said nothing";
  const std::size_t newline = text->rfind('\n', end);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  return text->substr(begin, end + 1 - begin);
}

Status run_logged(std::vector<std::string> arguments, const fs::path& folder, Error error) {
  const std::string what = compose(arguments[0], " ", arguments.size() > 1 ? arguments[1] : "");
  const fs::path log = folder / "log";
  const auto status = run_command(
      Command{.arguments = std::move(arguments), .folder = folder, .output = log, .errors = log, .environment = {}});
  if (!status) return fail(error, status.failure().message);
  if (*status != 0) return fail(error, compose("`", what, "` ended with ", *status, ": ", last_line(log)));
  return Done{};
}

Status take_its_place(const fs::path& finished, const fs::path& place) {
  std::error_code error;
  fs::rename(finished, place, error);
  if (error) return fail(Error::kIo, compose("cannot write ", place.string(), ": ", error.message()));
  return Done{};
}

}  // namespace shoal
