// The tracer, its actors' side and its file's side.
#include "runtime/trace/tracer.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/base/machine/disk_space.h"
#include "runtime/trace/trace_blocks.h"

namespace shoal {
namespace {

constexpr std::size_t kBatchEvents = 1024;      // per block of the file
constexpr std::size_t kNamesMax = 65535;        // a name is 16 bits; the last one stands for all further actors
constexpr std::uint64_t kSmallBlockBytes = 64;  // beside a name: a begin, a process
constexpr unsigned kSpanCounterBits = 40;
constexpr std::uint64_t kSpawnerSpans = std::uint64_t{1} << 63U;  // its terms stand where others have their number

template <class ClockDuration>
std::int64_t nanoseconds(ClockDuration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

Tracer::Tracer(TracerSettings settings, std::shared_ptr<const Clock> clock)
    : level_(TraceLevel::kOff),
      is_early_(!settings.level),
      clock_(std::move(clock)),
      begun_(clock_->now()),
      begun_wall_ns_(nanoseconds(clock_->wall_now().time_since_epoch())),
      settings_(std::move(settings)) {
  if (settings_.level) set_level(*settings_.level);
}

void Tracer::set_level(TraceLevel level) {
  const std::lock_guard lock(drain_mutex_);
  if (level != TraceLevel::kOff && !ring_) {
    const RingOwner owner{begun_wall_ns_, nanoseconds(begun_.time_since_epoch())};
    if (!settings_.ring_path.empty()) left_ = read_ring(settings_.ring_path);
    ring_.emplace(RingMemory::in_file(settings_.ring_path, settings_.ring_capacity, owner));
  }
  level_.store(level, std::memory_order_release);
  end_early();
}

// Behind the store of the level: what comes meanwhile finds either the level or the list.
void Tracer::end_early() {
  const std::lock_guard lock(early_mutex_);
  is_early_.store(false, std::memory_order_release);
  for (const TraceEvent& event : early_) {
    if (is_traced(event.kind, level())) ring_->push(event);
  }
  early_.clear();
}

void Tracer::keep_early(const TraceEvent& event) {
  const std::lock_guard lock(early_mutex_);
  if (is_early_.load(std::memory_order_relaxed)) {
    if (early_.size() == kEarlyMax) early_.pop_front();
    early_.push_back(event);
  } else if (is_traced(event.kind, level())) {
    ring_->push(event);
  }
}

void Tracer::record(TraceEvent event) {
  if (!wants(event.kind)) return;
  if (event.time_ns == 0) event.time_ns = now_ns();
  if (is_traced(event.kind, level())) {
    ring_->push(event);
  } else {
    keep_early(event);
  }
}

std::int64_t Tracer::now_ns() const { return nanoseconds(clock_->now() - begun_); }

ActorName Tracer::name(const std::string& actor) {
  const std::lock_guard lock(names_mutex_);
  const auto known = std::find(names_.begin(), names_.end(), actor);
  const auto number = std::min(static_cast<std::size_t>(known - names_.begin()), kNamesMax);
  if (known == names_.end() && names_.size() <= kNamesMax) {
    names_.push_back(number == kNamesMax ? "others" : actor);
  }
  return ActorName{static_cast<std::uint16_t>(number)};
}

std::uint64_t Tracer::new_span() {
  return span_origin_.load(std::memory_order_relaxed) | (spans_.fetch_add(1, std::memory_order_relaxed) + 1);
}

void Tracer::set_process(ProcessIncarnation process, Term term) {
  const bool is_spawner = process.value == 0;
  span_origin_.store(is_spawner ? kSpawnerSpans | term.value << kSpanCounterBits : process.value << kSpanCounterBits);
  process_.store(process.value);
}

ProcessIncarnation process_of_span(std::uint64_t span) {
  return {(span & kSpawnerSpans) != 0 ? 0 : span >> kSpanCounterBits};
}

ActorTrace::ActorTrace(std::shared_ptr<Tracer> tracer, const std::string& actor, Incarnation incarnation)
    : tracer_(std::move(tracer)), incarnation_(incarnation) {
  if (tracer_) name_ = tracer_->name(actor);
}

void ActorTrace::record(TraceKind kind, const Cause& cause, std::uint64_t bytes, std::string_view detail) const {
  if (!wants(kind)) return;
  TraceEvent event;
  event.kind = kind;
  event.cause = cause;
  event.bytes = bytes;
  event.set_detail(detail);
  record(event);
}

void ActorTrace::record(TraceEvent event) const {
  if (!wants(event.kind)) return;
  event.actor = name_;
  event.incarnation = incarnation_;
  tracer_->record(event);
}

std::uint64_t ActorTrace::start(const Cause& cause, std::string_view detail) const {
  if (!wants(TraceKind::kStart)) return 0;
  TraceEvent event;
  event.kind = TraceKind::kStart;
  event.cause = cause;
  event.span = tracer_->new_span();
  event.set_detail(detail);
  record(event);
  return event.span;
}

void ActorTrace::end(std::uint64_t span, const Cause& cause, std::uint64_t bytes) const {
  if (span == 0 || !wants(TraceKind::kEnd)) return;
  TraceEvent event;
  event.kind = TraceKind::kEnd;
  event.cause = cause;
  event.span = span;
  event.bytes = bytes;
  record(event);
}

std::string trace_path(const std::string& run_directory, const std::string& process_name) {
  std::string file = process_name;
  std::replace(file.begin(), file.end(), '/', '-');
  return run_directory + "/trace/" + file + ".trace";
}

TraceDrain::TraceDrain(std::shared_ptr<Tracer> tracer, std::string path, std::string process_name)
    : tracer_(std::move(tracer)), path_(std::move(path)), process_name_(std::move(process_name)) {
  ENSURE(tracer_ != nullptr, "a drain has a tracer");
}

TraceDrain::~TraceDrain() { (void)flush_end(); }

Status TraceDrain::flush_end() {
  const Status flushed = flush();
  if (!flushed || !file_ || !room_.takes_end()) return flushed;
  const std::lock_guard lock(tracer_->drain_mutex_);
  (void)takes(kSmallBlockBytes);  // a file with no room for an end is full: it has one more, its last
  if (auto written = write_loss(); !written) return written;
  const Status ended = file_->add_end();
  if (ended) room_.told_end();
  return ended;
}

Status TraceDrain::flush() {
  if (tracer_->level() == TraceLevel::kOff) return Done{};
  const std::lock_guard lock(tracer_->drain_mutex_);
  if (!file_) {
    if (auto begun = begin_life(); !begun) return begun;
  }
  return write_what_is_new();
}

// A full file has no life of this process, and its events go nowhere.
Status TraceDrain::begin_life() {
  std::error_code none_yet;
  const auto there = std::filesystem::file_size(path_, none_yet);
  const std::size_t left = tracer_->left_ ? tracer_->left_->events.size() * kEventBytes : 0;
  if (!room_.takes(none_yet ? 0 : there, left + 2 * kSmallBlockBytes + process_name_.size())) return Done{};
  TraceBegin begin;
  begin.process = ProcessIncarnation{process_written_ = tracer_->process_.load()};
  begin.wall_ns = tracer_->begun_wall_ns_;
  begin.steady_ns = nanoseconds(tracer_->begun_.time_since_epoch());
  begin.machine = tracer_->settings_.machine;
  begin.level = tracer_->level();
  begin.process_name = process_name_;
  auto opened = TraceFile::open(path_, begin, tracer_->left_);
  if (!opened) return opened.failure();
  tracer_->left_.reset();
  file_.emplace(std::move(opened.value()));
  return Done{};
}

Status TraceDrain::write_what_is_new() {
  if (auto written = write_process(); !written) return written;
  if (auto written = write_names(); !written) return written;
  // Writes the loss before the events: a life that ends in a loss is one that had no more room.
  if (auto written = file_ && !room_.is_full() ? write_loss() : Done{}; !written) return written;
  if (auto written = write_events(); !written) return written;
  if (room_.is_full()) tracer_->ring_->close();
  return file_ && room_.is_full() && room_.is_loss_due() ? write_loss() : Done{};
}

bool TraceDrain::takes(std::uint64_t bytes) {
  if (!file_ || room_.is_full()) return false;
  // The last words take some of what is left on the disk. Behind a drain that was full the ring has nothing to give.
  const bool has_space = left_on_disk_ == 0 || check_space(path_, bytes, left_on_disk_).ok();
  if (!has_space || tracer_->ring_->is_closed()) room_.fill();
  return room_.takes(file_->size(), bytes);
}

Status TraceDrain::write_process() {
  const std::uint64_t process = tracer_->process_.load();
  if (process == process_written_ || !takes(kSmallBlockBytes)) return Done{};
  if (auto written = file_->add_process(ProcessIncarnation{process}); !written) return written;
  process_written_ = process;
  return Done{};
}

Status TraceDrain::write_loss() {
  const std::uint64_t dropped = tracer_->ring_->dropped();
  const std::uint64_t lost = dropped - tracer_->dropped_told_ + refused_;
  if (lost == 0) return Done{};
  if (auto written = file_->add_dropped(lost); !written) return written;
  tracer_->dropped_told_ = dropped;
  refused_ = 0;
  room_.told_loss();
  return Done{};
}

Status TraceDrain::write_names() {
  if (room_.is_full()) return Done{};
  std::vector<std::string> names;
  {
    const std::lock_guard lock(tracer_->names_mutex_);
    names.assign(tracer_->names_.begin() + static_cast<std::ptrdiff_t>(names_written_), tracer_->names_.end());
  }
  for (const std::string& name : names) {
    if (!takes(kSmallBlockBytes + name.size())) return Done{};
    const ActorName number{static_cast<std::uint16_t>(names_written_)};
    if (auto written = file_->add_name(number, name); !written) return written;
    ++names_written_;
  }
  return Done{};
}

// Writes at most one ring's worth per call, so that a flush ends whatever is recorded meanwhile.
Status TraceDrain::write_events() {
  TraceRing& ring = *tracer_->ring_;
  for (std::size_t left = ring.capacity(); left > 0;) {
    batch_.clear();
    while (const TraceEvent* event = batch_.size() < kBatchEvents ? ring.peek(batch_.size()) : nullptr) {
      batch_.push_back(*event);
    }
    if (batch_.empty()) return Done{};
    left -= std::min(left, batch_.size());
    const bool is_taken = takes(kBlockHeaderBytes + batch_.size() * kEventBytes);
    const Status written = is_taken ? file_->add_events(batch_) : Done{};
    ring.release(batch_.size());
    if (!is_taken || !written) refused_ += batch_.size();
    if (!written) return written;
  }
  return Done{};
}

}  // namespace shoal
