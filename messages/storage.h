// State on its way to and from disk. A shard travels as one safetensors image (uint8 [n]).
//
//   stage ──SaveShard──▶ storage ──CheckpointSaved | CheckpointFailed──▶ supervisor      (all shards in, manifest last)
//   stage ──FetchState──▶ storage ──StateImage | StateUnavailable──▶ stage
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
  TensorBlob image;
  friend bool operator==(const SaveShard&, const SaveShard&) = default;
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

struct FetchState {
  Incarnation replica;
  std::uint64_t step = 0;
  std::vector<std::string> names;  // weights; their optimizer.* tensors come along
  friend bool operator==(const FetchState&, const FetchState&) = default;
};

struct StateImage {
  Incarnation replica;
  std::uint64_t step = 0;
  TensorBlob image;
  friend bool operator==(const StateImage&, const StateImage&) = default;
};

struct StateUnavailable {
  Incarnation replica;
  std::uint64_t step = 0;
  std::string reason;
  friend bool operator==(const StateUnavailable&, const StateUnavailable&) = default;
};

}  // namespace shoal
