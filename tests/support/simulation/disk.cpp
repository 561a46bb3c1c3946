// No file fails here, and none is slow.
#include "tests/support/simulation/disk.h"

#include <utility>

#include "actors/hear.h"
#include "runtime/storage/image/image_source.h"
#include "tests/support/fake_executor.h"

namespace shoal {
namespace {

using Self = caf::stateful_actor<SimulatedDisk>*;
constexpr auto kTickPeriod = std::chrono::seconds(1);

void keep_shard(SwarmRecord& record, const RouterActor& mail, const SaveShard& shard, bool is_real) {
  if (!is_real) record.saved[{shard.step, shard.stage}] = values_of(shard.image);
  if (is_real) record.shards[{shard.step, shard.stage}] = shard;
  for (std::uint32_t stage = 0; stage < shard.stages; ++stage) {
    const std::pair shard_of{shard.step, StageId{stage}};
    if (!record.saved.contains(shard_of) && !record.shards.contains(shard_of)) return;
  }
  caf::anon_send(mail, Letter{{}, to_supervisor(), CheckpointSaved{shard.branch, shard.step, "kept", 1, 0}});
}

void tell_whole(const RouterActor& mail, const SaveShard& shard, std::uint64_t bytes) {
  const StateProgress progress{shard.branch, shard.step, shard.stage, shard.replica, {}, true, 2 * bytes, 2 * bytes};
  caf::anon_send(mail, Letter{{}, to_supervisor(), progress});
}

void ask_for_pieces(Self self, const RouterActor& mail) {
  const Instant now = self->clock().now();
  for (const FetchShard& question : self->state.intake.due(now)) {
    caf::anon_send(mail, Letter{{}, Address{{}, Role::kStage, question.stage, question.replica}, question});
  }
  for (const StateUnavailable& lost : self->state.intake.lost(now)) {
    caf::anon_send(mail, Letter{{}, to_supervisor(), lost});
  }
  const bool is_idle = self->state.intake.is_empty() && self->state.admission.is_empty();
  if (is_idle || std::exchange(self->state.is_ticking, true)) return;
  self->delayed_send(self, kTickPeriod, Tick{});
}

// The parts of the disk's place in the swarm.
struct DiskPlace {
  std::shared_ptr<SwarmRecord> record;
  RouterActor mail;
  bool is_real = false;
};

void take_piece(Self self, const DiskPlace& place, SaveShard shard) {
  const auto& [record, mail, is_real] = place;
  const Instant now = self->clock().now();
  if (!self->state.intake.accepts(shard, now)) return ask_for_pieces(self, mail);
  self->state.intake.written(shard, now);
  const bool is_piece = shard.offset > 0 || shard.image.byte_count() < shard.bytes_total;
  if (is_piece) {
    auto& pieces = self->state.pieces[{shard.branch, shard.step, shard.stage}];
    pieces.resize(shard.offset);
    const auto* from = shard.image.as<std::byte>();
    pieces.insert(pieces.end(), from, from + shard.image.byte_count());
    if (pieces.size() == shard.bytes_total) {
      shard.image = joined_values(pieces);
      if (is_real) shard.image = {DType::kUint8, {static_cast<std::int64_t>(pieces.size())}, shard.image.bytes};
      self->state.pieces.erase({shard.branch, shard.step, shard.stage});
      tell_whole(mail, shard, shard.bytes_total);
      keep_shard(*record, mail, shard, is_real);
    }
  } else {
    keep_shard(*record, mail, shard, is_real);
  }
  ask_for_pieces(self, mail);
}

void perform(Self self, const DiskPlace& place, ShardAdmission::Decisions decisions) {
  for (const StateUnavailable& refused : decisions.refused) {
    caf::anon_send(place.mail, Letter{{}, to_supervisor(), refused});
  }
  for (SaveShard& shard : decisions.taken) take_piece(self, place, std::move(shard));
  if (!self->state.admission.is_empty()) ask_for_pieces(self, place.mail);
}

void give_state(const SwarmRecord& record, const RouterActor& mail, const FetchState& wanted) {
  const auto saved = record.saved.find({wanted.step, record.stage_of.at(wanted.replica)});
  const Address to = to_stage({}, wanted.replica);
  if (saved == record.saved.end()) {
    return caf::anon_send(mail, Letter{{}, to, StateUnavailable{wanted.replica, wanted.step, "never saved"}});
  }
  StateImage image;
  image.replica = wanted.replica;
  image.step = wanted.step;
  image.image = make_values(DType::kInt64, saved->second);
  image.offset = wanted.offset;
  image.bytes_total = image.image.byte_count();
  const bool is_piece = wanted.offset > 0 || image.bytes_total > kImagePieceBytes;
  if (is_piece) image.image = WholeImage(image.image).read(wanted.offset, kImagePieceBytes).value();
  caf::anon_send(mail, Letter{{}, to, std::move(image)});
}

}  // namespace

caf::behavior simulated_disk(Self self, std::shared_ptr<SwarmRecord> record, RouterActor mail, bool is_real) {
  const DiskPlace place{record, mail, is_real};
  return {hear<Hearer::kStorage>(BodyHandlers{
              [self, place](const SaveShard& shard) {
                perform(self, place, self->state.admission.offer(shard, self->clock().now()));
              },
              [record, mail](const FetchState& wanted) { give_state(*record, mail, wanted); },
              [self, mail](const StateProgress& progress) {
                const Address giver{{}, Role::kStage, progress.stage, progress.replica};
                if (!progress.is_shard) return;
                self->state.intake.arriving(progress, self->clock().now());
                caf::anon_send(mail, Letter{{}, giver, progress});
              },
              [](const FileChunk&) {},
          }),
          [self, place](const JournalSoFar& past) { perform(self, place, self->state.admission.begin_at(*past.view)); },
          [self, place](const JournalEntry& entry) { perform(self, place, self->state.admission.follow(entry)); },
          [self, place](const Tick&) {
            self->state.is_ticking = false;
            perform(self, place, self->state.admission.give_up(self->clock().now()));
            ask_for_pieces(self, place.mail);
          }};
}

StartPoint newest_saved(const SwarmRecord& record, std::uint32_t stages, std::uint64_t not_beyond) {
  std::map<std::uint64_t, std::uint32_t> counts;
  for (const auto& [key, weights] : record.saved) ++counts[key.first];
  StartPoint start;
  for (const auto& [step, count] : counts) {
    if (count == stages && step <= not_beyond) start = {step, step, true, "kept"};
  }
  return start;
}

}  // namespace shoal
