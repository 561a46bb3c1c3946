// Blocks to bytes and back. Every length is checked before it is believed.
#include "runtime/trace/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <type_traits>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"

namespace shoal {
namespace {

constexpr std::string_view kMagic = "SHTR";
constexpr std::size_t kBlockHeaderBytes = 12;
constexpr std::uint32_t kBlockBytesMax = 16U << 20U;
constexpr std::size_t kTailEvents = std::size_t{1} << 16U;  // more than a ring holds
constexpr std::size_t kEventBytes = 8 + 1 + 2 + 8 + (8 + 4 + 8 + 8 + 8 + 4 + 4 + 4 + 8) + 8 + 8 + 8 + kTraceDetailBytes;

enum Block : std::uint32_t { kBegin = 1, kName = 2, kEvents = 3, kDropped = 4, kProcess = 5, kEnd = 6 };

struct Writer {
  std::string text = std::string(kBlockHeaderBytes, '\0');  // filled in when the block is appended
  template <class Number>
  void number(const Number& value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
};

// Reading past the end makes is_whole false and gives zeros.
struct Reader {
  std::string_view text;
  bool is_whole = true;
  template <class Number>
  void number(Number& value) {
    is_whole = is_whole && text.size() >= sizeof value;
    if (!is_whole) return;
    std::memcpy(&value, text.data(), sizeof value);
    text.remove_prefix(sizeof value);
  }
};

// The fields of a record in their order, for both directions.
template <class Stream, class Event>
void pass(Stream& stream, Event& event) {
  stream.number(event.time_ns);
  stream.number(event.kind);
  stream.number(event.actor.value);
  stream.number(event.incarnation.value);
  auto& cause = event.cause;
  stream.number(cause.run.value);
  stream.number(cause.branch.value);
  stream.number(cause.term.value);
  stream.number(cause.position.value);
  stream.number(cause.step.value);
  stream.number(cause.microbatch.value);
  stream.number(cause.attempt);
  stream.number(cause.hop);
  stream.number(cause.parent_span);
  stream.number(event.span);
  stream.number(event.bytes);
  stream.number(event.subject);
  stream.number(event.detail);
}

// The bytes of the first whole block of `rest`, or 0.
std::size_t first_block_bytes(std::string_view rest) {
  if (rest.size() < kBlockHeaderBytes || !rest.starts_with(kMagic)) return 0;
  Reader header{rest.substr(kMagic.size())};
  std::uint32_t kind = 0;
  std::uint32_t body_bytes = 0;
  header.number(kind);
  header.number(body_bytes);
  const bool is_whole = body_bytes <= kBlockBytesMax && rest.size() - kBlockHeaderBytes >= body_bytes;
  return is_whole ? kBlockHeaderBytes + body_bytes : 0;
}

std::size_t whole_blocks_bytes(std::string_view text) {
  std::size_t at = 0;
  while (const std::size_t bytes = first_block_bytes(text.substr(at))) at += bytes;
  return at;
}

Result<TraceLife> read_begin(Reader body) {
  TraceLife life;
  std::uint32_t version = 0;
  body.number(version);
  if (body.is_whole && version != kTraceVersion) {
    return fail(Error::kInvalidData, compose("version ", version, "; this program reads ", kTraceVersion));
  }
  body.number(life.begin.process.value);
  body.number(life.begin.wall_ns);
  body.number(life.begin.steady_ns);
  body.number(life.begin.machine);
  body.number(life.begin.level);
  if (!body.is_whole) return fail(Error::kInvalidData, "a begin that is too short");
  life.begin.process_name = std::string(body.text);
  life.processes = {life.begin.process};
  return life;
}

bool read_events(Reader body, std::vector<TraceEvent>& events) {
  if (body.text.size() % kEventBytes != 0) return false;
  while (!body.text.empty()) {
    TraceEvent event;
    pass(body, event);
    if (event.kind > kTraceKindLast) return false;
    events.push_back(event);
  }
  return true;
}

bool read_into(TraceLife& life, std::uint32_t kind, Reader body) {
  if (kind == kEvents) {
    life.is_whole = false;
    return read_events(body, life.events);
  }
  if (kind == kName) {
    ActorName number;
    body.number(number.value);
    life.names[number] = std::string(body.text);
  }
  if (kind == kDropped) {
    std::uint64_t count = 0;
    body.number(count);
    life.dropped += count;
  }
  if (kind == kProcess) {
    body.number(life.begin.process.value);
    life.processes.push_back(life.begin.process);
  }
  life.is_whole = kind == kEnd;
  return body.is_whole && kind >= kName && kind <= kEnd;
}

Result<std::vector<TraceLife>> lives_in(const std::string& path, std::string_view text) {
  std::vector<TraceLife> lives;
  std::string_view rest = text;
  while (const std::size_t bytes = first_block_bytes(rest)) {
    Reader header{rest.substr(kMagic.size(), kBlockHeaderBytes - kMagic.size())};
    std::uint32_t kind = 0;
    header.number(kind);
    const Reader body{rest.substr(kBlockHeaderBytes, bytes - kBlockHeaderBytes)};
    rest.remove_prefix(bytes);
    if (kind == kBegin) {
      auto life = read_begin(body);
      if (!life) return fail(Error::kInvalidData, compose(path, ": ", life.failure().message));
      lives.push_back(std::move(life.value()));
    } else if (lives.empty() || !read_into(lives.back(), kind, body)) {
      return fail(Error::kInvalidData, compose(path, " is damaged: a block of kind ", kind, " that cannot be read"));
    }
  }
  if (lives.empty() && !text.empty()) return fail(Error::kInvalidData, compose(path, " is not a trace file"));
  return lives;
}

// What is in the ring of this life and not in its file: the ring's oldest events may have been written already.
std::vector<TraceEvent> not_written(const TraceLife& life, const LeftBehind& left) {
  const bool is_its = left.owner == RingOwner{life.begin.wall_ns, life.begin.steady_ns};
  if (!is_its || left.events.empty()) return {};
  const auto tail = life.events.size() - std::min(life.events.size(), kTailEvents);
  const auto first =
      std::find(life.events.begin() + static_cast<std::ptrdiff_t>(tail), life.events.end(), left.events[0]);
  const auto written = std::min<std::ptrdiff_t>(life.events.end() - first, std::ssize(left.events));
  return {left.events.begin() + written, left.events.end()};
}

bool write_all(int descriptor, std::string_view text, std::uint64_t at) {
  while (!text.empty()) {
    const ssize_t written = ::pwrite(descriptor, text.data(), text.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return true;
}

}  // namespace

Result<TraceFile> TraceFile::open(const std::string& path, const TraceBegin& begin,
                                  const std::optional<LeftBehind>& left) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return fail(Error::kIo, compose("cannot open ", path, ": ", std::strerror(errno)));
  TraceFile file(descriptor, path, 0);
  const auto before = read_file(path);
  if (!before) return before.failure();
  if (!before->empty() && !std::string_view(*before).starts_with(std::string_view(kMagic).substr(0, before->size()))) {
    return fail(Error::kInvalidData, compose(path, " is not a trace file; move it away"));
  }
  file.size_ = whole_blocks_bytes(*before);
  if (::ftruncate(descriptor, static_cast<off_t>(file.size_)) != 0) {
    return fail(Error::kIo, compose("cannot write ", path, ": ", std::strerror(errno)));
  }
  if (left) {
    const auto found = lives_in(path, std::string_view(*before).substr(0, file.size_));
    const auto events = found && !found->empty() ? not_written(found->back(), *left) : std::vector<TraceEvent>{};
    if (auto added = events.empty() ? Status(Done{}) : file.add_events(events); !added) return added.failure();
  }
  Writer body;
  body.number(kTraceVersion);
  body.number(begin.process.value);
  body.number(begin.wall_ns);
  body.number(begin.steady_ns);
  body.number(begin.machine);
  body.number(begin.level);
  if (auto begun = file.append(kBegin, std::move(body.text) + begin.process_name); !begun) return begun.failure();
  return file;
}

TraceFile::TraceFile(TraceFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), size_(other.size_) {}

TraceFile& TraceFile::operator=(TraceFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  return *this;
}

TraceFile::~TraceFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status TraceFile::append(std::uint32_t kind, std::string block) {
  const auto body_bytes = static_cast<std::uint32_t>(block.size() - kBlockHeaderBytes);
  std::memcpy(block.data(), kMagic.data(), kMagic.size());
  std::memcpy(block.data() + kMagic.size(), &kind, sizeof kind);
  std::memcpy(block.data() + kMagic.size() + sizeof kind, &body_bytes, sizeof body_bytes);
  if (!write_all(descriptor_, block, size_)) {
    const Failure failure = fail(Error::kIo, compose("cannot write ", path_, ": ", std::strerror(errno)));
    (void)!::ftruncate(descriptor_, static_cast<off_t>(size_));  // else the next block covers what is left of this one
    return failure;
  }
  size_ += block.size();
  return Done{};
}

Status TraceFile::add_name(ActorName number, const std::string& name) {
  Writer body;
  body.number(number.value);
  return append(kName, std::move(body.text) + name);
}

Status TraceFile::add_events(std::span<const TraceEvent> events) {
  CHECK(events.size() * kEventBytes <= kBlockBytesMax, "a block of events is bounded");
  Writer body;
  body.text.reserve(kBlockHeaderBytes + events.size() * kEventBytes);
  for (const TraceEvent& event : events) pass(body, event);
  return append(kEvents, std::move(body.text));
}

Status TraceFile::add_dropped(std::uint64_t count) {
  Writer body;
  body.number(count);
  return append(kDropped, std::move(body.text));
}

Status TraceFile::add_process(ProcessIncarnation process) {
  Writer body;
  body.number(process.value);
  return append(kProcess, std::move(body.text));
}

Status TraceFile::add_end() { return append(kEnd, Writer().text); }

Result<std::vector<TraceLife>> read_trace_file(const std::string& path) {
  // The ring first: what is written meanwhile is then in both, and not in neither.
  const auto left = read_ring(ring_path_of(path));
  const auto text = read_file(path);
  if (!text) return text.failure();
  auto lives = lives_in(path, *text);
  if (!lives || lives->empty() || !left) return lives;
  auto& events = lives->back().events;
  const auto more = not_written(lives->back(), *left);
  events.insert(events.end(), more.begin(), more.end());
  return lives;
}

}  // namespace shoal
