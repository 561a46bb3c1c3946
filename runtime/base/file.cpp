// POSIX calls, because a stream can say neither why it failed nor that the bytes are on the disk.
#include "runtime/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

Failure refused(const std::string& what, const std::string& path) {
  return fail(Error::kIo, compose("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

// A descriptor that closes itself.
struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

constexpr const char* kUnfinished = ".new.";

// Unique to this call, so that processes and threads that replace the same path do not take each other's text.
std::string scratch_name(const std::string& path) {
  static std::atomic<std::uint64_t> calls{0};
  return compose(path, kUnfinished, ::getpid(), ".", calls.fetch_add(1));
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number < 0) return refused("open", path);
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.number, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refused("read", path);
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

ReadAt part_of(ReadAt read_at, std::uint64_t begin, std::uint64_t end) {
  return [read_at = std::move(read_at), begin, end](std::uint64_t at, std::span<char> into) -> Result<std::size_t> {
    const std::uint64_t left = end - std::min(end, begin + at);
    return left == 0 ? 0 : read_at(begin + at, into.first(std::min<std::uint64_t>(into.size(), left)));
  };
}

Result<InputFile> open_input(const std::string& path) {
  const auto file = std::make_shared<const Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file->number < 0) return refused("open", path);
  const off_t size = ::lseek(file->number, 0, SEEK_END);
  if (size < 0) return refused("read", path);
  const auto read_at = [file, path](std::uint64_t at, std::span<char> into) -> Result<std::size_t> {
    std::size_t done = 0;
    while (done < into.size()) {
      const auto place = static_cast<off_t>(at + done);
      const ssize_t count = ::pread(file->number, into.data() + done, into.size() - done, place);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return refused("read", path);
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  };
  return InputFile{static_cast<std::uint64_t>(size), read_at};
}

// A file under a name of its own, which is removed with this unless it has taken the other name.
struct FileReplacement::Scratch {
  std::string path;  // to be replaced
  std::string name = scratch_name(path);
  std::optional<Descriptor> file{};
  std::uint64_t byte_count = 0;

  explicit Scratch(std::string replaced) : path(std::move(replaced)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (file) ::unlink(name.c_str());
  }
};

FileReplacement::FileReplacement(std::unique_ptr<Scratch> scratch) : scratch_(std::move(scratch)) {}
FileReplacement::~FileReplacement() = default;
FileReplacement::FileReplacement(FileReplacement&&) noexcept = default;
FileReplacement& FileReplacement::operator=(FileReplacement&&) noexcept = default;

Result<FileReplacement> FileReplacement::begin(const std::string& path, FileAccess access) {
  auto scratch = std::make_unique<Scratch>(path);
  const char* name = scratch->name.c_str();
  ::unlink(name);
  const mode_t mode = access == FileAccess::kOwnerOnly ? 0600 : 0644;
  const int opened = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (opened < 0) return refused("create", scratch->name);
  scratch->file.emplace(opened);
  return FileReplacement(std::move(scratch));
}

std::uint64_t FileReplacement::byte_count() const { return scratch_->byte_count; }

Status FileReplacement::append(std::string_view text) {
  ENSURE(scratch_->file.has_value(), "nothing is appended after finish()");
  if (!write_all(scratch_->file->number, text)) return refused("write", scratch_->path);
  scratch_->byte_count += text.size();
  return Done{};
}

Status FileReplacement::append_durably(std::string_view text, const Written& told) {
  for (std::size_t at = 0; at < text.size(); at += kPieceWritten) {
    if (auto appended = append(text.substr(at, kPieceWritten)); !appended) return appended;
    if (::fdatasync(scratch_->file->number) != 0) return refused("write", scratch_->path);
    told(scratch_->byte_count);
  }
  return Done{};
}

Status FileReplacement::finish() {
  ENSURE(scratch_->file.has_value(), "a file is finished once");
  const std::string& path = scratch_->path;
  if (::fsync(scratch_->file->number) != 0) return refused("write", path);
  if (std::rename(scratch_->name.c_str(), path.c_str()) != 0) return refused("replace", path);
  scratch_->file.reset();
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return sync_folder(parent.empty() ? "." : parent.string());
}

Status replace_file(const std::string& path, std::string_view text, FileAccess access) {
  auto file = FileReplacement::begin(path, access);
  if (!file) return file.failure();
  if (auto written = file->append(text); !written) return written;
  return file->finish();
}

bool is_unfinished(const std::string& path, const std::string& beside) {
  const std::string begin = path + kUnfinished;
  if (!beside.starts_with(begin)) return false;
  const std::string_view numbers = std::string_view(beside).substr(begin.size());
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t point = numbers.find('.');
  return point != std::string_view::npos && is_number(numbers.substr(0, point)) && is_number(numbers.substr(point + 1));
}

void remove_unfinished(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> left;
  for (fs::directory_iterator entry(fs::path(path).parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_unfinished(path, entry->path().string())) left.push_back(entry->path());
  }
  for (const fs::path& file : left) fs::remove(file, error);
}

Status sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number < 0 || ::fsync(folder.number) != 0) return refused("sync the folder", path);
  return Done{};
}

}  // namespace shoal
