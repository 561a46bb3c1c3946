// `shoal eval`: the loss of a checkpoint over the validation windows of the run's text, or over another text. On the
// same windows it is what the run's own evaluation said: windows are taken from the beginning, in the same
// microbatches.
#include <filesystem>
#include <system_error>

#include "launch/child_process.h"
#include "launch/commands/inspect/answers.h"
#include "launch/commands/inspect/inspect.h"
#include "launch/commands/run/devices.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/saved_run.h"
#include "launch/processes/start_points.h"
#include "launch/say.h"
#include "runtime/data/batch.h"
#include "runtime/data/shards/shard_set.h"
#include "runtime/data/tokenizers/tokenizer.h"
#include "runtime/data/tokens.h"
#include "runtime/device/evaluator.h"
#include "runtime/device/executor_factory.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/executor/load_image.h"
#include "runtime/trace/metrics/progress_line.h"

namespace shoal {
namespace {

// True where a file, a folder or shards of that name were found.
bool is_there(const std::string& data) {
  std::error_code unknown;
  if (std::filesystem::exists(data, unknown)) return true;
  const auto shards = find_shards(data);
  return shards && shards->has_value();
}

// Another text, or other shards, count from the beginning to the end: they were not split, and nothing of them was
// trained on.
Result<std::shared_ptr<const Tokens>> tokens_to_evaluate(const EvalOptions& options, const SavedRun& run) {
  if (!options.data) return open_so_far(RunDirectory{options.run_directory}, run.config);
  auto tokens = open_evaluation_text(*options.data, *run.tokenizer, run.config.model.vocabulary);
  if (tokens || tokens.failure().error != Error::kInvalidData) return tokens;
  return refusal_of_data(*options.data, tokens.failure(), is_there(*options.data));
}

// The figures of a run that was trained on one text are not comparable over another one's end.
void say_if_text_changed(const SavedRun& run, const Tokens& tokens) {
  const CheckpointManifest& manifest = run.checkpoint.manifest();
  if (tokens.corpus_sha256() == manifest.corpus_sha256) return;
  say("warning: the checkpoint after ", manifest.step,
      " steps was trained on another text, or with another tokenizer, ",
      "than [data] names now: these figures are of windows that may differ from those of the run");
}

Result<std::unique_ptr<StageExecutor>> load_executor(const SavedRun& run, const std::string& device) {
  auto executor = make_stage_executor({run.config, StageId{0}, 1, device, Answering::kAtOnce, BeginsWith::kImage});
  if (!executor) return executor.failure();
  const auto image = run.checkpoint.source_of((*executor)->tensor_names());
  if (!image) return image.failure();
  if (Status loaded = load_image(**executor, **image); !loaded) return loaded.failure();
  return executor;
}

// Says on stderr how far it is.
Result<std::optional<Evaluation>> evaluate_aloud(StageExecutor& executor, const EvaluationPlan& plan,
                                                 std::uint64_t batches, const TextBytes& text_bytes) {
  const SteadyClock clock;
  ProgressPace pace;
  const auto tell = [&](std::uint64_t windows) {
    if (pace.is_due(clock.now())) say("evaluating: ", windows, " of ", plan.window_count(batches), " windows");
    return false;
  };
  return evaluate_until(tell, executor, plan, batches, text_bytes);
}

}  // namespace

Result<int> run_eval(const EvalOptions& options) {
  const auto device = settle_one_device(options.device, ask_gpu_driver);
  if (!device) return device.failure();
  if (auto ready = prepare_device(*device, program_folder()); !ready) return ready.failure();
  const auto run = open_saved_run(options.run_directory, options.step);
  if (!run) return run.failure();
  const auto tokens = tokens_to_evaluate(options, *run);
  if (!tokens) return tokens.failure();
  if (!options.data) say_if_text_changed(*run, **tokens);
  auto executor = load_executor(*run, *device);
  if (!executor) return executor.failure();
  const EvaluationPlan plan(*tokens, static_cast<std::uint64_t>(run->config.model.context), run->config.batch);
  const auto made = evaluate_aloud(**executor, plan, plan.batch_count(options.batches),
                                   TextBytes(*run->tokenizer, run->config.model.vocabulary));
  if (!made) return made.failure();
  const Evaluation& evaluation = **made;
  const std::uint64_t step = run->checkpoint.manifest().step;
  print(options.form == OutputForm::kJson ? evaluation_json(step, evaluation) : evaluation_text(step, evaluation));
  if (auto finite = check_finite(step, evaluation); !finite) return finite.failure();
  return 0;
}

}  // namespace shoal
