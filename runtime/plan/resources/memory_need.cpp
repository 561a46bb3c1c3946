// Every item from the sizes of the stage and of a microbatch.
#include "runtime/plan/resources/memory_need.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/pipeline/schedule.h"

namespace shoal {
namespace {

constexpr std::uint64_t kFloat = sizeof(float);
constexpr std::uint64_t kProgramBytes = 152'000'000;  // resident memory of a worker with a model of no size
constexpr std::uint64_t kAllocatorDivisor = 10;       // the part of what comes and goes that lies free: a tenth

std::uint64_t activation_bytes(const Config& config, const CutStage& stage) {
  const auto width = static_cast<std::uint64_t>(config.model.width);
  return tokens_of_microbatch(config) * kFloat * (stage.kept_values + stage.mask_values + width);
}

// Holds of the one microbatch that is computed: its logits' logarithms and both their gradients at the loss, and what
// passes within its backward pass after that.
std::uint64_t passing_bytes(const Config& config, const CutStage& stage) {
  const std::uint64_t at_loss = stage.has_head ? 3 * static_cast<std::uint64_t>(config.model.vocabulary) : 0;
  return tokens_of_microbatch(config) * kFloat * std::max(at_loss, stage.passing_values);
}

// With recomputation a graph exists for the one microbatch that is computed, and of all others the input alone.
std::uint64_t held_activations(const Config& config, const CutStage& stage, std::uint64_t held) {
  const std::uint64_t own = activation_bytes(config, stage) * (config.pipeline.recompute ? 1 : held);
  const std::uint64_t inputs = config.pipeline.recompute ? border_bytes(config) * held : 0;
  return own + inputs + passing_bytes(config, stage);
}

// Activations that go on and gradients that go back: each is kept by its sender until the step is committed.
std::uint64_t kept_letters(const Config& config, std::size_t stages, std::size_t stage, std::size_t replicas) {
  const auto microbatches = static_cast<std::uint64_t>(microbatches_per_step(config));
  return borders_of(stages, stage) * border_bytes(config) * ((microbatches + replicas - 1) / replicas);
}

// Contribution and sum, and of both ring passes what waits to be sent and what has come. One member sums up nothing.
std::uint64_t reduction_bytes(std::uint64_t contribution, std::size_t replicas) {
  if (replicas < 2) return contribution;
  return 2 * contribution + 2 * (2 * contribution * (replicas - 1) / replicas);
}

std::uint64_t input_bytes(const Config& config, std::size_t stage) {
  constexpr std::uint64_t kToken = 2 * sizeof(std::int32_t);  // an input and a target
  return stage == 0 ? tokens_of_microbatch(config) * kToken : border_bytes(config);
}

// Vectors that the optimiser keeps beside the weights.
std::uint64_t averages_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kAdamw: return 2;
    case OptimizerKind::kSgd: return 0;
  }
  ENSURE(false, "an optimiser that exists");
  return 0;
}

// Travels in a round of so many bytes of weights; averages may do so beside them.
std::uint64_t travelling_bytes(const Config& config, std::uint64_t weights) {
  const bool are_averaged = config.sync.inner_state == InnerState::kAverage;
  return weights * (1 + (are_averaged ? averages_of(config.optim.kind) : 0));
}

// Says whether encoding leaves something out; the sum of one member is not encoded.
bool leaves_out(const SyncConfig& sync, std::size_t replicas) { return replicas > 1 && sync.wire != WireFormat::kFp32; }

// Holds of rounds of so many bytes of weights: what was contributed, and the reduction of what it weighs; and what its
// encoding left out, where somebody asks for it.
std::uint64_t round_bytes(const Config& config, std::uint64_t weights, std::size_t replicas) {
  const SyncConfig& sync = config.sync;
  const std::uint64_t travels = travelling_bytes(config, weights);
  const bool keeps_lost = sync.error_feedback || sync.outer_update == OuterUpdate::kEager;
  return travels + reduction_bytes(travels, replicas) + (keeps_lost && leaves_out(sync, replicas) ? travels : 0);
}

// A fragment is made of whole blocks, and of other tensors by size (round_plan.h): at most so many bytes of a stage's.
std::uint64_t fragment_bytes(const SyncConfig& sync, const CutStage& stage, std::uint64_t vector) {
  const auto blocks = static_cast<std::uint64_t>(std::max(stage.layer_count, 1));
  const auto fragments = static_cast<std::uint64_t>(sync.fragments);
  const std::uint64_t of_fragment = (blocks + fragments - 1) / fragments;
  return std::min(vector, vector / blocks * of_fragment + kFloat * stage.largest_tensor);
}

// Fragments whose rounds are in flight while steps are computed, at most.
std::uint64_t fragments_in_flight(const SyncConfig& sync) {
  const auto fragments = static_cast<std::uint64_t>(sync.fragments);
  if (sync.outer_update != OuterUpdate::kWait) return fragments;
  return sync.overlap == 0 ? 0 : std::min(fragments, sync.overlap * fragments / sync.H + 1);
}

// Keeps what encoding left out of each fragment's last round, or of its last two where those overlap, until the next.
std::uint64_t feedback_bytes(const Config& config, std::uint64_t weights, std::size_t replicas) {
  const SyncConfig& sync = config.sync;
  if (!sync.error_feedback || !leaves_out(sync, replicas)) return 0;
  const bool is_due_in_time = sync.outer_update == OuterUpdate::kWait && sync.overlap < sync.H;
  return travelling_bytes(config, weights) * (is_due_in_time ? 1 : 2);
}

// With rounds a step's sum is the replica's own.
void add_rounds(MemoryNeed& need, const Config& config, const CutStage& stage, std::size_t replicas) {
  const std::uint64_t fragment = fragment_bytes(config.sync, stage, need.weights);
  const std::uint64_t in_flight = fragments_in_flight(config.sync);
  need.contribution = travelling_bytes(config, fragment);
  need.rounds = round_bytes(config, std::min(need.weights, in_flight * fragment), replicas) +
                feedback_bytes(config, need.weights, replicas);
  const std::uint64_t waited_for = in_flight == 0 ? round_bytes(config, fragment, replicas) : 0;
  need.reduction = std::max(need.accumulators, waited_for);
  if (config.sync.outer_update == OuterUpdate::kEager) need.outer += 2 * kFloat * stage.largest_tensor;  // scratch
}

std::uint64_t computing_bytes(const MemoryNeed& need) { return need.gradients + need.activations + need.letters; }

std::uint64_t free_between(const MemoryNeed& need) {
  return (need.rounds + std::max(computing_bytes(need), need.reduction)) / kAllocatorDivisor;
}

}  // namespace

std::uint64_t border_bytes(const Config& config) {
  return tokens_of_microbatch(config) * kFloat * static_cast<std::uint64_t>(config.model.width);
}

std::uint64_t borders_of(std::size_t stages, std::size_t stage) {
  return (stage + 1 < stages ? 1U : 0U) + (stage > 0 ? 1U : 0U);
}

std::uint64_t tokens_of_microbatch(const Config& config) {
  return static_cast<std::uint64_t>(config.batch.microbatch) * static_cast<std::uint64_t>(config.model.context);
}

const std::vector<MemoryItem>& memory_items() {
  static const std::vector<MemoryItem> items = {
      {"weights", "parameters, float32", &MemoryNeed::weights},
      {"copies", "of weights, which products in bf16 read", &MemoryNeed::copies},
      {"optimizer", "the optimiser's averages", &MemoryNeed::optimizer},
      {"outer", "agreed parameters and momentum of rounds", &MemoryNeed::outer},
      {"rounds", "contributions, sums and residuals of rounds, beside activations", &MemoryNeed::rounds},
      {"accumulators", "sums of gradients over a step's microbatches", &MemoryNeed::accumulators},
      {"mean", "a step's gradient before its update", &MemoryNeed::mean},
      {"gradients", "one microbatch's gradients", &MemoryNeed::gradients},
      {"activations", "what backward needs of the microbatches in flight", &MemoryNeed::activations},
      {"letters", "activations and gradients kept until the commit", &MemoryNeed::letters},
      {"reduction", "what is summed up over replicas, in place of activations", &MemoryNeed::reduction},
      {"image", "a copy of the state, if an update comes before a checkpoint of it has left", &MemoryNeed::image},
      {"allocator", "free memory between buffers that come and go", &MemoryNeed::allocator},
      {"program", "code and libraries", &MemoryNeed::program}};
  return items;
}

std::uint64_t total_bytes(const MemoryNeed& need) {
  const std::uint64_t kept = need.weights + need.copies + need.optimizer + need.outer + need.rounds +
                             need.accumulators + need.mean + need.image + need.program;
  return kept + std::max(computing_bytes(need), need.reduction) + need.allocator;
}

std::string lack_in_memory(const MemoryNeed& need, std::uint64_t free_bytes) {
  if (total_bytes(need) <= free_bytes) return {};
  return compose("one process needs ", size_text(total_bytes(need)), " of memory, and ", size_text(free_bytes),
                 " are free: the system may end it; lower batch.microbatch, or share the model among machines "
                 "(pipeline.stages): 'shoal plan' says what each of them needs");
}

std::uint64_t held_microbatches(const Config& config, std::size_t stage, LaterStages later_stages) {
  const StageId id{static_cast<std::uint32_t>(stage)};
  const auto microbatches = static_cast<std::uint64_t>(microbatches_per_step(config));
  const bool is_slow = later_stages == LaterStages::kSlow;
  const std::uint64_t most = accumulations_that_may_wait(config.pipeline, id);
  const std::uint64_t accumulations = is_slow ? most : std::min<std::uint64_t>(answers_first(id), most);
  // One of a stage's credits is at each stage before it, where all is quick. The last stage answers each at once.
  const std::uint64_t of_schedule = std::max<std::uint64_t>(credits_per_first_replica(config), stage + 1) - stage;
  const std::uint64_t unanswered = is_slow ? credits_at_most(config) : of_schedule;
  const bool is_last = stage + 1 == static_cast<std::size_t>(config.pipeline.stages);
  const std::uint64_t waiting = is_last ? 1 : unanswered;
  const std::uint64_t torn_down = is_last ? 0 : 1;  // while its answer brings the next
  const bool is_in_order = replicas_wanted(config.pipeline).most() == 1;
  const std::uint64_t held =
      is_in_order ? std::max(waiting + torn_down, accumulations) : waiting + std::max(accumulations, torn_down);
  return std::min(held, microbatches);
}

CreditNeed credit_need(const Config& config, const std::vector<CutStage>& stages, std::size_t stage,
                       std::size_t replicas) {
  CreditNeed out;
  out.microbatches = credits_per_first_replica(config);
  out.at_most = credits_at_most(config);
  out.input_bytes = out.at_most * input_bytes(config, stage);
  const std::uint64_t held = held_microbatches(config, stage, LaterStages::kSlow);
  MemoryNeed need = memory_need(config, stages, stage, replicas);
  need.activations = held_activations(config, stages[stage], held) + out.input_bytes;
  need.allocator = free_between(need);
  out.total_bytes = total_bytes(need);
  return out;
}

MemoryNeed memory_need(const Config& config, const std::vector<CutStage>& stages, std::size_t stage,
                       std::size_t replicas) {
  const CutStage& cut = stages[stage];
  const std::uint64_t vector = cut.parameter_count * kFloat;
  const std::uint64_t copies = cut.state_bytes / std::max<std::uint64_t>(vector, 1);
  const std::uint64_t averages = averages_of(config.optim.kind);
  const bool is_exact = config.sync.reduction == Reduction::kExact;
  MemoryNeed need;
  need.weights = vector;
  need.copies = cut.copy_bytes;
  need.optimizer = averages * vector;
  need.outer = (copies - 1 - averages) * vector;
  need.accumulators = (is_exact ? 2 : 1) * vector;
  need.mean = vector;
  need.gradients = vector;
  need.reduction = reduction_bytes(need.accumulators, replicas);
  if (config.sync.mode == SyncMode::kDiloco) add_rounds(need, config, cut, replicas);
  need.activations = held_activations(config, cut, held_microbatches(config, stage, LaterStages::kQuick));
  need.letters = kept_letters(config, stages.size(), stage, replicas);
  need.image = cut.state_bytes;
  need.allocator = free_between(need);
  need.program = kProgramBytes;
  return need;
}

}  // namespace shoal
