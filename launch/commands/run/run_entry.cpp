// The text first: a run whose text is missing or too short leaves nothing behind.
#include "launch/commands/run/run_entry.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "launch/branches/branch_advice.h"
#include "launch/branches/branch_entry.h"
#include "launch/branches/branch_keys.h"
#include "launch/commands/inspect/plot.h"
#include "launch/processes/run_directory.h"
#include "launch/processes/start_points.h"
#include "launch/processes/text/recorded_text.h"
#include "launch/processes/unwritten_events.h"
#include "launch/say.h"
#include "launch/stop_signals.h"
#include "messages/codec.h"
#include "model/partition.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/text/shell_word.h"
#include "runtime/data/tokens.h"
#include "runtime/journal/round_plan.h"
#include "runtime/storage/checkpoint_claim.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/storage/checkpoint_shapes.h"
#include "runtime/storage/inner_parts.h"
#include "runtime/trace/metrics/metrics_file.h"
#include "runtime/transport/control/enrolment.h"

namespace shoal {

namespace {

// Returns the elements of the largest sum of a stage: of a step all, of a round those of its largest fragment.
std::uint64_t largest_sum(const StagePlan& stage, const SyncConfig& sync) {
  if (sync.mode != SyncMode::kDiloco) return stage.parameter_count;
  std::vector<StageTensor> tensors;
  for (const TensorSpec& tensor : stage.tensors) {
    tensors.push_back({tensor.layer, static_cast<std::uint64_t>(element_count(tensor))});
  }
  std::uint64_t most = 0;
  for (const Fragment& fragment : deal_fragments(tensors, static_cast<std::uint32_t>(sync.fragments), sync.pattern)) {
    most = std::max(most, fragment.element_count);
  }
  return most;
}

}  // namespace

// A joiner is given the sum of each step, or what a round agrees on of a fragment, at once; its state comes in pieces.
Status check_sums_can_travel(const Config& config) {
  const auto stages = partition(config);
  if (!stages) return stages.failure();
  const bool has_rounds = config.sync.mode == SyncMode::kDiloco;
  const bool averages_travel = has_rounds && inner_state_of(config) == InnerState::kAverage;
  const bool is_exact = !has_rounds && config.sync.reduction == Reduction::kExact;
  const std::uint64_t bytes_each = is_exact ? 8 : averages_travel ? 12 : 4;
  for (std::size_t stage = 0; stage < stages->size(); ++stage) {
    const std::uint64_t bytes = largest_sum((*stages)[stage], config.sync) * bytes_each;
    if (bytes <= kTensorBytesMax) continue;
    const std::string sum =
        has_rounds ? "the mean of a round over a fragment of stage " : "the sum of a step over stage ";
    const std::string more_fragments =
        has_rounds ? compose(", or each stage into more than ", config.sync.fragments, " fragments (sync.fragments)")
                   : "";
    return fail(Error::kUsage,
                compose(sum, stage, " has ", bytes >> 20U, " MiB, and a replica that joins ", "can be given at most ",
                        kTensorBytesMax >> 20U, "; cut the model into more than ", config.pipeline.stages,
                        " stages (pipeline.stages)", more_fragments));
  }
  return Done{};
}

namespace {

// Lines that are lost are lost for good.
Status check_can_write(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 || ::access(path.c_str(), R_OK | W_OK) == 0) return Done{};
  return fail(Error::kIo, compose("cannot append to ", path, ": ", std::strerror(errno)));
}

// Refuses a configuration of another model than was saved, as a config.toml that somebody has changed is. Damaged
// files tell nothing of a model: they are passed over, and said later.
Status check_is_saved_model(const RunDirectory& run, const Config& config) {
  TensorShapes wanted;
  for (const TensorSpec& tensor : whole_model(config.model).tensors) wanted[tensor.name] = tensor.shape;
  const auto checkpoints = run.checkpoints(config);
  const std::string id = id_of(run);
  for (const std::uint64_t step : list_checkpoints(checkpoints, id, Damaged::kLeftOut)) {
    const auto folder = checkpoint_folder(checkpoints, step);
    const TensorShapes saved = weight_shapes_of(folder);
    if (saved.empty()) continue;
    const std::string difference = shape_difference(saved, wanted);
    if (difference.empty()) return Done{};
    if (!Checkpoint::open(folder, id)) continue;
    return fail(Error::kUsage, compose("[model] and data.tokenizer do not fit the checkpoint after ", step,
                                       " steps: ", difference, "; put them back as they were when the run began"));
  }
  return Done{};
}

// A branch may go back behind --steps.
Status check_is_ours_to_resume(const RunDirectory& run, const ChosenRun& chosen, std::optional<std::uint64_t> stop_at) {
  if (auto status = check_can_go_on(run, chosen.config); !status) return status.failure();
  if (auto status = check_is_saved_model(run, chosen.config); !status) return status.failure();
  if (!chosen.branch) {
    if (auto status = check_run_goes_so_far(run, chosen.config, stop_at); !status) return status.failure();
  }
  return check_can_write(run.metrics());
}

// Says what becomes of the branch that another command could not make whole, where this one would begin one.
Result<BranchTurn> look_at_begun(const std::optional<BegunBranch>& begun, const ChosenRun& chosen) {
  if (!begun || !chosen.branch) return BranchTurn::kBegin;
  return turn_of(*chosen.branch, *begun);
}

// Begins or finishes the branch, also one that another command left unfinished. text: what the run trains on from here.
Status enter_branch(const RunDirectory& run, const ChosenRun& chosen, std::optional<std::uint64_t> stop_at,
                    const RecordedText& text) {
  const auto begun = begun_branch(run);
  const auto turn = look_at_begun(begun, chosen);
  if (!turn) return turn.failure();
  const bool goes_on = chosen.branch && *turn == BranchTurn::kGoOn;
  if (goes_on) {
    const auto target = check_steps_target(chosen.config, stop_at, begun->record.step);
    if (!target) return target.failure();
  }
  if (begun && begun->is_half_made) say("branch ", begun->record.name, " stands half-made: it is finished first");
  if (auto status = finish_branch(run); !status) return status.failure();
  if (!chosen.branch || goes_on) return Done{};
  const auto record = look_at_branch(run, *chosen.branch, chosen.config, text.sha256);
  if (!record) return record.failure();
  if (auto status = check_steps_target(chosen.config, stop_at, record->step); !status) return status.failure();
  return begin_branch(run, *record, chosen.config);
}

// Checks before anything is made; checked again once the directory is held and its identity known.
Status check_checkpoints_are_ours(const ChosenRun& chosen) {
  const RunDirectory run{chosen.directory};
  if (!run.has_checkpoints_elsewhere(chosen.config)) return Done{};
  return check_checkpoints(run.checkpoints(chosen.config), {chosen.is_resumed ? id_of(run) : std::string(), {}});
}

// Writes into metrics.jsonl, which nobody else does while the directory is held, that a start begins here.
Status tell_start(const RunDirectory& run, bool is_resumed) {
  const auto newest = newest_step_told_by(run.metrics());
  const RunEvent started{RunEventKind::kStarted, "run", is_resumed ? "a person goes on with it" : "a person begins it",
                         newest ? newest->step.value + 1 : 0};
  auto metrics = MetricsFile::open(run.metrics());
  if (!metrics) return metrics.failure();
  return metrics->append(with_time(to_json_line(started), SteadyClock().wall_now()));
}

// Refuses where another command has begun a run here, or a branch, between the choice and the hold: a text takes a
// while to be opened.
Status check_is_as_chosen(const RunDirectory& run, const ChosenRun& chosen) {
  std::error_code unknown;
  if (!chosen.is_resumed && std::filesystem::exists(run.config(), unknown)) {
    return fail(Error::kUsage, compose(run.root.string(), ": another command has begun a run there meanwhile"));
  }
  if (!chosen.read) return Done{};
  const auto now = read_file(ruling_config(run));
  if (now && *now == *chosen.read) return Done{};
  return fail(Error::kUsage, compose(run.root.string(), ": another command has changed the run's configuration ",
                                     "meanwhile; give this command again"));
}

// Returns the text that goes on record. Refuses one that is not what the run has had so far; a branch may name another.
Result<RecordedText> text_to_record(const RunDirectory& run, const ChosenRun& chosen, RecordedText text) {
  if (chosen.branch && names_text(chosen.branch->changes)) return text;
  const auto before = text_so_far(run, chosen.config);
  if (!before) return before.failure();
  return *before ? text_to_keep(**before, text, chosen.config.data.corpus) : Result<RecordedText>(std::move(text));
}

// Makes the directory; one that exists stays. A failure is told when the directory is locked.
void make_own_directory(ChosenRun& chosen) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::create_directories(fs::path(chosen.usual_name).parent_path(), ignored);
  chosen.directory = first_free(chosen.usual_name, [&](const std::string& directory) {
    return fs::create_directory(directory, ignored) || !fs::exists(directory, ignored);
  });
}

}  // namespace

Result<RunHold> enter_run(ChosenRun& chosen, std::optional<std::uint64_t> stop_at) {
  const auto tokens = open_tokens(chosen.config);
  if (!tokens) return tokens.failure();
  RecordedText text = record_of(**tokens);
  if (auto status = check_checkpoints_are_ours(chosen); !status) return status.failure();
  if (!chosen.usual_name.empty()) make_own_directory(chosen);
  const RunDirectory run{chosen.directory};
  auto hold = RunHold::take(run);
  if (!hold) return hold.failure();
  if (auto status = check_is_as_chosen(run, chosen); !status) return status.failure();
  if (chosen.is_resumed) {
    if (auto status = check_is_ours_to_resume(run, chosen, stop_at); !status) return status.failure();
    auto kept = text_to_record(run, chosen, text);
    if (!kept) return kept.failure();
    text = std::move(*kept);
    if (const auto told = tell_left(run); !told) say("warning: ", told.failure().message);
    if (auto status = enter_branch(run, chosen, stop_at, text); !status) return status.failure();
  }
  if (auto status = prepare_run_directory(run, chosen.config); !status) return status.failure();
  if (auto status = record_text(run, text); !status) return status.failure();
  if (const auto told = tell_start(run, chosen.is_resumed); !told) say("warning: ", told.failure().message);
  permit_standing_token(run.join_token());
  say_warning(chosen.warning);
  say("run directory ", chosen.directory);
  return hold;
}

namespace {

// Looks for the newest checkpoint of a state that something can be made of; whether its files are whole is not looked
// at.
StateLeft newest_state(const RunDirectory& run, const Config& now, const std::vector<BranchRecord>& told) {
  const auto checkpoints = run.checkpoints(now);
  const bool has_rounds = now.sync.mode == SyncMode::kDiloco;  // they go on, and change what skipped steps do not
  const std::uint64_t good_below = (has_rounds ? std::nullopt : useless_from(run.metrics())).value_or(kAnyStep);
  for (const std::uint64_t step : list_checkpoints(checkpoints, id_of(run), Damaged::kLeftOut)) {
    const auto manifest = read_manifest(checkpoint_folder(checkpoints, step));
    if (manifest && step < good_below) return {step, config_of(Branch{manifest->branch}, now, told)};
  }
  return {0, config_of(Branch{}, now, told)};
}

}  // namespace

void draw_finished(const std::string& directory, const Result<int>& status, bool was_asked) {
  const SecondSignalWatch watch(status ? *status : exit_code(status.failure().error), was_asked);
  draw_at_end(directory);
}

void say_how_to_go_on(std::string_view command, const std::string& directory, int code) {
  if (is_saved_status(code)) say("stopped; go on with: ", command, " --resume ", shell_word(directory));
  const auto now = code == exit_code(Error::kDiverged) ? read_run_config(directory) : Result<Config>(Config{});
  if (code != exit_code(Error::kDiverged) || !now) return;
  const RunDirectory run{directory};
  if (skipped_from(run.metrics()) == 0U) {
    const bool is_imported = read_manifest(checkpoint_folder(run.checkpoints(*now), 0)).ok();
    say(advice_on_first_weights(command, directory, *now, is_imported));
    return;
  }
  const auto told = branches_told_by(run.metrics());
  const StateLeft state = newest_state(run, *now, told);
  say(advice_text(command, directory, state, advised_changes(state.config, *now, told), *now));
}

}  // namespace shoal
