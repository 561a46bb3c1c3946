// Every call takes its turn on the queue first.
#include "runtime/device/queue/queued_stage_executor.h"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "model/parts/loss.h"
#include "runtime/base/ensure.h"
#include "runtime/device/host_tensor.h"
#include "runtime/device/microbatch_input.h"
#include "runtime/device/queue/queued_tensor.h"

namespace shoal {
namespace {

constexpr std::size_t kGradientsAtOnce = std::size_t{64} << 20U;  // bytes of those left for later
constexpr std::int64_t kMoreThanAny = std::int64_t{1} << 50;      // bytes: no device has them

std::uint64_t count_targets(const TensorBlob& targets) {
  ENSURE(targets.dtype == DType::kInt32 && targets.bytes, "targets are int32, and come from the host");
  const auto* begin = targets.as<std::int32_t>();
  return static_cast<std::uint64_t>(
      std::count_if(begin, begin + targets.element_count(), [](std::int32_t target) { return target >= 0; }));
}

// A turn on the queue, without autograd's graph.
class Computing {
 public:
  explicit Computing(DeviceQueue& queue) : turn_(queue.enter()) {}

 private:
  std::unique_ptr<DeviceQueue::Turn> turn_;
  at::NoGradGuard no_graph_;
};

}  // namespace

QueuedStageExecutor::QueuedStageExecutor(const Config& config, StagePlan plan, std::shared_ptr<DeviceQueue> queue,
                                         Settings settings)
    : config_(config),
      plan_(std::move(plan)),
      layout_(plan_.tensors),
      answers_(settings.answers),
      queue_(std::move(queue)),
      copies_(queue_->beside()),
      math_(std::move(settings.math)),
      borders_(config_, {queue_, copies_, math_}) {
  if (at::get_num_threads() != config_.run.threads) at::set_num_threads(config_.run.threads);
  const Computing computing(*queue_);
  state_ = std::make_unique<DeviceState>(layout_, config_, queue_->device(), *math_, settings.begins);
  const DeviceSums::Place place{queue_->device(), *math_};
  sums_ = std::make_unique<DeviceSums>(layout_, config_.sync.reduction, planned_tokens(config_), place);
  const DeviceSupport trained{math_->fused(), state_->copies()};
  const DeviceSupport agreed{math_->fused(), state_->agreed_copies()};
  models_.trained = std::make_unique<Transformer>(config_.model, plan_, state_->weights(), trained);
  models_.agreed = std::make_unique<Transformer>(config_.model, plan_, state_->agreed(), agreed);
  if (!queue_->can_record() || !StagePasses::are_fixed(config_)) return;
  passes_ = std::make_unique<StagePasses>(config_.model, plan_,
                                          StagePasses::Device{*queue_, *math_, state_->weights(), trained});
}

// Memory goes back when nothing on the device uses it any more. A device that failed says so elsewhere.
QueuedStageExecutor::~QueuedStageExecutor() {
  try {
    const Computing computing(*queue_);
    queue_->mark()->wait();
  } catch (...) {
    reads_.forget_held();
  }
}

LateEnding QueuedStageExecutor::ending() {
  const Computing computing(*queue_);
  LateEnding ending;
  ending.mark = queue_->mark();
  ending.figures = [this, figures = std::exchange(figures_, {})] { return read(figures); };
  reads_.end(ending.mark);
  return ending;
}

void QueuedStageExecutor::injure(DeviceInjury how) {
  const Computing computing(*queue_);
  if (how != DeviceInjury::kOutOfMemory) return math_->injure(how);
  static_cast<void>(at::empty({kMoreThanAny}, at::TensorOptions().device(queue_->device()).dtype(at::kByte)));
}

TensorBlob QueuedStageExecutor::forward(const MicrobatchWork& work) {
  ENSURE(!plan_.has_head, "the last stage runs forward_backward");
  const Computing computing(*queue_);
  if (passes_) {
    const Slot slot = passes_->take();
    TensorBlob recorded = sent(passes_->forward(*slot, input_of(work)), Memory::kReplayed);
    kept_.insert_or_assign(work.microbatch, Kept{work, std::nullopt, slot});
    settle();
    return recorded;
  }
  const bool keeps_tape = !config_.pipeline.recompute;
  Tape tape = tape_for(config_, work, keeps_tape ? Tape::Keeps::kAll : Tape::Keeps::kNothing);
  const at::Tensor output = models_.trained->forward(input_of(work), tape);
  Kept kept{work, std::nullopt};
  if (keeps_tape) kept.tape = std::move(tape);
  kept_.insert_or_assign(work.microbatch, std::move(kept));
  TensorBlob given = sent(output);
  settle();
  return given;
}

BackwardResult QueuedStageExecutor::backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                             WeightGradients when) {
  const auto found = kept_.find(microbatch);
  ENSURE(found != kept_.end(), "a backward follows the forward of its microbatch");
  const Computing computing(*queue_);
  Kept kept = std::move(found->second);
  kept_.erase(found);
  if (!kept.tape && !kept.slot) {
    kept.tape = tape_for(config_, kept.work, Tape::Keeps::kAll);
    static_cast<void>(models_.trained->forward(input_of(kept.work), *kept.tape));
  }
  const at::Tensor gradient = borders_.received(output_gradient, reads_);
  ENSURE(gradient.sizes() == at::IntArrayRef(borders_.shape()), "the gradient has the shape of the activation");
  BackwardResult result = kept.slot ? half_done(kept.work, kept.slot, passes_->backward(*kept.slot, gradient))
                                    : differentiate(gradient, *kept.tape, kept.work, when);
  reads_.note(kept.work.input);  // by the tape
  half_done_.at(microbatch).read = reads_.noted();
  settle();
  return result;
}

BackwardResult QueuedStageExecutor::forward_backward(const MicrobatchWork& work, WeightGradients when) {
  ENSURE(plan_.has_head, "only the last stage has a loss");
  const Computing computing(*queue_);
  BackwardResult result;
  at::Tensor loss_sum;
  if (passes_) {
    const Slot slot = passes_->take();
    auto results = passes_->forward_backward(*slot, input_of(work), on_device(work.targets));
    loss_sum = results.loss_sum;
    result = half_done(work, slot, std::move(results));
  } else {
    Tape tape = tape_for(config_, work, Tape::Keeps::kAll);
    LossAndGradient loss =
        math_->loss_and_gradient(models_.trained->forward(input_of(work), tape), on_device(work.targets));
    result = differentiate(std::exchange(loss.dlogits_BTV, {}), tape, work, when);
    loss_sum = loss.loss_sum;
  }
  figures_.loss = reads_.on_its_way_to_host(*queue_, loss_sum);
  half_done_.at(work.microbatch).loss = figures_.loss;
  half_done_.at(work.microbatch).read = reads_.noted();
  settle();
  if (answers_ == Answering::kAtOnce) result.loss_sum = read(std::exchange(figures_, {})).loss_sum;
  return result;
}

AccumulateResult QueuedStageExecutor::accumulate(MicrobatchId microbatch) {
  const auto found = half_done_.find(microbatch);
  ENSURE(found != half_done_.end(), "a microbatch is accumulated once, after its backward");
  const Computing computing(*queue_);
  HalfDone half = std::move(found->second);
  half_done_.erase(found);
  std::vector<at::Tensor> is_within;
  for (std::size_t first = 0; first < layout_.tensors.size();) {
    const std::size_t end = end_of_group(layout_, first, kGradientsAtOnce);
    std::vector<at::Tensor> gradients;
    for (std::size_t i = first; i < end; ++i) {
      gradients.push_back(half.slot ? half.recorded.at(i) : half.gradients.take(i));
    }
    is_within.push_back(sums_->add(first, gradients, half.token_count));
    first = end;
  }
  reads_.note(half.read);
  figures_.is_within = reads_.on_its_way_to_host(*queue_, at::cat(is_within));
  figures_.loss_of_accumulated = half.loss;
  AccumulateResult result{half.token_count, std::nullopt};
  settle();
  if (answers_ == Answering::kAtOnce) result.bad_tensor = read(std::exchange(figures_, {})).bad_tensor;
  return result;
}

EvaluateResult QueuedStageExecutor::evaluate(const MicrobatchWork& work) {
  const Computing computing(*queue_);
  const at::Tensor output = models_.agreed->forward(input_of(work));
  EvaluateResult result;
  result.token_count = count_targets(work.targets);
  if (!plan_.has_head) {
    result.activation = sent(output);
    settle();
    return result;
  }
  figures_.loss =
      reads_.on_its_way_to_host(*queue_, math_->loss_and_gradient(output, on_device(work.targets)).loss_sum);
  settle();
  if (answers_ == Answering::kAtOnce) result.loss_sum = read(std::exchange(figures_, {})).loss_sum;
  return result;
}

void QueuedStageExecutor::zero() {
  const Computing computing(*queue_);
  kept_.clear();
  half_done_.clear();
  figures_ = {};
  sums_->clear();
}

TensorBlob QueuedStageExecutor::contribution() const {
  ENSURE(half_done_.empty(), "what is contributed is accumulated to the end");
  const Computing computing(*queue_);
  return resident_blob(sums_->values(), queue_->mark(), copies_);
}

ReducedSum QueuedStageExecutor::adopt_sum(const TensorBlob& sum, std::uint64_t token_count) {
  const Computing computing(*queue_);
  const ReducedSum reduced = sums_->adopt(on_device(sum), token_count);
  reads_.forget_noted();  // it has waited
  sums_->adopted_from(std::dynamic_pointer_cast<const QueuedTensor>(sum.resident));
  return reduced;
}

void QueuedStageExecutor::apply(const UpdateOrder& order) {
  ENSURE(sums_->has_mean(), "an update needs an adopted sum");
  const Computing computing(*queue_);
  state_->update(*sums_, order);
  sums_->leave_to_readers();
  zero();
}

std::uint64_t QueuedStageExecutor::state_digest() const {
  const Computing computing(*queue_);
  return state_->digest();
}

TensorBlob QueuedStageExecutor::state_image() const {
  const Computing computing(*queue_);
  return state_->pulled().image();
}

Status QueuedStageExecutor::load_state(const TensorBlob& image) {
  const Computing computing(*queue_);
  Status loaded = state_->pulled().load(image);
  if (loaded) state_->push();
  return loaded;
}

// Reads the copy on the host, which steps do not change.
std::shared_ptr<ImageSource> QueuedStageExecutor::image_source() {
  const Computing computing(*queue_);
  return state_->pulled().image_source();
}

Result<bool> QueuedStageExecutor::load_piece(const ImagePiece& piece) {
  const Computing computing(*queue_);
  auto is_whole = state_->pulled().load_piece(piece);
  if (is_whole && is_whole.value()) state_->push();
  return is_whole;
}

std::vector<std::string> QueuedStageExecutor::tensor_names() const {
  std::vector<std::string> names;
  for (const FlatTensor& tensor : layout_.tensors) names.push_back(tensor.spec.name);
  return names;
}

TensorBlob QueuedStageExecutor::contribute_round(std::uint32_t fragment) {
  const Computing computing(*queue_);
  const at::Tensor contribution = state_->contribute_round(fragment);
  if (answers_ == Answering::kAtOnce) return to_blob(contribution.cpu());
  return resident_blob(contribution.contiguous(), queue_->mark(), copies_);
}

std::uint64_t QueuedStageExecutor::apply_round(const RoundUpdate& update) {
  const Computing computing(*queue_);
  DeviceState::RoundTensors tensors;
  if (update.mean.has_value()) tensors.mean = on_device(update.mean);
  if (update.own.has_value()) tensors.own = on_device(update.own);
  const std::uint64_t digest = state_->apply_round(update, tensors);
  reads_.forget_noted();  // it has waited
  return digest;
}

std::vector<std::uint64_t> QueuedStageExecutor::restart_from_outer() {
  const Computing computing(*queue_);
  return state_->restart_from_outer();
}

at::Tensor QueuedStageExecutor::input_of(const MicrobatchWork& work) {
  state_->ensure_begun();
  const bool are_tokens = plan_.has_embedding && work.input.bytes;
  at::Tensor input = are_tokens ? sendable(*queue_, work.input) : borders_.received(work.input, reads_);
  check_input(input, plan_);
  return input;
}

TensorBlob QueuedStageExecutor::sent(const at::Tensor& values, Memory memory) const {
  const bool is_at_once = answers_ == Answering::kAtOnce;
  const bool is_copied = memory == Memory::kReplayed && !is_at_once && !borders_.are_encoded();
  const TensorBlob given = borders_.sent(is_copied ? values.clone() : values);
  return is_at_once ? given.resident->to_host() : given;
}

BackwardResult QueuedStageExecutor::half_done(const MicrobatchWork& work, Slot slot,
                                              StagePasses::Differentiated results) {
  BackwardResult result;
  result.token_count = count_targets(work.targets);
  if (!plan_.has_embedding) result.input_gradient = sent(results.input_gradient, Memory::kReplayed);
  HalfDone half{{layout_.tensors.size(), ParameterGradients::OfProjections::kAtOnce}, result.token_count, {}};
  half.slot = std::move(slot);
  half.recorded = std::move(results.gradients);
  const bool is_first = half_done_.emplace(work.microbatch, std::move(half)).second;
  ENSURE(is_first, "a microbatch is accumulated before it is computed again");
  return result;
}

BackwardResult QueuedStageExecutor::differentiate(at::Tensor gradient, Tape& tape, const MicrobatchWork& work,
                                                  WeightGradients when) {
  using OfProjections = ParameterGradients::OfProjections;
  const bool is_later = when == WeightGradients::kLater;
  HalfDone half{{layout_.tensors.size(), is_later ? OfProjections::kLater : OfProjections::kAtOnce}, 0, {}};
  const at::Tensor input_gradient = models_.trained->backward(std::move(gradient), tape, half.gradients);
  BackwardResult result;
  result.token_count = count_targets(work.targets);
  half.token_count = result.token_count;
  if (!plan_.has_embedding) result.input_gradient = sent(input_gradient);
  const bool is_first = half_done_.emplace(work.microbatch, std::move(half)).second;
  ENSURE(is_first, "a microbatch is accumulated before it is computed again");
  return result;
}

void QueuedStageExecutor::settle() {
  if (answers_ != Answering::kAtOnce) return;
  queue_->mark()->wait();
  reads_.forget_noted();
}

LateFigures QueuedStageExecutor::read(const Figures& figures) const {
  LateFigures late;
  if (figures.loss.defined()) late.loss_sum = figures.loss.item<float>();
  if (!figures.is_within.defined()) return late;
  const auto* within = figures.is_within.const_data_ptr<bool>();
  const auto* bad = std::find(within, within + layout_.tensors.size(), false);
  const auto& loss = figures.loss_of_accumulated;
  if (loss.defined() && !std::isfinite(loss.item<float>())) {
    late.bad_tensor = "loss";
  } else if (bad != within + layout_.tensors.size()) {
    late.bad_tensor = layout_.tensors[static_cast<std::size_t>(bad - within)].spec.name;
  }
  return late;
}

}  // namespace shoal
