// The fields of the messages about state on its way: storage.h. Private to codec.cpp.
//
// One list per message serves both directions (io.h).
#pragma once

#include <cmath>

#include "messages/fields/io.h"

namespace shoal::codec {

SHOAL_FIELDS(SaveShard) {
  FIELD(run, Run);
  FIELD(branch, Branch);
  FIELD(step, Step);
  FIELD(optimizer_step, OptimizerStep);
  FIELD(tokens_total, TokensTotal);
  FIELD(stage, Stage);
  FIELD(stages, Stages);
  FIELD(replica, Replica);
  PART(image, Image);
  FIELD(offset, Offset);
  FIELD(bytes_total, BytesTotal);
}

SHOAL_FIELDS(FetchShard) {
  FIELD(branch, Branch);
  FIELD(step, Step);
  FIELD(stage, Stage);
  FIELD(replica, Replica);
  FIELD(offset, Offset);
  FIELD(held, Held);
}

SHOAL_FIELDS(CheckpointSaved) {
  FIELD(branch, Branch);
  FIELD(step, Step);
  FIELD(weights_sha256, WeightsSha256);
  FIELD(byte_count, ByteCount);
  FIELD(seconds, Seconds);
}

SHOAL_FIELDS(CheckpointFailed) {
  FIELD(branch, Branch);
  FIELD(step, Step);
  FIELD(reason, Reason);
}

SHOAL_FIELDS(SaveState) {
  FIELD(branch, Branch);
  FIELD(step, Step);
  FIELD(stage, Stage);
  FIELD(replica, Replica);
}

SHOAL_FIELDS(FetchState) {
  FIELD(replica, Replica);
  FIELD(step, Step);
  SCALARS(names, Names);
  FIELD(donor, Donor);
  FIELD(branch, Branch);
  FIELD(offset, Offset);
  FIELD(held, Held);
}

SHOAL_FIELDS(StateImage) {
  FIELD(replica, Replica);
  FIELD(step, Step);
  PART(image, Image);
  FIELD(donor, Donor);
  FIELD(optimizer_step, OptimizerStep);
  FIELD(tokens_total, TokensTotal);
  FIELD(offset, Offset);
  FIELD(bytes_total, BytesTotal);
}

SHOAL_FIELDS(StepSum) {
  FIELD(replica, Replica);
  FIELD(donor, Donor);
  FIELD(branch, Branch);
  FIELD(step, Step);
  FIELD(token_count, TokenCount);
  PART(values, Values);
}

SHOAL_FIELDS(StateProgress) {
  FIELD(branch, Branch);
  FIELD(step, Step);
  FIELD(stage, Stage);
  FIELD(replica, Replica);
  FIELD(donor, Donor);
  FIELD(is_shard, IsShard);
  FIELD(bytes, Bytes);
  FIELD(bytes_total, BytesTotal);
  FIELD(on_its_way_ms, OnItsWayMs);
  if constexpr (!Io::kWrites) {
    if (!std::isfinite(m.on_its_way_ms) || m.on_its_way_ms < 0) throw Malformed{"a time on the way that is no time"};
  }
}

SHOAL_FIELDS(FileChunk) {
  FIELD(name, Name);
  FIELD(kind, Kind);
  FIELD(offset, Offset);
  FIELD(dropped, Dropped);
  PART(bytes, Bytes);
  FIELD(process, Process);
}

SHOAL_FIELDS(FileKept) {
  FIELD(kind, Kind);
  FIELD(size, Size);
}

SHOAL_FIELDS(StateUnavailable) {
  FIELD(replica, Replica);
  FIELD(step, Step);
  FIELD(reason, Reason);
  FIELD(donor, Donor);
}

}  // namespace shoal::codec
