// One call of the executor per kind of job.
#include "runtime/pipeline/replica_job.h"

#include <utility>

#include "messages/values/one_of_members.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

struct Runner {
  StageExecutor& executor;

  JobResult operator()(const ForwardJob& job) const {
    return Forwarded{job.work.microbatch, executor.forward(job.work)};
  }
  JobResult operator()(const LossJob& job) const {
    return finish(job.work.microbatch, executor.forward_backward(job.work, job.when), job.when);
  }
  JobResult operator()(const BackwardJob& job) const {
    return finish(job.microbatch, executor.backward(job.microbatch, job.output_gradient, job.when), job.when);
  }
  JobResult operator()(const AccumulateJob& job) const {
    return Accumulated{job.microbatch, executor.accumulate(job.microbatch)};
  }
  JobResult operator()(const EvaluateJob& job) const {
    return Evaluated{job.work.microbatch, executor.evaluate(job.work)};
  }
  JobResult operator()(const ZeroJob&) const {
    executor.zero();
    return Zeroed{};
  }
  JobResult operator()(const ContributeJob& job) const {
    TensorBlob values = executor.contribution();
    return Contributed{job.stays_on_device ? std::move(values) : on_host(std::move(values))};
  }
  JobResult operator()(const AdoptJob& job) const { return Adopted{executor.adopt_sum(job.sum, job.token_count)}; }
  JobResult operator()(const ApplyJob& job) const {
    if (job.update) {
      executor.apply(*job.update);
    } else {
      executor.skip();
    }
    return Applied{executor.state_digest()};
  }
  JobResult operator()(const ImageJob&) const {
    auto source = executor.image_source();
    const std::uint64_t total = source->byte_count();
    TensorBlob first = piece_of(*source, 0);
    if (!kImagePieceBytes.is_exceeded_by(total)) source = nullptr;  // that is all of it
    return Imaged{std::move(first), total, std::move(source)};
  }
  JobResult operator()(const PieceJob& job) const { return PieceRead{piece_of(*job.source, job.offset)}; }
  JobResult operator()(const LoadJob& job) const {
    if (job.image) {
      const Status loaded = executor.load_state(*job.image);
      if (!loaded) return LoadRefused{loaded.failure().message};
    }
    return Loaded{executor.state_digest()};
  }
  JobResult operator()(const LoadPieceJob& job) const {
    const auto is_whole = executor.load_piece(job.piece);
    if (!is_whole) return LoadRefused{is_whole.failure().message};
    if (!is_whole.value()) return PieceLoaded{};
    return Loaded{executor.state_digest()};
  }
  JobResult operator()(const FollowJob& job) const {
    if (!job.update) return Followed{0, executor.state_digest()};
    const ReducedSum sum = executor.adopt_sum(job.sum, job.token_count);
    executor.apply(*job.update);
    return Followed{sum.digest, executor.state_digest()};
  }
  JobResult operator()(const ContributeRoundJob& job) const {
    // Their sum is made of bytes.
    return RoundContributed{job.fragment, on_host(executor.contribute_round(job.fragment))};
  }
  JobResult operator()(const ApplyRoundJob& job) const {
    for (const RoundUpdate& update : job.updates) (void)executor.apply_round(update);
    return RoundApplied{executor.state_digest()};
  }
  JobResult operator()(const RestartFromOuterJob&) const {
    (void)executor.restart_from_outer();
    return RestartedFromOuter{executor.state_digest()};
  }

 private:
  // An executor's image lies in memory: reading it does not fail.
  [[nodiscard]] static TensorBlob piece_of(ImageSource& source, std::uint64_t offset) {
    auto piece = source.read(offset, kImagePieceBytes);
    ENSURE(piece.ok(), "a piece of an image in memory");
    return std::move(piece.value());
  }
  [[nodiscard]] Differentiated finish(MicrobatchId microbatch, BackwardResult result, WeightGradients when) const {
    Differentiated finished{microbatch, std::move(result), std::nullopt};
    if (when == WeightGradients::kAtOnce) finished.accumulated = executor.accumulate(microbatch);
    return finished;
  }
};

}  // namespace

SHOAL_INSTANTIATE_ONE_OF(Job);
SHOAL_INSTANTIATE_ONE_OF(JobResult);

JobResult run_job(StageExecutor& executor, const Job& job) { return std::visit(Runner{executor}, job); }

}  // namespace shoal
