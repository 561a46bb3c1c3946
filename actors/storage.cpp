// Shell around ShardAdmission, ShardIntake, CheckpointWriter and Checkpoint.
#include "actors/storage.h"

#include <utility>

#include "actors/hear.h"
#include "actors/injected.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/storage/image/image_bytes.h"
#include "runtime/transport/error_words.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr auto kOpenedFor = 2min;  // since it was asked for or arrived last: to verify it again takes a while
constexpr auto kTickPeriod = 1s;

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

// Tells how far a shard is written, which counts after its bytes that came over the link: until storage has taken all
// of them, the router tells of those.
void tell_written(Self self, const SaveShard& shard, std::uint64_t bytes) {
  const std::uint64_t total = image_bytes(shard);
  if (shard.offset + shard.image.byte_count() < total) return;
  StateProgress progress{shard.branch, shard.step, shard.stage, shard.replica, {}, true, 0, 0};
  progress.bytes = total + bytes;
  progress.bytes_total = 2 * total;
  post(self, to_supervisor(), progress);
}

void close_unread(Self self) {
  if (self->clock().now() - self->state.opened_at < kOpenedFor) return;
  self->state.opened.reset();
  self->state.to_give.clear();
}

// Asks for the pieces that are due, now and every so often until all shards are whole and none waits for the journal.
void ask_for_pieces(Self self) {
  const Instant now = self->clock().now();
  ShardIntake& intake = *self->state.settings.intake;
  for (const FetchShard& question : intake.due(now)) {
    post(self, Address{{}, Role::kStage, question.stage, question.replica}, question);
  }
  const bool is_idle = intake.is_empty() && self->state.settings.admission->is_empty();
  if (is_idle || self->state.tick_at) return;
  self->state.tick_at = now + kTickPeriod;
  self->delayed_send(self, kTickPeriod, Tick{});
}

void save(Self self, const SaveShard& shard) {
  close_unread(self);
  ShardIntake& intake = *self->state.settings.intake;
  const Instant begun = self->clock().now();
  if (!intake.accepts(shard, begun)) return ask_for_pieces(self);
  const Cause cause = cause_of(shard.branch, shard.step, shard.stage);
  const TracedSpan span(self->state.trace, cause, "save", shard.image.byte_count());
  tell_written(self, shard, 0);
  const auto completed = self->state.settings.writer->add(
      shard, [self, &shard](std::uint64_t bytes) { tell_written(self, shard, bytes); });
  if (!completed) {
    intake.failed(shard);
    if (completed.failure().error == Error::kIo) intake.end(shard.branch, shard.step);
    log_error("storage", "checkpoint of step ", shard.step, ": ", completed.failure().message);
    return post(self, to_supervisor(), CheckpointFailed{shard.branch, shard.step, completed.failure().message});
  }
  const Instant began = intake.began(shard, begun);
  intake.written(shard, self->clock().now());
  ask_for_pieces(self);
  if (!completed.value()) return;
  intake.end_up_to(shard.branch, shard.step);  // older ones were given up
  self->state.opened.reset();                  // the folder of that step may hold other bytes now
  const CheckpointManifest& manifest = *completed.value();
  CheckpointSaved saved{shard.branch, shard.step, manifest.weights_sha256, 0, 0};
  for (const auto& [name, file] : manifest.files) saved.byte_count += file.bytes;
  saved.seconds = milliseconds(self->clock().now() - began) / 1000.0;
  log_info("storage", "checkpoint of step ", shard.step, " saved, weights ", manifest.weights_sha256);
  post(self, to_supervisor(), saved);
}

void perform(Self self, ShardAdmission::Decisions decisions) {
  for (StateUnavailable& refused : decisions.refused) {
    log_warn("storage", "step ", refused.step, ", replica ", refused.replica, ": ", refused.reason);
    post(self, to_supervisor(), std::move(refused));
  }
  for (const auto& [step, replica, sender] : decisions.dropped) {
    log_refusal("storage", self->state.dropped.refused(self->clock().now()), "step ", step, ": process ", sender,
                " sends a shard in the name of replica ", replica, ", which the journal has elsewhere or not at all");
  }
  for (const SaveShard& shard : decisions.taken) save(self, shard);
}

void offered(Self self, const SaveShard& shard) {
  ShardAdmission& admission = *self->state.settings.admission;
  perform(self, admission.offer(shard, self->clock().now()));
  if (!admission.is_empty()) ask_for_pieces(self);
}

void follow(Self self, ShardAdmission::Decisions decisions) {
  close_unread(self);
  perform(self, std::move(decisions));
}

// A letter or an entry that came before the tick was due was in the mailbox before it: it has been taken, however long
// the disk held that up.
void tick(Self self) {
  const Instant due = std::exchange(self->state.tick_at, std::nullopt).value_or(Instant{});
  close_unread(self);
  for (StateUnavailable& lost : self->state.settings.intake->lost(due)) post(self, to_supervisor(), std::move(lost));
  perform(self, self->state.settings.admission->give_up(due));
  ask_for_pieces(self);
}

// Goes on with what an earlier life took.
void go_on(Self self) {
  if (auto lost = self->state.settings.intake->cut_short()) post(self, to_supervisor(), *std::move(lost));
  ask_for_pieces(self);
}

// The state that is asked for, as it was verified.
Result<StateToGive> state_for(StorageState& state, const FetchState& wanted) {
  const std::pair key(wanted.replica, wanted.step);
  const auto known = state.to_give.find(key);
  if (known != state.to_give.end() && wanted.offset > 0) return known->second;
  if (!state.opened || state.opened->manifest().step != wanted.step) {
    auto opened = Checkpoint::open(checkpoint_folder(state.settings.writer->settings().folder, wanted.step),
                                   state.settings.writer->settings().run);
    if (!opened) return opened.failure();
    state.opened = std::move(opened.value());
  }
  auto image = state.opened->source_of(wanted.names);
  if (!image) return image.failure();
  if (GivenImages::kReplicasMax.is_reached_by(state.to_give.size())) state.to_give.erase(state.to_give.begin());
  const CheckpointManifest& manifest = state.opened->manifest();
  StateToGive given{std::move(image.value()), manifest.optimizer_step, manifest.tokens_total};
  state.to_give.insert_or_assign(key, given);
  return given;
}

Result<StateImage> read_piece(StorageState& state, const FetchState& wanted) {
  const auto given = state_for(state, wanted);
  if (!given) return given.failure();
  const std::uint64_t total = given->image->byte_count();
  if (wanted.offset > total) return fail(Error::kInvalidData, "a piece behind the state's end is asked for");
  auto bytes = given->image->read(wanted.offset, kImagePieceBytes);
  if (!bytes) return bytes.failure();
  return StateImage{
      wanted.replica, wanted.step, std::move(bytes.value()), {}, given->optimizer_step, given->tokens_total,
      wanted.offset,  total};
}

void fetch(Self self, const FetchState& wanted) {
  auto& state = self->state;
  if (wanted.offset == 0 && !state.given.is_due(wanted.replica, self->clock().now())) return;
  const TracedSpan span(state.trace, cause_of(wanted.branch, wanted.step, {}), "load");
  auto piece = read_piece(state, wanted);
  state.opened_at = self->clock().now();
  const Address to = to_stage({}, wanted.replica);
  if (!piece) return post(self, to, StateUnavailable{wanted.replica, wanted.step, piece.failure().message});
  post(self, to, std::move(piece.value()));
  if (wanted.offset == 0) state.given.given(wanted.replica, self->clock().now());
}

// A piece that cannot be kept is not confirmed: its sender tries again. None is beyond the bound that its sender knows.
void keep(Self self, const FileChunk& chunk) {
  RemoteFiles& files = *self->state.files;
  const auto size = files.keep(chunk);
  if (!size && files.is_news(chunk, size.failure())) log_warn("storage", size.failure().message);
  if (!size) return;
  if (files.is_last(chunk, *size)) log_warn("storage", "the file of ", chunk.name, " is full; the rest is not kept");
  post(self, {chunk.process, Role::kTracer, {}, {}}, FileKept{chunk.kind, size.value()});
}

// The giver of a shard hears of it, too, so that it keeps what it has not sent yet.
void arriving(Self self, const StateProgress& progress) {
  StorageState& state = self->state;
  const Instant now = self->clock().now();
  if (progress.is_shard) {
    const Address giver{{}, Role::kStage, progress.stage, progress.replica};
    state.settings.intake->arriving(progress, now);
    return post(self, giver, progress);  // keeps what it gives, also while a first piece is on its way
  }
  state.given.arriving(progress.replica, progress.bytes, now);
  if (state.to_give.contains({progress.replica, progress.step})) state.opened_at = now;
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
  state.settings.admission->begin_life();
  state.pulse = enter(state.settings.board, "storage");
  self->send(state.settings.router,
             Attach{Role::kStorage, {}, {}, caf::actor_cast<caf::actor>(self), state.pulse, state.settings.taken});
  go_on(self);
  return {
      [](const Inject& order) { suffer(order); },
      hear<Hearer::kStorage>(BodyHandlers{
          [self](const SaveShard& shard) { took(self), offered(self, shard); },
          [self](const FetchState& wanted) { took(self), fetch(self, wanted); },
          [self](const StateProgress& progress) { arriving(self, progress); },
          [self](const FileChunk& chunk) { keep(self, chunk), close_unread(self); },
      }),
      [self](const JournalSoFar& past) { follow(self, self->state.settings.admission->begin_at(*past.view)); },
      [self](const JournalEntry& entry) { follow(self, self->state.settings.admission->follow(entry)); },
      [self](const Tick&) { tick(self); },
      caf::after(kOpenedFor) >> [self] { close_unread(self); },  // nothing came meanwhile
  };
}

}  // namespace shoal
