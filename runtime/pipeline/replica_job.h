// Jobs that a replica's core gives to its device, as values: a Job and its JobResult, and the function that runs them.
//
// The core decides, the executor computes: the actor hands each Job to its JobRunner (job_runner.h) and gives the
// result back to the core, which hears no order in the middle of a computation (jobs_under_way.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/ids.h"
#include "messages/tensor_blob.h"
#include "messages/values/one_of.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

struct ForwardJob {
  MicrobatchWork work;
};
struct LossJob {  // last stage: forward, loss and backward at once
  MicrobatchWork work;
  WeightGradients when = WeightGradients::kAtOnce;
};
struct BackwardJob {
  MicrobatchId microbatch;
  TensorBlob output_gradient;
  WeightGradients when = WeightGradients::kAtOnce;
};
// Does what a LossJob or BackwardJob has left for later.
struct AccumulateJob {
  MicrobatchId microbatch;
};
struct EvaluateJob {
  MicrobatchWork work;
};
struct ZeroJob {};
struct ContributeJob {
  bool stays_on_device = false;  // who sums it reads it there; else its bytes are needed
};
struct AdoptJob {
  TensorBlob sum;
  std::uint64_t token_count = 0;
};
struct ApplyJob {
  std::optional<UpdateOrder> update;  // none: the step is skipped
};
// The image of the state: all of it, or its first piece where it is larger than that.
struct ImageJob {};
// A further piece of an image.
struct PieceJob {
  std::shared_ptr<ImageSource> source;
  std::uint64_t offset = 0;
};
struct LoadJob {
  std::optional<TensorBlob> image;  // none: the state the executor was made with
};
// A piece of an image that is loaded in its order; the last one gives Loaded.
struct LoadPieceJob {
  ImagePiece piece;
};
// A step that the members of the stage have committed, repeated by a joiner.
struct FollowJob {
  TensorBlob sum;
  std::uint64_t token_count = 0;
  std::optional<UpdateOrder> update;  // none: the step was skipped
};
struct ContributeRoundJob {
  std::uint32_t fragment = 0;
};
// Everything that is due at one boundary between steps.
struct ApplyRoundJob {
  std::vector<RoundUpdate> updates;
};
struct RestartFromOuterJob {};

using Job =
    OneOf<ForwardJob, LossJob, BackwardJob, AccumulateJob, EvaluateJob, ZeroJob, ContributeJob, AdoptJob, ApplyJob,
          ImageJob, PieceJob, LoadJob, LoadPieceJob, FollowJob, ContributeRoundJob, ApplyRoundJob, RestartFromOuterJob>;

struct Forwarded {
  MicrobatchId microbatch;
  TensorBlob activation;
};
struct Differentiated {
  MicrobatchId microbatch;
  BackwardResult result;
  std::optional<AccumulateResult> accumulated;  // none: left for later
};
struct Accumulated {
  MicrobatchId microbatch;
  AccumulateResult result;
};
struct Evaluated {
  MicrobatchId microbatch;
  EvaluateResult result;
};
struct Zeroed {};
struct Contributed {
  TensorBlob values;
};
struct Adopted {
  ReducedSum sum;
};
struct Applied {
  std::uint64_t state_digest = 0;
};
struct Imaged {
  TensorBlob image;                             // its first piece, where there are others
  std::uint64_t bytes_total = 0;                // of the image
  std::shared_ptr<ImageSource> rest = nullptr;  // for the other pieces; none: there are none
};
struct PieceRead {
  TensorBlob bytes;
};
struct Loaded {
  std::uint64_t state_digest = 0;
};
struct PieceLoaded {};
struct LoadRefused {
  std::string reason;
};
struct Followed {
  std::uint64_t sum_digest = 0;
  std::uint64_t state_digest = 0;
};
struct RoundContributed {
  std::uint32_t fragment = 0;
  TensorBlob values;
};
struct RoundApplied {
  std::uint64_t state_digest = 0;
};
struct RestartedFromOuter {
  std::uint64_t state_digest = 0;
};

using JobResult =
    OneOf<Forwarded, Differentiated, Accumulated, Evaluated, Zeroed, Contributed, Adopted, Applied, Imaged, PieceRead,
          Loaded, PieceLoaded, LoadRefused, Followed, RoundContributed, RoundApplied, RestartedFromOuter>;

// Runs to the end on the calling thread. A bug in the executor throws and ends the actor.
[[nodiscard]] JobResult run_job(StageExecutor& executor, const Job& job);

}  // namespace shoal
