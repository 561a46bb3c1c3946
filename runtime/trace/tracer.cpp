// The tracer, its actors' side and its file's side.
#include "runtime/trace/tracer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

constexpr std::size_t kBatchEvents = 1024;  // per block of the file
constexpr std::size_t kNamesMax = 65535;    // a name is 16 bits; the last one stands for all further actors
constexpr unsigned kSpanCounterBits = 40;
constexpr std::uint64_t kSpawnerSpans = std::uint64_t{1} << 63U;  // its terms stand where others have their number

template <class ClockDuration>
std::int64_t nanoseconds(ClockDuration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

Tracer::Tracer(TracerSettings settings, std::shared_ptr<const Clock> clock)
    : level_(TraceLevel::kOff),
      clock_(std::move(clock)),
      begun_(clock_->now()),
      begun_wall_ns_(nanoseconds(clock_->wall_now().time_since_epoch())),
      settings_(std::move(settings)) {
  set_level(settings_.level);
}

void Tracer::set_level(TraceLevel level) {
  const std::lock_guard lock(drain_mutex_);
  if (level != TraceLevel::kOff && !ring_) {
    const RingOwner owner{begun_wall_ns_, nanoseconds(begun_.time_since_epoch())};
    if (!settings_.ring_path.empty()) left_ = read_ring(settings_.ring_path);
    ring_.emplace(RingMemory::in_file(settings_.ring_path, settings_.ring_capacity, owner));
  }
  level_.store(level, std::memory_order_release);
}

void Tracer::record(TraceEvent event) {
  if (!wants(event.kind)) return;
  if (event.time_ns == 0) event.time_ns = now_ns();
  ring_->push(event);
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
  return flushed && file_ ? file_->add_end() : flushed;
}

Status TraceDrain::flush() {
  if (tracer_->level() == TraceLevel::kOff) return Done{};
  const std::lock_guard lock(tracer_->drain_mutex_);
  if (!file_) {
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
  }
  return write_what_is_new();
}

Status TraceDrain::write_what_is_new() {
  const std::uint64_t process = tracer_->process_.load();
  if (process != process_written_) {
    if (auto written = file_->add_process(ProcessIncarnation{process}); !written) return written;
    process_written_ = process;
  }
  if (auto written = write_names(); !written) return written;
  if (auto written = write_events(); !written) return written;
  const std::uint64_t dropped = tracer_->ring_->dropped();
  const std::uint64_t lost = dropped - tracer_->dropped_told_ + refused_;
  if (lost == 0) return Done{};
  if (auto written = file_->add_dropped(lost); !written) return written;
  tracer_->dropped_told_ = dropped;
  refused_ = 0;
  return Done{};
}

Status TraceDrain::write_names() {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(tracer_->names_mutex_);
    names.assign(tracer_->names_.begin() + static_cast<std::ptrdiff_t>(names_written_), tracer_->names_.end());
  }
  for (const std::string& name : names) {
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
    const Status written = file_->add_events(batch_);
    ring.release(batch_.size());
    if (!written) {
      refused_ += batch_.size();
      return written;
    }
  }
  return Done{};
}

}  // namespace shoal
