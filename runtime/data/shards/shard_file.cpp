// Reads shards with pread, so that neither memory nor faults grow with their size.
#include "runtime/data/shards/shard_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/sha256.h"

namespace shoal {
namespace {

struct Kind {
  std::uint32_t kind;
  std::uint32_t version;
  std::uint32_t width;
};
constexpr std::array<Kind, 2> kKinds{Kind{20240520, 1, 2}, Kind{20240801, 7, 4}};

constexpr std::uint64_t kSampledBlocks = 9;
constexpr std::uint64_t kBlockBytes = 4096;

Failure unusable_shard(const std::filesystem::path& path, const std::string& why) {
  return fail(Error::kInvalidData, compose("the shard ", path.string(), " cannot be used: ", why, "."));
}

std::uint32_t little_endian(const unsigned char* bytes, std::uint32_t width) {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < width; ++i) value |= static_cast<std::uint32_t>(bytes[i]) << (8 * i);
  return value;
}

}  // namespace

bool ShardFile::Stamp::operator==(const Stamp& other) const {
  return device == other.device && inode == other.inode && size == other.size &&
         changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
}

class ShardFile::Open {
 public:
  // Does not wait for the other end of a pipe that bears the name by mistake.
  explicit Open(const std::filesystem::path& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Open() {
    if (file_ >= 0) ::close(file_);
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  [[nodiscard]] Result<Stamp> stamp() const {
    struct stat facts {};
    if (file_ < 0 || ::fstat(file_, &facts) != 0) return unusable_shard(path_, std::strerror(errno));
    if (!S_ISREG(facts.st_mode)) return unusable_shard(path_, "it is not a regular file");
    return Stamp{facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim};
  }

  // Fills `out` from this position, or says that the file ends before.
  [[nodiscard]] Status fill(std::uint64_t position, std::span<unsigned char> out) const {
    while (!out.empty()) {
      const ssize_t got = ::pread(file_, out.data(), out.size(), static_cast<off_t>(position));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return fail(Error::kIo, compose("the shard ", path_.string(), " cannot be read: ", std::strerror(errno), "."));
      }
      if (got == 0) return unusable_shard(path_, compose("it ends at byte ", position, ": it was cut"));
      position += static_cast<std::uint64_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
    return Done{};
  }

 private:
  const std::filesystem::path& path_;
  int file_;
};

Result<ShardFile> ShardFile::open(const std::filesystem::path& path) {
  const Open file(path);
  const auto stamp = file.stamp();
  if (!stamp) return stamp.failure();
  ShardFile shard(path);
  shard.stamp_ = *stamp;
  if (const Status right = shard.read_header(file); !right) return right.failure();
  const auto fingerprint = shard.fingerprint_of(file);
  if (!fingerprint) return fingerprint.failure();
  shard.fingerprint_ = *fingerprint;
  return shard;
}

Status ShardFile::read_header(const Open& file) {
  const auto size = static_cast<std::uint64_t>(stamp_.size);
  if (size < kShardHeader)
    return unusable_shard(path_, compose("it has ", size, " bytes, fewer than a header of 1024"));
  std::array<unsigned char, 12> header{};
  if (const Status filled = file.fill(0, header); !filled) return filled;
  const std::uint32_t kind = little_endian(header.data(), 4);
  const std::uint32_t version = little_endian(header.data() + 4, 4);
  const auto* const known = std::ranges::find(kKinds, kind, &Kind::kind);
  if (known == kKinds.end()) {
    return unusable_shard(path_, compose("its first number is ", kind,
                                         " instead of 20240520 (tokens of two bytes) or "
                                         "20240801 (of four): a .bin file is a shard in llm.c's format"));
  }
  if (version != known->version) {
    return unusable_shard(path_, compose("its version is ", version, ", and ", known->version, " is what is known"));
  }
  width_ = known->width;
  count_ = little_endian(header.data() + 8, 4);
  const std::uint64_t expected = kShardHeader + count_ * width_;
  if (size != expected) {
    return unusable_shard(path_, compose("its header tells ", count_, " tokens, ", expected, " bytes, and it has ",
                                         size, size < expected ? ": it was cut" : ""));
  }
  if (count_ == 0) return unusable_shard(path_, "it has no tokens");
  return Done{};
}

Result<std::string> ShardFile::fingerprint_of(const Open& file) const {
  const std::uint64_t size = kShardHeader + count_ * width_;
  const std::uint64_t block = std::min(kBlockBytes, size);
  std::vector<unsigned char> bytes(block);
  Sha256 digest;
  for (std::uint64_t i = 0; i < kSampledBlocks; ++i) {
    if (const Status filled = file.fill((size - block) / (kSampledBlocks - 1) * i, bytes); !filled) {
      return filled.failure();
    }
    digest.update(bytes.data(), bytes.size());
  }
  if (const Status filled = file.fill(size - block, bytes); !filled) return filled.failure();
  digest.update(bytes.data(), bytes.size());
  return digest.hex();
}

Status ShardFile::read(std::uint64_t first, std::span<std::int32_t> out) const {
  ENSURE(first <= count_ && out.size() <= count_ - first, "tokens are read within the shard");
  const Open file(path_);
  const auto stamp = file.stamp();
  if (!stamp) return stamp.failure();
  if (*stamp != stamp_) {  // replaced, which is no fault where it is a copy of the same
    if (stamp->size != stamp_.size) {
      return unusable_shard(path_,
                            compose("it had ", stamp_.size, " bytes at the start and has ", stamp->size, " now"));
    }
    const auto fingerprint = fingerprint_of(file);
    if (!fingerprint) return fingerprint.failure();
    if (*fingerprint != fingerprint_) return unusable_shard(path_, "it holds other tokens than at the start");
  }
  std::vector<unsigned char> bytes(out.size() * width_);
  if (const Status filled = file.fill(kShardHeader + first * width_, bytes); !filled) return filled;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::int32_t>(little_endian(bytes.data() + i * width_, width_));
  }
  return Done{};
}

}  // namespace shoal
