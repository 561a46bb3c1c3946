// The fields of journal entries, as they travel and as the journal stores them. Private to codec.cpp.
//
// A stored entry must stay readable by later versions: fields are only ever added.
#pragma once

#include <cmath>

#include "messages/fields/view_state.h"
#include "messages/journal.capnp.h"

namespace shoal::codec {

SHOAL_FIELDS(AddReplica) {
  FIELD(stage, Stage);
  FIELD(slot, Slot);
  FIELD(replica, Replica);
  FIELD(process, Process);
  FIELD(version, Version);
}

SHOAL_FIELDS(RemoveReplica) {
  FIELD(stage, Stage);
  FIELD(replica, Replica);
  FIELD(reason, Reason);
}

SHOAL_FIELDS(StageCommit) {
  FIELD(stage, Stage);
  PART(epoch, Epoch);
  FIELD(digest, Digest);
  LIST(manifests, Manifests);
}

SHOAL_FIELDS(Commit) {
  FIELD(step, Step);
  LIST(stages, Stages);
  LIST(norms, Norms);
  FIELD(gradient_norm, GradientNorm);
  FIELD(loss_sum, LossSum);
  FIELD(token_count, TokenCount);
  FIELD(learning_rate, LearningRate);
  FIELD(clip_scale, ClipScale);
  FIELD(optimizer_step, OptimizerStep);
  if constexpr (Io::kWrites) {
    wire.setIsSkipped(m.skip.has_value());
    if (m.skip) wire.setSkipTensor(m.skip->tensor);
    if (m.skip) wire.setSkipMicrobatch(m.skip->microbatch.value);
  } else if (wire.getIsSkipped()) {
    from_wire(wire.getSkipTensor(), m.skip.emplace().tensor);
    from_wire(wire.getSkipMicrobatch(), m.skip->microbatch);
  }
  SCALARS(checkpoint_by, CheckpointBy);
  FIELD(is_last, IsLast);
  FIELD(step_ms, StepMs);
  FIELD(is_partly_timed, IsPartlyTimed);
  if constexpr (!Io::kWrites) {
    if (!std::isfinite(m.step_ms) || m.step_ms < 0) throw Malformed{"a step's time that is no time"};
  }
}

SHOAL_FIELDS(FinishRun) { FIELD(reason, Reason); }

SHOAL_FIELDS(Quarantine) {
  FIELD(step, Step);
  FIELD(microbatch, Microbatch);
  FIELD(reason, Reason);
}

SHOAL_FIELDS(CommitRound) {
  FIELD(stage, Stage);
  FIELD(step, Step);
  FIELD(round.number, Round);
  FIELD(round.fragment, Fragment);
  PART(epoch, Epoch);
  FIELD(digest, Digest);
  LIST(shares, Shares);
  FIELD(tokens_lost, TokensLost);
  SCALARS(lost, Lost);
  FIELD(trained_again_from, TrainedAgainFrom);
}

template <class Wire>
void write_body(Writer& io, Wire body, const JournalBody& value) {
  std::visit(
      [&](const auto& entry) {
        using T = std::decay_t<decltype(entry)>;
        if constexpr (std::is_same_v<T, AddReplica>) fields(io, body.initAddReplica(), entry);
        if constexpr (std::is_same_v<T, RemoveReplica>) fields(io, body.initRemoveReplica(), entry);
        if constexpr (std::is_same_v<T, AppointGroup>) fields(io, body.initAppointGroup(), entry);
        if constexpr (std::is_same_v<T, Commit>) fields(io, body.initCommit(), entry);
        if constexpr (std::is_same_v<T, FinishRun>) fields(io, body.initFinishRun(), entry);
        if constexpr (std::is_same_v<T, Quarantine>) fields(io, body.initQuarantine(), entry);
        if constexpr (std::is_same_v<T, CommitRound>) fields(io, body.initCommitRound(), entry);
      },
      value);
}

template <class Wire>
void read_body(Reader& io, Wire body, JournalBody& value) {
  switch (body.which()) {
    case wire::JournalEntry::Body::ADD_REPLICA: return fields(io, body.getAddReplica(), value.emplace<AddReplica>());
    case wire::JournalEntry::Body::REMOVE_REPLICA:
      return fields(io, body.getRemoveReplica(), value.emplace<RemoveReplica>());
    case wire::JournalEntry::Body::APPOINT_GROUP:
      return fields(io, body.getAppointGroup(), value.emplace<AppointGroup>());
    case wire::JournalEntry::Body::COMMIT: return fields(io, body.getCommit(), value.emplace<Commit>());
    case wire::JournalEntry::Body::FINISH_RUN: return fields(io, body.getFinishRun(), value.emplace<FinishRun>());
    case wire::JournalEntry::Body::QUARANTINE: return fields(io, body.getQuarantine(), value.emplace<Quarantine>());
    case wire::JournalEntry::Body::COMMIT_ROUND: return fields(io, body.getCommitRound(), value.emplace<CommitRound>());
  }
  throw Malformed{"a journal entry of a kind this version does not know"};
}

SHOAL_FIELDS(JournalEntry) {
  FIELD(position, Position);
  FIELD(branch, Branch);
  FIELD(term, Term);
  if constexpr (Io::kWrites) {
    write_body(io, wire.initBody(), m.body);
  } else {
    read_body(io, wire.getBody(), m.body);
  }
}

SHOAL_FIELDS(JournalEntries) {
  FIELD(run, Run);
  FIELD(term, Term);
  LIST(entries, Entries);
  if constexpr (Io::kWrites) {
    wire.setHasPast(m.past.has_value());
    if (m.past) fields(io, wire.initPast(), *m.past);
  } else if (wire.getHasPast()) {
    fields(io, wire.getPast(), m.past.emplace());
  }
}

SHOAL_FIELDS(FetchJournal) {
  FIELD(process, Process);
  FIELD(after, After);
}

}  // namespace shoal::codec
