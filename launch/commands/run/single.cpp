// `shoal-worker single`: the reference run. The trainer computes; this file says when to evaluate, save, show and stop.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "launch/child_process.h"
#include "launch/commands/inspect/plot.h"
#include "launch/commands/run/device_memory.h"
#include "launch/commands/run/processes.h"
#include "launch/commands/run/run_entry.h"
#include "launch/commands/run/single_recorder.h"
#include "launch/processes/polite_stop.h"
#include "launch/processes/progress.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/saved_run.h"
#include "launch/processes/start_points.h"
#include "launch/processes/text/recorded_text.h"
#include "launch/processes/worker/device_probe.h"
#include "launch/say.h"
#include "runtime/base/file.h"
#include "runtime/base/machine/bf16_units.h"
#include "runtime/base/sha256.h"
#include "runtime/data/batch.h"
#include "runtime/data/tokenizers/tokenizer.h"
#include "runtime/data/tokens.h"
#include "runtime/device/evaluator.h"
#include "runtime/device/executor_factory.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/single_trainer.h"
#include "runtime/executor/load_image.h"
#include "runtime/executor/poison_hook.h"
#include "runtime/journal/branches.h"
#include "runtime/journal/divergence.h"
#include "runtime/pipeline/data_wait.h"
#include "runtime/pipeline/dispatch.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/checkpoint_writer.h"
#include "runtime/trace/metrics/device_figures.h"
#include "runtime/trace/metrics/progress_line.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/identity.h"

namespace shoal {
namespace {

// Everything a run needs, opened in the order in which each depends on the one before.
struct Parts {
  Config config;
  RunId run;
  std::shared_ptr<const Tokens> tokens;
  std::optional<TextBytes> text_bytes;
  std::unique_ptr<StageExecutor> executor;
  TrainerProgress progress;
  Branch branch;
  Reached told;             // by lines of an earlier start
  bool is_resumed = false;  // from a checkpoint
  bool is_wanted = false;   // a person's branch begins with it
  std::string corpus_sha256;
  std::optional<Poison> poison;  // left out
  ExecutorConfig device;
  StageOnDevice on_device;
};

Status load(const Checkpoint& checkpoint, Parts& parts) {
  const CheckpointManifest& manifest = checkpoint.manifest();
  const auto image = checkpoint.source_of(parts.executor->tensor_names());
  if (!image) return image.failure();
  if (Status loaded = load_image(*parts.executor, **image); !loaded) return loaded.failure();
  parts.progress = {manifest.step, manifest.optimizer_step, manifest.tokens_total, 0};
  parts.branch = Branch{manifest.branch};
  parts.is_resumed = true;
  return Done{};
}

// Steps that are trained again are of another branch, as in a pipeline.
Status resume(const RunDirectory& directory, const std::optional<Checkpoint>& start, Parts& parts) {
  if (start) {
    if (Status loaded = load(*start, parts); !loaded) return loaded;
  }
  parts.told = steps_told_by(directory);
  parts.branch = branch_going_on({parts.branch, parts.progress.steps}, parts.told);
  const Branch begun = branch_begun_in(directory);
  parts.is_wanted = begun.value > 0 && parts.branch <= begun;
  parts.branch = std::max(parts.branch, begun);
  return Done{};
}

Result<Parts> open_parts(const RunDirectory& directory, const SingleOptions& options) {
  Parts parts;
  auto config = read_run_config(options.run_directory);
  if (!config) return config.failure();
  parts.config = *config;
  const auto authority = Authority::open(directory.certs());
  if (!authority) return authority.failure();
  parts.run = authority->run();
  const auto recorded = text_of_run(directory);
  if (!recorded) return recorded.failure();
  auto tokens = open_recorded(*recorded, parts.config);
  if (!tokens) return tokens.failure();
  parts.tokens = *tokens;
  parts.corpus_sha256 = recorded->sha256;
  auto tokenizer = make_tokenizer(parts.config.data.tokenizer);
  if (!tokenizer) return tokenizer.failure();
  parts.text_bytes.emplace(**tokenizer, parts.config.model.vocabulary);
  std::optional<Checkpoint> start;
  if (options.is_resumed) {
    auto found = find_start({directory, parts.config, parts.run, parts.corpus_sha256}, {kAnyStep, true});
    if (!found) return found.failure();
    start = std::move(*found);
  }
  const auto begins = start ? BeginsWith::kImage : BeginsWith::kInitialWeights;
  const ExecutorConfig wanted{parts.config, StageId{0}, 1, options.device, Answering::kAtOnce, begins};
  if (auto fits = check_device_memory(wanted); !fits) return fits.failure();
  say_warning(memory_warning(wanted));
  parts.device = wanted;
  DeviceProbe probe(options.device);
  parts.on_device = stage_on_device(wanted, probe);  // before the executor has the device
  auto executor = make_stage_executor(wanted);
  if (!executor) return executor.failure();
  parts.executor = std::move(*executor);
  const auto poison = poison_from_environment();
  if (!poison) return poison.failure();
  parts.poison = *poison;
  if (options.is_resumed) {
    if (Status resumed = resume(directory, start, parts); !resumed) return resumed.failure();
    if (auto status = check_steps(options.stop_at_step, parts.progress.steps); !status) return status.failure();
  }
  return parts;
}

Result<CheckpointWriter> open_writer(const RunDirectory& directory, const Parts& parts) {
  const auto text = read_file(directory.config());
  if (!text) return text.failure();
  return CheckpointWriter({.folder = directory.checkpoints(parts.config),
                           .keep = parts.config.checkpoint.keep,
                           .run = run_text(parts.run),
                           .config_sha256 = sha256_hex(std::string_view(*text)),
                           .corpus_sha256 = parts.corpus_sha256});
}

constexpr auto kReadAgain = std::chrono::seconds(1);  // after a text that could not be read

class SingleRun {
 public:
  SingleRun(Parts parts, CheckpointWriter writer, SingleRecorder recorder, std::uint64_t steps_target)
      : parts_(std::move(parts)),
        writer_(std::move(writer)),
        recorder_(std::move(recorder)),
        steps_target_(steps_target),
        has_checkpoint_(parts_.is_resumed),
        plan_(parts_.tokens, static_cast<std::uint64_t>(parts_.config.model.context), parts_.config.batch),
        trainer_(parts_.config, *parts_.executor, *parts_.tokens, clock_, parts_.progress) {
    if (parts_.poison && !parts_.poison->replica) trainer_.leave_out(parts_.poison->step, parts_.poison->microbatch);
  }

  // A failure is the last line, as in a pipeline.
  [[nodiscard]] Result<int> run() {
    tell_start();
    const auto status = train();
    if (status) return *status;
    recorder_.write_failure(
        RunEvent{RunEventKind::kFailed, "run", status.failure().message, trainer_.progress().steps});
    return exit_code(status.failure().error);
  }

 private:
  void tell_start() {
    const std::uint64_t steps = trainer_.progress().steps;
    const std::uint64_t told = parts_.told.steps;
    if (!parts_.is_resumed && told == 0) return;
    const std::string of = told > steps ? compose(" of ", told, " committed") : std::string();
    const char* const wanted = parts_.is_wanted ? ", which a person began" : "";
    recorder_.write(
        RunEvent{told > steps && !parts_.is_wanted ? RunEventKind::kRolledBack : RunEventKind::kResumed, "run",
                 compose("from step ", steps, of, ", by one process, as branch ", parts_.branch, wanted), steps});
  }

  [[nodiscard]] Result<int> train() {
    counted_to_ = clock_.now();
    while (trainer_.progress().steps < steps_target_ && !stop_status()) {
      if (Status stepped = train_step(); !stepped) return stepped.failure();
    }
    auto status = trainer_.progress().steps < steps_target_ ? stop_status() : std::nullopt;
    auto saved = save();
    if (!saved) return saved.failure();
    if (!status && !evaluate_and_record(EvaluationExtent::kLast)) status = stop_status();
    tell_memory();
    FinalRecord record;
    record.kind = status ? RunEventKind::kStopped : RunEventKind::kFinished;
    record.steps = trainer_.progress().steps;
    record.tokens_total = trainer_.progress().tokens_total;
    record.weights_sha256 = *saved;
    recorder_.write_last(record);
    return status.value_or(0);
  }

  void tell_memory() {
    if (const auto planned = planned_memory(parts_.device))
      say("memory planned for ", parts_.device.device, ": ", *planned);
    const auto used = used_memory(parts_.device);
    if (used) recorder_.write(RunEvent{RunEventKind::kMemory, parts_.device.device, *used, trainer_.progress().steps});
  }

  [[nodiscard]] Status train_step() {
    const Instant start = clock_.now();
    const auto stepped = trainer_.step();
    if (!stepped) return wait_for_text(stepped.failure());
    tell_reading(std::nullopt);
    const StepOutcome& outcome = *stepped;
    const Instant end = clock_.now();
    record(outcome, milliseconds(start - counted_to_), milliseconds(end - start));
    counted_to_ = end;
    if (const auto going_on = trainer_.check_progress(); !going_on) return diverged(going_on.failure(), outcome);
    const std::uint64_t applied = trainer_.progress().steps;
    if (applied == steps_target_) return Done{};  // the end evaluates and saves
    const auto is_due = [applied](std::uint64_t every) { return every > 0 && applied % every == 0; };
    const bool is_evaluated = is_due(parts_.config.eval.every);
    if (is_evaluated && !evaluate_and_record(EvaluationExtent::kPeriodic)) return Done{};
    const bool is_useless = outcome.skipped && is_of_no_use(outcome.loss);
    is_owed_ = is_owed_ || is_due(parts_.config.checkpoint.every);
    if (!is_owed_ || is_useless) return Done{};
    is_owed_ = false;
    if (const auto saved = save(); !saved) {
      recorder_.write(
          RunEvent{RunEventKind::kCheckpointFailed, compose("step_", applied), saved.failure().message, applied});
    }
    return Done{};
  }

  // A shard may be gone for a while: nothing was done, and the step is tried again.
  [[nodiscard]] Status wait_for_text(const Failure& unreadable) {
    tell_reading(unreadable);
    std::this_thread::sleep_for(kReadAgain);
    return Done{};
  }

  void tell_reading(const std::optional<Failure>& trouble) {
    const std::uint64_t steps = trainer_.progress().steps;
    const auto event = trouble ? data_.failed(*trouble, steps, clock_.now()) : data_.read(steps);
    if (event) recorder_.write(*event);
  }

  // The state of skipped steps is that of the last applied one: saved unless nothing can be made of it, or the good
  // checkpoint before it would go.
  [[nodiscard]] Failure diverged(Failure failure, const StepOutcome& last) {
    const bool would_replace = parts_.config.checkpoint.keep == 1 && has_checkpoint_;
    if (is_of_no_use(last.loss) || would_replace) return failure;
    const auto saved = save();
    failure.message +=
        saved ? "; the state before them is saved" : "; it could not be saved: " + saved.failure().message;
    return failure;
  }

  // An evaluation or a checkpoint is time that the step after it waited, as in a pipeline.
  void record(const StepOutcome& outcome, double waited_ms, double trained_ms) {
    StepRecord record;
    record.branch = parts_.branch.value;
    record.step = outcome.step.value;
    record.loss = outcome.loss;
    record.grad_norm = outcome.grad_norm;
    record.lr = outcome.learning_rate;
    record.tokens = outcome.token_count;
    record.tokens_total = trainer_.progress().tokens_total;
    record.sequences_total = trainer_.progress().steps * static_cast<std::uint64_t>(parts_.config.batch.sequences);
    record.step_ms = waited_ms + trained_ms;
    record.replicas = {1};
    record.microbatches = static_cast<std::uint32_t>(outcome.microbatch_count);
    // The last stage does forward and backward in one call: both count as backward, as they do in a pipeline.
    TimeBreakdown& time = record.time.emplace();
    time.backward = outcome.compute_ms;
    time.reduce = outcome.reduce_ms;
    time.wait = waited_ms;
    time.apply = trained_ms - outcome.compute_ms - outcome.reduce_ms;
    record.bytes.emplace();  // nothing was sent
    record.skipped = outcome.skipped;
    add_device(record, trained_ms);
    recorder_.write(record);
  }

  void add_device(StepRecord& record, double computed_ms) const {
    DeviceUse use = memory_();
    use.busy_us = static_cast<std::uint64_t>(1e3 * computed_ms);
    use.over_us = static_cast<std::uint64_t>(1e3 * record.step_ms);
    use.multiply_adds = static_cast<std::uint64_t>(parts_.on_device.multiply_adds * static_cast<double>(record.tokens));
    use.threads = parts_.on_device.threads;
    use.peak = parts_.on_device.peak;
    record.devices = {{use}};
    record.mfu = figures_of(use).mfu;
  }

  // False: a signal came meanwhile.
  [[nodiscard]] bool evaluate_and_record(EvaluationExtent extent) {
    const bool is_final = extent == EvaluationExtent::kLast;
    const EvalConfig& eval = parts_.config.eval;
    const std::uint64_t batches = plan_.batch_count(is_final ? eval.final_batches : eval.batches);
    const std::uint64_t steps = trainer_.progress().steps;
    const Instant start = clock_.now();
    ProgressPace pace;
    const auto wants_stop = [&](std::uint64_t windows) {
      if (is_final && pace.is_due(clock_.now())) {
        recorder_.write(EvalProgress{steps, windows, plan_.window_count(batches)});
      }
      return stop_status().has_value();
    };
    const auto evaluate = [&] {
      return evaluate_until(wants_stop, *parts_.executor, plan_, batches, *parts_.text_bytes);
    };
    auto made = evaluate();
    while (!made) {
      if (stop_status()) return false;
      (void)wait_for_text(made.failure());
      made = evaluate();
    }
    tell_reading(std::nullopt);
    const std::optional<Evaluation>& evaluation = *made;
    if (!evaluation) return false;
    recorder_.write(EvalRecord{.step = steps,
                               .val_loss = evaluation->loss,
                               .bits_per_byte = evaluation->bits_per_byte,
                               .is_final = is_final,
                               .windows = evaluation->windows,
                               .tokens = evaluation->token_count,
                               .eval_ms = milliseconds(clock_.now() - start)});
    return true;
  }

  // Writes a checkpoint; its weights' SHA-256.
  [[nodiscard]] Result<std::string> save() {
    const TrainerProgress& progress = trainer_.progress();
    SaveShard shard;
    shard.run = parts_.run;
    shard.branch = parts_.branch;
    shard.step = progress.steps;
    shard.optimizer_step = progress.optimizer_steps;
    shard.tokens_total = progress.tokens_total;
    shard.stages = 1;
    const Instant begun = clock_.now();
    const auto manifest = write(std::move(shard));
    if (!manifest) return manifest.failure();
    has_checkpoint_ = true;
    std::uint64_t bytes = 0;
    for (const auto& [name, file] : manifest->files) bytes += file.bytes;
    const double seconds = std::round(milliseconds(clock_.now() - begun)) / 1000;
    recorder_.write(RunEvent{RunEventKind::kCheckpoint, compose("step_", progress.steps),
                             compose(bytes, " bytes in ", seconds, " s"), progress.steps});
    return manifest->weights_sha256;
  }

  // Writes the state as this shard, piece by piece.
  [[nodiscard]] Result<CheckpointManifest> write(SaveShard shard) {
    const auto image = parts_.executor->image_source();
    auto manifest = writer_.add_image(std::move(shard), *image);
    if (!manifest) return manifest.failure();
    ENSURE(manifest->has_value(), "one shard completes the checkpoint of one stage");
    return std::move(**manifest);
  }

  SteadyClock clock_;
  Instant counted_to_{};  // the end of the last step, or the beginning
  Parts parts_;
  CheckpointWriter writer_;
  SingleRecorder recorder_;
  std::uint64_t steps_target_;
  DeviceMeter::AskMemory memory_ = memory_of(parts_.device.device);
  bool has_checkpoint_;   // a checkpoint exists, which the next one could push out
  bool is_owed_ = false;  // a checkpoint fell due at a step that left nothing worth keeping
  EvaluationPlan plan_;
  SingleTrainer trainer_;
  DataWait data_{kReadAgain};
};

}  // namespace

Result<int> run_single(const SingleOptions& options) {
  if (auto ready = prepare_device(options.device, program_folder()); !ready) return ready.failure();
  watch_for_stop();
  const RunDirectory directory{options.run_directory};
  auto parts = open_parts(directory, options);
  if (!parts) return parts.failure();
  auto writer = open_writer(directory, *parts);
  if (!writer) return writer.failure();
  const std::uint64_t target = steps_target(parts->config, options.stop_at_step);
  auto recorder = SingleRecorder::open({directory.metrics(), make_progress(target, parts->config)});
  if (!recorder) return recorder.failure();
  const std::string kernels = device_fingerprint(options.device, parts->config.run.threads);
  say("computing with ", kernels_used(kernels, parts->config.model.precision));
  SingleRun run(std::move(*parts), std::move(*writer), std::move(*recorder), target);
  const auto code = run.run();
  draw_at_end(options.run_directory);
  const std::string device = options.device == "cpu" ? std::string() : " --device " + options.device;
  const std::string again = steps_words(options.stop_at_step) + device;
  if (code) say_how_to_go_on("shoal train --single" + again, options.run_directory, *code);
  return code;
}

}  // namespace shoal
