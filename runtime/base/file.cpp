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

#include "runtime/base/compose.h"

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

// Unique to this call, so that processes and threads that replace the same path do not take each other's text.
std::string scratch_name(const std::string& path) {
  static std::atomic<std::uint64_t> calls{0};
  return compose(path, ".new.", ::getpid(), ".", calls.fetch_add(1));
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

// Fills the file; false: errno says why not.
using Fill = std::function<bool(int descriptor)>;

Status replace_with(const std::string& path, mode_t mode, const Fill& fill) {
  const std::string scratch = scratch_name(path);
  ::unlink(scratch.c_str());
  {
    const Descriptor file(::open(scratch.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.number < 0) return refused("create", scratch);
    if (!fill(file.number) || ::fsync(file.number) != 0) {
      const Failure failure = refused("write", path);
      ::unlink(scratch.c_str());
      return failure;
    }
  }
  if (std::rename(scratch.c_str(), path.c_str()) != 0) {
    const Failure failure = refused("replace", path);
    ::unlink(scratch.c_str());
    return failure;
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return sync_folder(parent.empty() ? "." : parent.string());
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

Status replace_file(const std::string& path, std::string_view text, FileAccess access) {
  const mode_t mode = access == FileAccess::kOwnerOnly ? 0600 : 0644;
  return replace_with(path, mode, [text](int descriptor) { return write_all(descriptor, text); });
}

Status replace_large_file(const std::string& path, std::string_view text, const Written& told) {
  return replace_with(path, 0644, [&](int descriptor) {
    for (std::size_t at = 0; at < text.size(); at += kPieceWritten) {
      const std::string_view piece = text.substr(at, kPieceWritten);
      if (!write_all(descriptor, piece) || ::fdatasync(descriptor) != 0) return false;
      told(at + piece.size());
    }
    return true;
  });
}

Status sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number < 0 || ::fsync(folder.number) != 0) return refused("sync the folder", path);
  return Done{};
}

}  // namespace shoal
