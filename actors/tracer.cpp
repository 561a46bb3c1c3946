// Shell of TraceDrain: a flush per tick.
#include "actors/tracer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "actors/hear.h"
#include "actors/injected.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/disk_space.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using Self = TracerActor::stateful_pointer<TracerState>;

// Limits what a dying machine has not written: at most the last 200 ms, also where threads wait for a core.
constexpr std::chrono::milliseconds kFlushInterval{100};

constexpr std::size_t kPieceBytes = 256 << 10;

std::uint64_t trace_size(Self self) {
  std::error_code error;
  const auto size = std::filesystem::file_size(self->state.path, error);
  return error ? 0 : static_cast<std::uint64_t>(size);
}

std::string trace_bytes(Self self, std::uint64_t offset, std::size_t count_max) {
  std::ifstream file(self->state.path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::string bytes(count_max, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

TensorBlob as_blob(const std::string& bytes) {
  auto buffer = std::make_shared<AlignedBuffer>(bytes.size());
  std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return {DType::kUint8, {static_cast<std::int64_t>(bytes.size())}, std::move(buffer)};
}

void send_piece(Self self, FileKind kind, const Piece& piece) {
  const auto& state = self->state;
  FileChunk chunk{state.files->name, kind, piece.there, state.files->log.dropped_bytes(), {}, {}};
  if (!piece.is_question) {
    const bool is_log = kind == FileKind::kLog;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, piece.bytes_max));
    chunk.bytes = as_blob(is_log ? state.files->log.bytes(piece.here, count) : trace_bytes(self, piece.here, count));
  }
  self->send(state.router, Letter{{}, {{}, Role::kStorage, {}, {}}, std::move(chunk)});
}

void send_what_is_new(Self self) {
  const auto& files = self->state.files;
  if (!files) return;
  const Instant now = self->clock().now();
  if (const auto piece = files->log_stream.next(files->log.size(), now)) send_piece(self, FileKind::kLog, *piece);
  if (const auto piece = files->trace_stream.next(trace_size(self), now)) send_piece(self, FileKind::kTrace, *piece);
}

[[nodiscard]] std::string begin_path(Self self) { return self->state.path + ".begin"; }

void recall_begin(Self self) {
  std::uint64_t begin = 0;
  std::ifstream file(begin_path(self));
  if (file >> begin) self->state.files->trace_stream.set_begin(begin);
}

// Notes where this file begins in the run directory. If that fails, the next process sends everything once more.
void keep_begin(Self self) {
  const auto written = replace_file(begin_path(self), compose(*self->state.files->trace_stream.begin(), "\n"));
  if (!written) log_warn("tracer", written.failure().message);
}

void note_arrivals(Self self) {
  auto& state = self->state;
  const bool has_all = state.files->trace_stream.arrived() >= state.flushed_trace &&
                       state.files->log_stream.arrived() >= state.flushed_log;
  if (has_all) state.files->arrived_until = state.flushed_at;
}

void arrived(Self self, const FileKept& kept) {
  const auto& files = self->state.files;
  if (!files) return;
  if (kept.kind == FileKind::kTrace) {
    const auto begin_before = files->trace_stream.begin();
    files->trace_stream.arrived(kept.size, trace_size(self), self->clock().now());
    if (files->trace_stream.begin() != begin_before) keep_begin(self);
  } else {
    files->log.arrived(files->log_stream.arrived(kept.size, files->log.size(), self->clock().now()));
  }
  note_arrivals(self);
}

// The log goes to the run directory, where people look for what is missing there.
void tell_of_full(Self self) {
  if (!self->state.drain->is_full() || std::exchange(self->state.is_full_told, true)) return;
  log_warn("tracer", "the run directory has no more room for this process's trace; its events are counted only");
}

void flush(Self self) {
  const Instant now = self->clock().now();
  if (const auto& files = self->state.files) self->state.drain->set_bytes_max(files->trace_stream.size_max());
  const bool is_ending = self->state.files && self->state.files->is_ending;
  const auto flushed = is_ending ? self->state.drain->flush_end() : self->state.drain->flush();
  if (!flushed && !self->state.is_refused) {
    log_error("tracer", flushed.failure().message, "; events are lost, training goes on");
  }
  self->state.is_refused = !flushed;
  tell_of_full(self);
  if (const auto& files = self->state.files) {
    if (files->arrived_until.load() == self->state.flushed_at) {
      self->state.flushed_at = now;
      self->state.flushed_trace = std::min(trace_size(self), files->trace_stream.size_max());
      self->state.flushed_log = std::min(files->log.size(), files->log_stream.size_max());
    }
    note_arrivals(self);
  }
  send_what_is_new(self);
  self->delayed_send(self, kFlushInterval, Tick{});
}

}  // namespace

// A flush that begins after `now` knows that this process is ending.
void wait_until_arrived(NodeFiles& files, Duration limit) {
  files.is_ending = true;
  const Instant now = std::chrono::steady_clock::now();
  while (files.arrived_until.load() < now && std::chrono::steady_clock::now() < now + limit) {
    std::this_thread::sleep_for(kFlushInterval / 10);
  }
}

TracerActor::behavior_type tracer(Self self, TracerActorSettings settings) {
  self->set_exception_handler(error_of);
  self->state.path = settings.path;
  self->state.router = settings.router;
  self->state.files = std::move(settings.files);
  if (self->state.files) {
    recall_begin(self);
    self->state.files->ask_again();
    self->state.flushed_at = self->state.files->arrived_until;
  }
  self->state.drain.emplace(std::move(settings.tracer), std::move(settings.path), std::move(settings.process_name));
  if (!self->state.files) self->state.drain->leave_on_disk(kLeftByTraces);
  self->state.pulse = enter(settings.board, "tracer");
  if (settings.router) {
    self->send(settings.router, Attach{Role::kTracer, {}, {}, caf::actor_cast<caf::actor>(self), self->state.pulse});
  }
  self->send(self, Tick{});
  return {
      [](const Inject& order) { suffer(order); },
      hear<Hearer::kTracer>(BodyHandlers{[self](const FileKept& kept) { arrived(self, kept); }}),
      [self](const Tick&) { flush(self); },
  };
}

}  // namespace shoal
