// One fingerprint for all renamings of a state: the replicas that a run begins with are alike, and so are microbatches.
//
// The smallest hash of the states that a renaming gives is taken. Hashes have 64 bits: in a search of ten million
// states the chance that two of them collide is about 3 in a million.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/protocol/explore/hash.h"
#include "tests/protocol/step/step_model.h"

namespace shoal::protocol {
namespace {

struct Renaming {
  std::array<bool, kStages> swaps_replicas;  // the first two of a stage
  bool swaps_microbatches;

  [[nodiscard]] Byte replica(int r) const {
    const bool is_swapped = r < kReplicas && !is_joiner(r) && swaps_replicas[stage_of(r)];
    return byte(is_swapped ? 2 * first_of(stage_of(r)) + 1 - r : r);
  }
  [[nodiscard]] int members(int stage, int mask) const {
    return swaps_replicas[stage] ? (mask & 4) | (mask & 1) << 1 | (mask >> 1 & 1) : mask;
  }
  [[nodiscard]] int place(int stage, int index) const { return swaps_replicas[stage] && index < 2 ? 1 - index : index; }
  // The place of a hop, so many stages behind the receiver of a Forward.
  [[nodiscard]] int place_at(Message forward, int further, int index) const {
    const int stage = stage_of(forward.to()) + further;
    return stage < kStages ? place(stage, index) : index;
  }
  [[nodiscard]] int holders(int stage, int map) const {
    const int first = place(stage, holder_in(map, 0)), second = place(stage, holder_in(map, 1));
    return swaps_microbatches ? second | first << 2 : first | second << 2;
  }
  template <class Values>
  void microbatches(Values& values) const {
    if (swaps_microbatches) std::swap(values[0], values[1]);
  }
  [[nodiscard]] int microbatch_bits(int bits) const {
    return swaps_microbatches ? (bits & 1) << 1 | (bits >> 1 & 1) : bits;
  }
  void requests(Requests& values) const {
    for (auto* each : {&values.state, &values.hop, &values.answered_by}) microbatches(*each);
    for (Byte& hop : values.hop) hop = replica(hop);
    for (Byte& answerer : values.answered_by) answerer = replica(answerer);
  }
  [[nodiscard]] Message message(Message m) const;
  void state(const State& from, State& to) const;
};

Message Renaming::message(Message m) const {
  MessageFields fields{m.from(), m.to(), m.step(), m.epoch(), m.payload()};
  switch (m.kind()) {
    case Kind::kForward:
    case Kind::kReply:
    case Kind::kRefusal:
      fields.from = replica(fields.from);
      fields.to = replica(fields.to);
      if (m.kind() == Kind::kForward)
        fields.payload = (m.payload() & 3) | place_at(m, 1, m.next()) << 2 | place_at(m, 2, m.after_next()) << 4;
      [[fallthrough]];
    case Kind::kMissing: fields.payload ^= int{swaps_microbatches}; break;
    case Kind::kManifest:
      fields.from = replica(fields.from);
      fields.payload = microbatch_bits(fields.payload);
      break;
    case Kind::kPart:
      fields.from = replica(fields.from);
      if (swaps_microbatches) fields.payload = m.count(0) << 2 | m.count(1) | (m.payload() & 16);
      break;
    case Kind::kHolders: fields.payload = holders(m.stage(), fields.payload); break;
    case Kind::kReduced: fields.from = replica(fields.from); break;
    case Kind::kReduce: fields.payload = members(m.stage(), m.payload()); break;
    case Kind::kVote: fields.payload = m.position() | members(m.stage(), m.voting_members()) << 4; break;
    default: break;
  }
  return {m.kind(), fields};
}

// All but the messages.
void Renaming::state(const State& from, State& to) const {
  std::memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), offsetof(State, messages));
  for (int r = 0; r < kReplicas; ++r) {
    Replica& renamed = to.replicas[replica(r)];
    renamed = from.replicas[r];
    for (auto* values : {&renamed.ledger, &renamed.accumulated, &renamed.sum, &renamed.kept, &renamed.waiters}) {
      microbatches(*values);
    }
    const int before = stage_of(r) - 1;
    for (Byte& waiters : renamed.waiters) waiters = before < 0 ? waiters : byte(members(before, waiters));
    requests(renamed.requests);
  }
  requests(to.loader.requests);
  for (Group& group : to.groups) group.missing = byte(microbatch_bits(group.missing));
  for (int stage = 0; stage < kStages; ++stage) to.loader.held[stage] = byte(holders(stage, to.loader.held[stage]));
  to.loader.answered = byte(microbatch_bits(to.loader.answered));
  for (int k = 0; k < to.log_size; ++k) {
    const Entry entry = to.log[k];
    if (entry.is_quarantine()) to.log[k] = Entry::quarantine(entry.microbatch() ^ int{swaps_microbatches});
    if (entry.is_removal()) to.log[k] = Entry::remove(replica(entry.replica()));
    if (entry.is_addition()) to.log[k] = Entry::add(replica(entry.replica()));
  }
}

std::uint64_t hash_of(const State& state, const Renaming& renaming) {
  State renamed;
  renaming.state(state, renamed);
  std::uint64_t hash = hash_bytes(&renamed, offsetof(State, message_count));
  for (int k = 0; k < state.message_count; ++k) hash += hash_number(renaming.message(state.message(k)).bits());
  return finish_hash(hash);
}

}  // namespace

std::uint64_t StepModel::fingerprint(const State& state) const {
  std::uint64_t best = ~std::uint64_t{0};
  for (int swaps = 0; swaps < 2 << kStages; ++swaps) {
    const Renaming renaming{{is_in(swaps, 0), is_in(swaps, 1), is_in(swaps, 2)}, is_in(swaps, kStages)};
    bool is_allowed = !renaming.swaps_microbatches || scope.microbatches == 2;
    for (int stage = 0; stage < kStages; ++stage) {
      is_allowed &= !renaming.swaps_replicas[stage] || scope.replicas[stage] >= 2;
    }
    if (is_allowed) best = std::min(best, hash_of(state, renaming));
  }
  return best;
}

}  // namespace shoal::protocol
