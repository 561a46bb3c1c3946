// One open, one write, one close per piece: pieces are few and large.
#include "runtime/storage/remote_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::size_t kNameBytesMax = 80;
constexpr std::size_t kRefusalsMax = 1024;

bool is_good_name(const std::string& name) {
  const auto is_good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  const bool is_reserved = name == "spawner" || name == "storage";
  return !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' && !is_reserved &&
         std::all_of(name.begin(), name.end(), is_good);
}

Failure refused(const std::string& what, const std::string& path) {
  return fail(Error::kIo, compose("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

Result<std::uint64_t> RemoteFiles::keep(const FileChunk& chunk) {
  const bool is_bytes = !chunk.bytes.has_value() || chunk.bytes.dtype == DType::kUint8;
  if (!is_good_name(chunk.name) || !is_bytes) {
    return fail(Error::kRefused, compose("no file is kept under the name '", chunk.name.substr(0, kNameBytesMax), "'"));
  }
  const bool is_log = chunk.kind == FileKind::kLog;
  const auto folder = run_directory_ / (is_log ? "logs" : "trace");
  const std::string path = (folder / (chunk.name + (is_log ? ".log" : ".trace"))).string();
  std::error_code ignored;
  std::filesystem::create_directory(folder, ignored);  // a run directory that is away is not made again
  const Descriptor file(path);
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return refused("open", path);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::size_t count = chunk.bytes.has_value() ? chunk.bytes.byte_count() : 0;
  if (count == 0 || chunk.offset > size) return size;
  if (count > file_bytes_max_ || chunk.offset > file_bytes_max_ - count) {
    return fail(Error::kRefused, compose(path, " has its ", file_bytes_max_, " bytes; the rest is not kept"));
  }
  if (auto fits = check_space(path, count, left_); !fits) return fits.failure();
  const ssize_t written = ::pwrite(file.number(), chunk.bytes.bytes->data(), count, static_cast<off_t>(chunk.offset));
  if (written < 0) return refused("write", path);
  refusals_.erase({chunk.kind, chunk.name});
  return std::max(size, chunk.offset + static_cast<std::uint64_t>(written));
}

bool RemoteFiles::is_news(const FileChunk& chunk, const Failure& refusal) {
  if (refusals_.size() >= kRefusalsMax) refusals_.clear();
  return std::exchange(refusals_[{chunk.kind, chunk.name.substr(0, kNameBytesMax)}], refusal.message) !=
         refusal.message;
}

}  // namespace shoal
