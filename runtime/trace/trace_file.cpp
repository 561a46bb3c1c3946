// Blocks to bytes and back. Every length is checked before it is believed.
#include "runtime/trace/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <iterator>
#include <limits>
#include <system_error>
#include <type_traits>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/trace/trace_blocks.h"

namespace shoal {
namespace {

constexpr std::size_t kTailEvents = std::size_t{1} << 16U;  // more than a ring holds

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

bool read_into(TraceLife& life, BlockKind kind, Reader body) {
  if (kind == BlockKind::kEvents) {
    life.is_whole = false;
    life.lacks_end = false;
    return read_events(body, life.events);
  }
  if (kind == BlockKind::kName) {
    ActorName number;
    body.number(number.value);
    life.names[number] = std::string(body.text);
  }
  if (kind == BlockKind::kDropped) {
    std::uint64_t count = 0;
    body.number(count);
    life.dropped += count;
    life.lacks_end = true;
  }
  if (kind == BlockKind::kProcess) {
    body.number(life.begin.process.value);
    life.processes.push_back(life.begin.process);
  }
  life.is_whole = kind == BlockKind::kEnd;
  return body.is_whole && kind >= BlockKind::kName && kind <= BlockKind::kEnd;
}

Status read_block(std::vector<TraceLife>& lives, BlockKind kind, std::string_view body) {
  if (kind == BlockKind::kBegin) {
    auto life = read_begin({body});
    if (!life) return life.failure();
    lives.push_back(std::move(life.value()));
  } else if (lives.empty() || !read_into(lives.back(), kind, {body})) {
    return fail(Error::kInvalidData,
                compose("it is damaged: a block of kind ", static_cast<std::uint32_t>(kind), " that cannot be read"));
  }
  return Done{};
}

// Takes out of a life what was read of it, so that the next part begins.
TraceLife part_of(TraceLife& life) {
  TraceLife part = life;
  life.events.clear();
  life.processes.clear();
  life.names.clear();
  life.dropped = 0;
  return part;
}

Failure damaged(const std::string& path, const Failure& why) {
  return fail(Error::kInvalidData, compose(path, ": ", why.message));
}

// The last life, with no more than its begin and its newest events; none where they cannot be read. Errors: kIo.
Result<std::vector<TraceLife>> newest_of(const InputFile& file, const TraceFileEnd& end) {
  std::vector<TraceLife> lives;
  std::deque<BlockPlace> blocks = end.events;
  if (end.begin) blocks.push_front(*end.begin);
  BlockWalk walk(file);
  for (const BlockPlace& block : blocks) {
    const auto body = walk.body_of(block);
    if (!body) return body.failure();
    if (!read_block(lives, block.kind, *body)) return std::vector<TraceLife>{};
  }
  return lives;
}

// Returns what is in the ring of this life and not in its file: the ring's oldest events may have been written already.
std::vector<TraceEvent> not_written(const TraceLife& life, const LeftBehind& left) {
  const bool is_its = left.owner == RingOwner{life.begin.wall_ns, life.begin.steady_ns};
  if (!is_its || left.events.empty()) return {};
  const auto tail = life.events.size() - std::min(life.events.size(), kTailEvents);
  const auto first =
      std::find(life.events.begin() + static_cast<std::ptrdiff_t>(tail), life.events.end(), left.events[0]);
  const auto written = std::min<std::ptrdiff_t>(life.events.end() - first, std::ssize(left.events));
  return {left.events.begin() + written, left.events.end()};
}

// A file that is empty, or begins as a trace file does, as far as it goes.
Result<bool> is_trace_file(const InputFile& file) {
  std::array<char, kBlockMagic.size()> first{};
  const auto count = file.read_at(0, first);
  if (!count) return count.failure();
  return kBlockMagic.starts_with(std::string_view(first.data(), *count));
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
  std::filesystem::create_directory(std::filesystem::path(path).parent_path(), error);  // not a run that is away
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return fail(Error::kIo, compose("cannot open ", path, ": ", std::strerror(errno)));
  TraceFile file(descriptor, path, 0);
  const auto input = open_input(path);
  if (!input) return input.failure();
  const auto is_ours = is_trace_file(*input);
  if (!is_ours) return is_ours.failure();
  if (!*is_ours) return fail(Error::kInvalidData, compose(path, " is not a trace file; move it away"));
  const auto end = find_end(*input, kTailEvents);
  if (!end) return end.failure();
  file.size_ = end->bytes;
  if (::ftruncate(descriptor, static_cast<off_t>(file.size_)) != 0) {
    return fail(Error::kIo, compose("cannot write ", path, ": ", std::strerror(errno)));
  }
  if (left) {
    const auto newest = newest_of(*input, *end);
    if (!newest) return newest.failure();
    const auto events = newest->empty() ? std::vector<TraceEvent>{} : not_written(newest->back(), *left);
    if (auto added = events.empty() ? Status(Done{}) : file.add_events(events); !added) return added.failure();
  }
  Writer body;
  body.number(kTraceVersion);
  body.number(begin.process.value);
  body.number(begin.wall_ns);
  body.number(begin.steady_ns);
  body.number(begin.machine);
  body.number(begin.level);
  const auto begun = file.append(BlockKind::kBegin, std::move(body.text) + begin.process_name);
  if (!begun) return begun.failure();
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

Status TraceFile::append(BlockKind kind, std::string block) {
  const auto body_bytes = static_cast<std::uint32_t>(block.size() - kBlockHeaderBytes);
  std::memcpy(block.data(), kBlockMagic.data(), kBlockMagic.size());
  std::memcpy(block.data() + kBlockMagic.size(), &kind, sizeof kind);
  std::memcpy(block.data() + kBlockMagic.size() + sizeof kind, &body_bytes, sizeof body_bytes);
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
  return append(BlockKind::kName, std::move(body.text) + name);
}

Status TraceFile::add_events(std::span<const TraceEvent> events) {
  ENSURE(events.size() * kEventBytes <= kBlockBytesMax, "a block of events is bounded");
  Writer body;
  body.text.reserve(kBlockHeaderBytes + events.size() * kEventBytes);
  for (const TraceEvent& event : events) pass(body, event);
  return append(BlockKind::kEvents, std::move(body.text));
}

Status TraceFile::add_dropped(std::uint64_t count) {
  Writer body;
  body.number(count);
  return append(BlockKind::kDropped, std::move(body.text));
}

Status TraceFile::add_process(ProcessIncarnation process) {
  Writer body;
  body.number(process.value);
  return append(BlockKind::kProcess, std::move(body.text));
}

Status TraceFile::add_end() { return append(BlockKind::kEnd, Writer().text); }

Result<TraceFileReader> TraceFileReader::open(const std::string& path) {
  TraceFileReader reader(path);
  // The ring first: what is written meanwhile is then in both, and not in neither.
  const auto left = read_ring(ring_path_of(path));
  const auto file = open_input(path);
  if (!file) return file.failure();
  reader.size_ = file->size;
  if (!left || left->events.empty()) return reader;
  const auto end = find_end(*file, kTailEvents);
  if (!end) return end.failure();
  if (end->bytes > 0) reader.size_ = end->bytes;  // a next life would begin in the place of a torn block
  const auto newest = newest_of(*file, *end);
  if (!newest) return newest.failure();
  if (!newest->empty()) reader.in_ring_ = not_written(newest->back(), *left);
  return reader;
}

Status TraceFileReader::read_parts(const TakePart& take, std::size_t part_events) const {
  auto file = open_input(path_);
  if (!file) return file.failure();
  file->size = std::min(file->size, size_);
  std::vector<TraceLife> lives;  // the one that is read, and sometimes the one before
  EventsPlace place;
  const auto give = [&] { take({part_of(lives.front()), place}); };
  BlockWalk walk(*file, 0, kBodyPieceBytes);
  for (std::uint64_t begin = 0;; begin = walk.end()) {
    const auto block = walk.next();
    if (!block) return block.failure();
    if (!*block) break;
    const auto body = walk.body_of(**block);
    if (!body) return body.failure();
    if (auto status = read_block(lives, (*block)->kind, *body); !status) return damaged(path_, status.failure());
    if (lives.size() > 1) {
      give();
      lives.erase(lives.begin());
    }
    if ((*block)->kind == BlockKind::kBegin) place = {begin, begin, false};
    place.end = walk.end();
    if (lives.back().events.size() < part_events) continue;
    give();
    place.begin = walk.end();
  }
  if (lives.empty() && file->size > 0) return fail(Error::kInvalidData, compose(path_, " is not a trace file"));
  if (lives.empty()) return Done{};
  give();
  if (in_ring_.empty()) return Done{};
  lives.front().events = in_ring_;
  lives.front().lacks_end = false;
  place = {0, 0, true};
  give();
  return Done{};
}

Result<std::vector<TraceEvent>> TraceFileReader::events_at(const EventsPlace& place) const {
  if (place.is_in_ring) return in_ring_;
  auto file = open_input(path_);
  if (!file) return file.failure();
  file->size = std::min(file->size, place.end);
  std::vector<TraceEvent> events;
  bool is_as_before = true;
  events.reserve((place.end - place.begin) / kEventBytes);
  BlockWalk walk(*file, place.begin, kBodyPieceBytes);
  while (is_as_before && walk.end() < place.end) {
    const auto block = walk.next();
    if (!block) return block.failure();
    is_as_before = block->has_value();
    if (!is_as_before || (*block)->kind != BlockKind::kEvents) continue;
    const auto body = walk.body_of(**block);
    if (!body) return body.failure();
    is_as_before = read_events({*body}, events);
  }
  if (is_as_before) return events;
  return fail(Error::kIo, compose(path_, " is not what it was a moment ago: nothing is known of the run; try again"));
}

Status read_trace_parts(const std::string& path, const TakePart& take, std::size_t part_events) {
  const auto reader = TraceFileReader::open(path);
  return reader ? reader->read_parts(take, part_events) : reader.failure();
}

Result<std::vector<TraceLife>> read_trace_file(const std::string& path) {
  std::vector<TraceLife> lives;
  const auto take = [&lives](TracePart part) {
    if (!part.place.is_in_ring) return lives.push_back(std::move(part.life));
    lives.back().events.insert(lives.back().events.end(), part.life.events.begin(), part.life.events.end());
    lives.back().lacks_end = part.life.lacks_end;
  };
  constexpr std::size_t kWholeLives = std::numeric_limits<std::size_t>::max();
  if (auto read = read_trace_parts(path, take, kWholeLives); !read) return read.failure();
  return lives;
}

}  // namespace shoal
