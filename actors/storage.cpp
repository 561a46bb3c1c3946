// Shell around CheckpointWriter and Checkpoint.
#include "actors/storage.h"

#include "actors/hear.h"
#include "actors/injected.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr auto kOpenedFor = 5s;  // since it was asked for last

using Self = StorageActor::stateful_pointer<StorageState>;

void post(Self self, Address to, MessageBody body) {
  self->send(self->state.settings.router, Letter{{}, to, std::move(body)});
}

[[nodiscard]] Cause cause_of(Branch branch, std::uint64_t step, StageId stage) {
  Cause cause;
  cause.branch = branch;
  cause.step = StepId{step};
  cause.hop = stage.value;
  return cause;
}

// Tells how far a shard's bytes are written, which counts after those that came over the link.
void tell_written(Self self, const SaveShard& shard, std::uint64_t bytes) {
  StateProgress progress{shard.branch, shard.step, shard.stage, shard.replica, {}, true, 0, 0};
  progress.bytes = shard.image.byte_count() + bytes;
  progress.bytes_total = 2 * shard.image.byte_count();
  post(self, to_supervisor(), progress);
}

void save(Self self, const SaveShard& shard) {
  const Cause cause = cause_of(shard.branch, shard.step, shard.stage);
  const TracedSpan span(self->state.trace, cause, "save", shard.image.byte_count());
  const auto begun = self->clock().now();
  const auto completed = self->state.settings.writer->add(
      shard, [self, &shard](std::uint64_t bytes) { tell_written(self, shard, bytes); });
  if (!completed) {
    log_error("storage", "checkpoint of step ", shard.step, ": ", completed.failure().message);
    return post(self, to_supervisor(), CheckpointFailed{shard.branch, shard.step, completed.failure().message});
  }
  if (!completed.value()) return;
  self->state.opened.reset();  // the folder of that step may hold other bytes now
  const CheckpointManifest& manifest = *completed.value();
  CheckpointSaved saved{shard.branch, shard.step, manifest.weights_sha256, 0, 0};
  for (const auto& [name, file] : manifest.files) saved.byte_count += file.bytes;
  saved.seconds = milliseconds(self->clock().now() - begun) / 1000.0;
  log_info("storage", "checkpoint of step ", shard.step, " saved, weights ", manifest.weights_sha256);
  post(self, to_supervisor(), saved);
}

Result<TensorBlob> read_state(StorageState& state, const FetchState& wanted) {
  if (!state.opened || state.opened->manifest().step != wanted.step) {
    auto opened = Checkpoint::open(checkpoint_folder(state.settings.writer->settings().folder, wanted.step),
                                   state.settings.writer->settings().run);
    if (!opened) return opened.failure();
    state.opened = std::move(opened.value());
  }
  return state.opened->image_of(wanted.names);
}

void fetch(Self self, const FetchState& wanted) {
  if (!self->state.given.is_due(wanted.replica, self->clock().now())) return;
  const TracedSpan span(self->state.trace, cause_of(wanted.branch, wanted.step, {}), "load");
  const auto image = read_state(self->state, wanted);
  self->state.opened_at = self->clock().now();
  const Address to = to_stage({}, wanted.replica);
  if (!image) return post(self, to, StateUnavailable{wanted.replica, wanted.step, image.failure().message});
  const CheckpointManifest& manifest = self->state.opened->manifest();
  post(self, to,
       StateImage{wanted.replica, wanted.step, image.value(), {}, manifest.optimizer_step, manifest.tokens_total});
  self->state.given.given(wanted.replica, self->clock().now());
}

void close_unread(Self self) {
  if (self->clock().now() - self->state.opened_at >= kOpenedFor) self->state.opened.reset();
}

// A piece that cannot be kept is not confirmed: its sender tries again, and drops what does not fit there.
void keep(Self self, const FileChunk& chunk) {
  RemoteFiles& files = *self->state.files;
  const auto size = files.keep(chunk);
  if (!size && files.is_news(chunk, size.failure())) log_warn("storage", size.failure().message);
  if (!size) return;
  post(self, {chunk.process, Role::kTracer, {}, {}}, FileKept{chunk.kind, size.value()});
}

// Counted first: what ends this actor will not end the next one.
void took(Self self) {
  ++*self->state.settings.taken;
  self->state.pulse->waiting(self->mailbox().size());
}

}  // namespace

StorageActor::behavior_type storage(Self self, StorageSettings settings) {
  self->set_exception_handler(error_of);
  self->state.trace = ActorTrace(settings.tracer, "storage");
  self->state.settings = std::move(settings);
  auto& state = self->state;
  state.files.emplace(state.settings.run_directory);
  state.pulse = enter(state.settings.board, "storage");
  self->send(state.settings.router,
             Attach{Role::kStorage, {}, {}, caf::actor_cast<caf::actor>(self), state.pulse, state.settings.taken});
  return {
      [](const Inject& order) { suffer(order); },
      hear<Hearer::kStorage>(BodyHandlers{
          [self](const SaveShard& shard) { took(self), save(self, shard); },
          [self](const FetchState& wanted) { took(self), fetch(self, wanted); },
          [self](const StateProgress& progress) {
            self->state.given.arriving(progress.replica, progress.bytes, self->clock().now());
          },
          [self](const FileChunk& chunk) { keep(self, chunk), close_unread(self); },
      }),
      caf::after(kOpenedFor) >> [self] { close_unread(self); },  // nothing came meanwhile
  };
}

}  // namespace shoal
