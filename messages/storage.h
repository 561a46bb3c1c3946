// State on its way to and from disk: safetensors images (uint8 [n]). A large one travels in pieces (P-26b): whoever
// gives it sends the first one, and the others as they are asked for.
//
//   stage ──SaveShard──▶ storage ──CheckpointSaved | CheckpointFailed──▶ supervisor      (all shards in, manifest last)
//   storage ──FetchShard──▶ stage ──SaveShard──▶ storage: a further piece
//   supervisor ──SaveState──▶ stage: save again what was lost on its way
//   joining stage ──FetchState──▶ storage, or a replica of its stage ──StateImage | StateUnavailable──▶ joining stage
//   donor ──StepSum, of each step since its image──▶ joining stage; of a round ──▶ FetchState's sender, which missed it
//   receiver of state ──StateProgress──▶ its giver, supervisor: how far it has come
//   router ──StateUnavailable──▶ supervisor: a shard that a broken link may have lost; storage: one that it does not
//   have node's tracer ──FileChunk──▶ storage ──FileKept──▶ node's tracer: logs and traces of processes on other
//   machines
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "messages/tensor_blob.h"

namespace shoal {

struct SaveShard {
  RunId run;
  Branch branch;
  std::uint64_t step = 0;            // steps applied
  std::uint64_t optimizer_step = 0;  // updates applied
  std::uint64_t tokens_total = 0;
  StageId stage;
  std::uint32_t stages = 0;
  Incarnation replica;
  TensorBlob image;               // from `offset` on
  std::uint64_t offset = 0;       // in the shard's image
  std::uint64_t bytes_total = 0;  // of that image; 0: this is all of it
  // The sender. It does not travel: the router that hands the shard over fills it in, by the link that it came over.
  ProcessIncarnation process{};
  friend bool operator==(const SaveShard&, const SaveShard&) = default;
};

// Give the piece of the shard that begins at `offset`. What is before `held` is not asked for again; all of it: the
// shard has come.
struct FetchShard {
  Branch branch;
  std::uint64_t step = 0;
  StageId stage;
  Incarnation replica;  // the replica that gives it
  std::uint64_t offset = 0;
  std::uint64_t held = 0;
  friend bool operator==(const FetchShard&, const FetchShard&) = default;
};

struct CheckpointSaved {
  Branch branch;
  std::uint64_t step = 0;
  std::string weights_sha256;
  std::uint64_t byte_count = 0;
  double seconds = 0;
  friend bool operator==(const CheckpointSaved&, const CheckpointSaved&) = default;
};

struct CheckpointFailed {
  Branch branch;
  std::uint64_t step = 0;
  std::string reason;
  friend bool operator==(const CheckpointFailed&, const CheckpointFailed&) = default;
};

// Save the state you hold after this step, if you still hold it: the replica named in the commit is lost, or its shard.
struct SaveState {
  Branch branch;
  std::uint64_t step = 0;
  StageId stage;
  Incarnation replica;
  friend bool operator==(const SaveState&, const SaveState&) = default;
};

struct FetchState {
  Incarnation replica;
  std::uint64_t step = 0;          // steps applied of the state wanted; by a member: at a round that it missed
  std::vector<std::string> names;  // weights; their optimizer.* tensors come along
  Incarnation donor{};             // a replica of the same stage; 0: storage
  Branch branch{};
  // A further piece of the image of `step`, as in FetchShard. 0: the first one, of `step` or a later one.
  std::uint64_t offset = 0;
  std::uint64_t held = 0;
  friend bool operator==(const FetchState&, const FetchState&) = default;
};

struct StateImage {
  Incarnation replica;
  std::uint64_t step = 0;
  TensorBlob image;
  Incarnation donor{};  // 0: storage
  std::uint64_t optimizer_step = 0;
  std::uint64_t tokens_total = 0;
  std::uint64_t offset = 0;       // as in SaveShard
  std::uint64_t bytes_total = 0;  // as in SaveShard
  // From its first frame to its last. It does not travel: a router that has it from a link fills it in.
  double on_its_way_ms = 0;
  friend bool operator==(const StateImage&, const StateImage&) = default;
};

// Sum that the members of a stage hold: a step's, int64 (exact) or float32 [n], as in Part; or a round's mean, float32.
struct StepSum {
  Incarnation replica;  // the receiver
  Incarnation donor;
  Branch branch;
  StepId step;  // for a round: as in OrderId
  std::uint64_t token_count = 0;
  TensorBlob values;  // none: the step was skipped
  friend bool operator==(const StepSum&, const StepSum&) = default;
};

// Progress of a state that is on its way; said about once a second, so that slow is not taken for lost. Of
// a shard also how much of it is written.
struct StateProgress {
  Branch branch;
  std::uint64_t step = 0;  // steps applied of that state; of a StepSum, its step
  StageId stage;
  Incarnation replica;    // the replica that joins or starts with it; for a shard, its owner
  Incarnation donor{};    // the replica that gave it; 0: storage, or it is a shard
  bool is_shard = false;  // for a checkpoint
  std::uint64_t bytes = 0;
  std::uint64_t bytes_total = 0;
  double on_its_way_ms = 0;  // for how long letters with these bytes came in; not while their giver did something else
  friend bool operator==(const StateProgress&, const StateProgress&) = default;
};

enum class FileKind : std::uint8_t { kLog, kTrace };

// A piece of a node's file for the run directory. Without bytes: how far does the file go?
struct FileChunk {
  std::string name;  // the node's name; for its second or third device node2-1 and so on
  FileKind kind = FileKind::kLog;
  std::uint64_t offset = 0;      // in the run directory's file; its end, or before it
  std::uint64_t dropped = 0;     // bytes that the sender gave up so far: they are not in the file
  TensorBlob bytes;              // uint8 [n]
  ProcessIncarnation process{};  // the sender; its router fills it in
  friend bool operator==(const FileChunk&, const FileChunk&) = default;
};

struct FileKept {
  FileKind kind = FileKind::kLog;
  std::uint64_t size = 0;  // size of the file, that piece included
  friend bool operator==(const FileKept&, const FileKept&) = default;
};

struct StateUnavailable {
  Incarnation replica;  // the replica that waits for it; for a shard, its owner
  std::uint64_t step = 0;
  std::string reason;
  Incarnation donor{};  // the replica that cannot give it, or gave it; 0: storage says it, also of a shard
  friend bool operator==(const StateUnavailable&, const StateUnavailable&) = default;
};

}  // namespace shoal
