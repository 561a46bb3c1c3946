// Maps, finds and removes the file of a ring.
#include "runtime/trace/ring_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/base/file.h"
#include "runtime/base/machine/disk_space.h"
#include "runtime/trace/trace_file.h"

namespace shoal {
namespace {

constexpr std::size_t kRingHeaderBytes = 4096;

struct Header {
  char magic[4] = {'S', 'H', 'R', 'G'};
  std::uint32_t version = kTraceVersion;
  std::uint64_t slot_bytes = sizeof(RingSlot);
  std::uint64_t slot_count = 0;
  RingOwner owner;
};

// A new file of that size whose blocks are there; -1 when it cannot be had.
int make_file(const std::string& path, std::size_t bytes) {
  std::error_code error;
  std::filesystem::create_directory(std::filesystem::path(path).parent_path(), error);  // not a run that is away
  std::filesystem::remove(path, error);
  if (!check_space(path, bytes, kLeftByTraces)) return -1;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return -1;
  if (::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) == 0) return descriptor;
  ::close(descriptor);
  std::filesystem::remove(path, error);
  return -1;
}

}  // namespace

RingMemory RingMemory::in_file(const std::string& path, std::size_t slot_count, const RingOwner& owner) {
  const std::size_t bytes = kRingHeaderBytes + slot_count * sizeof(RingSlot);
  const int descriptor = path.empty() ? -1 : make_file(path, bytes);
  if (descriptor < 0) return RingMemory(slot_count);
  void* const mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  if (mapping == MAP_FAILED) return RingMemory(slot_count);
  Header header;
  header.slot_count = slot_count;
  header.owner = owner;
  std::memcpy(mapping, &header, sizeof header);
  return {path, mapping, bytes, slot_count};
}

RingMemory::RingMemory(std::string path, void* mapping, std::size_t bytes, std::size_t slot_count)
    : path_(std::move(path)), mapping_(mapping), bytes_(bytes) {
  auto* const first = reinterpret_cast<RingSlot*>(static_cast<char*>(mapping) + kRingHeaderBytes);
  for (std::size_t i = 0; i < slot_count; ++i) new (first + i) RingSlot;
  slots_ = {first, slot_count};
}

RingMemory::RingMemory(RingMemory&& other) noexcept
    : own_(std::move(other.own_)),
      path_(std::move(other.path_)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      bytes_(other.bytes_),
      slots_(std::exchange(other.slots_, {})) {}

RingMemory::~RingMemory() {
  if (mapping_ == nullptr) return;
  ::munmap(mapping_, bytes_);
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove(path_, error);
}

// Memory takes the mapping's place at once: whoever writes a slot meanwhile writes into one or the other.
void RingMemory::give_file_back() {
  if (mapping_ == nullptr || path_.empty()) return;
  const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (::mmap(mapping_, bytes_, PROT_READ | PROT_WRITE, how, -1, 0) == MAP_FAILED) return;
  std::error_code error;
  std::filesystem::remove(std::exchange(path_, {}), error);
}

std::optional<LeftBehind> read_ring(const std::string& path) {
  const auto text = read_file(path);
  Header header;
  const Header expected;
  if (!text || text->size() < kRingHeaderBytes) return std::nullopt;
  std::memcpy(&header, text->data(), sizeof header);
  const bool is_ours = std::memcmp(header.magic, expected.magic, sizeof header.magic) == 0 &&
                       header.version == expected.version && header.slot_bytes == expected.slot_bytes &&
                       header.slot_count == (text->size() - kRingHeaderBytes) / sizeof(RingSlot);
  if (!is_ours) return std::nullopt;
  LeftBehind left{header.owner, {}};
  std::vector<std::pair<std::uint64_t, TraceEvent>> found;
  for (std::size_t i = 0; i < header.slot_count; ++i) {
    const char* const slot = text->data() + kRingHeaderBytes + i * sizeof(RingSlot);
    std::uint64_t turn = 0;
    TraceEvent event;
    std::memcpy(&turn, slot + offsetof(RingSlot, turn), sizeof turn);
    std::memcpy(&event, slot + offsetof(RingSlot, event), sizeof event);
    const bool is_filled = turn > 0 && (turn - 1) % header.slot_count == i;
    if (is_filled && event.kind <= kTraceKindLast) found.emplace_back(turn, event);
  }
  std::ranges::sort(found, {}, [](const auto& one) { return one.first; });
  for (auto& [turn, event] : found) left.events.push_back(event);
  return left;
}

std::string ring_path_of(const std::string& trace_path) {
  return std::filesystem::path(trace_path).replace_extension(".ring").string();
}

}  // namespace shoal
