// A person is told which checkpoint it is, and which ones were passed over.
#include "launch/processes/start_points.h"

#include <algorithm>
#include <limits>

#include "launch/say.h"
#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/base/text/quantity_words.h"
#include "runtime/storage/checkpoint_claim.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/trace/metrics/branches/branch_record.h"
#include "runtime/trace/metrics/metrics_file.h"

namespace shoal {

std::optional<std::string> others_checkpoints(const RunDirectory& run, const Config& config) {
  const auto folder = run.checkpoints(config);
  const std::string own = id_of(run);
  const auto found = others_manifest(folder, own);
  if (!found) return std::nullopt;
  return compose("the checkpoints in ", folder.string(), " are of run ", found->run, ", and by ", run.certs(),
                 " this is run ", own, "; restore what is another run's from a copy");
}

namespace {

StartPoint start_of(const CheckpointManifest& manifest) {
  return {manifest.step, manifest.optimizer_step, true, manifest.weights_sha256, Branch{manifest.branch}};
}

// A person's branch has its number before its first step has a line.
StartPoint on_begun_branch(StartPoint start, const SavedStates& saved) {
  const Branch begun = branch_begun_in(saved.run);
  start.is_wanted = begun.value > 0 && start.branch <= begun;
  start.branch = std::max(start.branch, begun);
  return start;
}

StartPoint beyond_told(StartPoint start, const SavedStates& saved) {
  const Reached told = steps_told_by(saved.run);
  start.branch = branch_going_on({start.branch, start.version}, told);
  return on_begun_branch(start, saved);
}

// The state that a person's branch on another text goes on from is of the text before.
bool begins_on_other_text(const CheckpointManifest& manifest, const SavedStates& saved) {
  const auto told = branches_told_by(saved.run.metrics());
  if (told.empty()) return false;
  const BranchRecord& begun = told.front();
  return manifest.step == begun.step && Branch{manifest.branch} < begun.branch &&
         begun.corpus_sha256 == saved.corpus_sha256;
}

std::optional<CheckpointManifest> newest_manifest(const SavedStates& saved) {
  const auto folder = saved.run.checkpoints(saved.config);
  for (const std::uint64_t step : list_checkpoints(folder, id_of(saved.run), Damaged::kLeftOut)) {
    if (auto manifest = read_manifest(checkpoint_folder(folder, step))) return std::move(*manifest);
  }
  return std::nullopt;
}

// Says what is wrong with the manifest of the newest checkpoint. Nothing: it can be read.
std::optional<Failure> damage_of_newest(const SavedStates& saved) {
  const auto folder = saved.run.checkpoints(saved.config);
  const auto damaged = list_checkpoints(folder, id_of(saved.run));
  if (damaged.empty()) return std::nullopt;
  const auto manifest = read_manifest(checkpoint_folder(folder, damaged.front()));
  if (manifest) return std::nullopt;
  return fail(manifest.failure().error, manifest.failure().message + "; restore the checkpoint from a copy");
}

Failure no_checkpoint(const SavedStates& saved, std::uint64_t told) {
  if (const auto others = others_checkpoints(saved.run, saved.config)) return fail(Error::kInvalidData, *others);
  if (auto damage = damage_of_newest(saved)) return std::move(*damage);
  return fail(Error::kInvalidData,
              compose("there is no checkpoint in ", saved.run.checkpoints(saved.config).string(), ", and ",
                      saved.run.metrics(), " tells of one after ", told,
                      " steps; bring the folder back, say where it is (checkpoint.dir), or begin a run of its own"));
}

// The run has saved one: a folder that is not there, or empty, may be a mount or a name that is away for a while.
Failure checkpoints_away(const SavedStates& saved, std::uint64_t steps) {
  if (const auto others = others_checkpoints(saved.run, saved.config)) return fail(Error::kInvalidData, *others);
  return fail(Error::kIo,
              compose("no checkpoint is in ", saved.run.checkpoints(saved.config).string(),
                      ", and the run goes on from one after ", steps, " steps at least; bring the folder back"));
}

// Refuses a state from before the newest branch that a person began: what is trained from it would have the branch's
// configuration, and be neither the branch nor what it goes on from.
Status check_is_not_before_branch(const SavedStates& saved, const FoundCheckpoint& found) {
  const auto told = branches_told_by(saved.run.metrics());
  if (told.empty()) return Done{};
  const BranchRecord& begun = told.front();
  const Reached state = found.checkpoint
                            ? Reached{Branch{found.checkpoint->manifest().branch}, found.checkpoint->manifest().step}
                            : Reached{};
  if (state.branch >= begun.branch || state.steps >= begun.step) return Done{};
  const auto base = checkpoint_folder(saved.run.checkpoints(saved.config), begun.step);
  const std::string reason = found.skipped.empty() ? base.string() + " is not there" : found.skipped.front();
  return fail(Error::kInvalidData, compose("branch ", begun.name, " goes on from the checkpoint after ", begun.step,
                                           " steps, and neither that nor one of its own can be used: ", reason,
                                           "; restore it from a copy, or begin another branch at the one after ",
                                           state.steps, " steps by --resume --branch NAME --from ", state.steps));
}

// True when the run goes on with the first step of a branch; `saved` is the newest checkpoint that can be read.
bool is_at_begin_of(const std::optional<BranchRecord>& begun, const std::optional<CheckpointManifest>& saved) {
  return begun && (!saved || Branch{saved->branch} < begun->branch);
}

constexpr std::size_t kEntriesAtOnce = 64;

// Returns the state that an entry speaks of; that of nothing where it speaks of none.
Reached reached_in(const JournalEntry& entry) {
  if (const auto* commit = std::get_if<Commit>(&entry.body)) return {entry.branch, commit->step.value + 1};
  if (const auto* added = std::get_if<AddReplica>(&entry.body)) return {entry.branch, added->version};
  return {};
}

// Returns how far the commits of a journal with entries go, and the states that its branches begin with.
Result<Reached> committed_in(JournalStore& journal) {
  JournalPosition after = journal.begins_after();
  Reached furthest;
  if (after.value > 0) {
    const auto past = journal.snapshot();
    if (!past) return past.failure();
    furthest = {past->view.branch, past->view.committed_steps};
  }
  while (after < journal.last_position()) {
    const auto entries = journal.load(after, kEntriesAtOnce);
    if (!entries) return entries.failure();
    for (const JournalEntry& entry : *entries) furthest = std::max(furthest, reached_in(entry));
    after = entries->back().position;
  }
  return furthest;
}

// True when one process made this state, of whose steps no journal has an entry: it trained the last of them, or began
// a branch there and has trained none.
bool is_of_one_process(const RunDirectory& run, const Reached& saved) {
  const auto commit = commit_told_by(run.metrics(), {saved.branch, StepId{saved.steps - 1}});
  return commit ? commit->value == 0 : start_without_steps(run.metrics()) == saved.steps;
}

constexpr const char* kRestore = "; restore it from a copy, with its -wal file";

}  // namespace

Result<std::optional<RecordedText>> text_so_far(const RunDirectory& run, const Config& config) {
  const auto recorded = recorded_text(run);
  if (!recorded) return recorded.failure();
  if (*recorded) return std::optional(text_to_go_on_with(**recorded, branch_without_steps(run.metrics())));
  const auto told = branches_told_by(run.metrics());
  const auto shards = read_file(run.shards());
  return text_without_record(newest_manifest(SavedStates{run, config, {}, {}}),
                             told.empty() ? std::nullopt : std::optional(told.front()),
                             shards ? *shards : std::string());
}

Result<std::shared_ptr<const Tokens>> open_so_far(const RunDirectory& run, const Config& config) {
  const auto text = text_so_far(run, config);
  if (!text) return text.failure();
  return open_tokens(config, *text ? (*text)->shards : std::string());
}

Reached steps_told_by(const RunDirectory& run) {
  const auto newest = newest_step_told_by(run.metrics());
  return newest ? Reached{newest->branch, newest->step.value + 1} : Reached{};
}

Branch branch_begun_in(const RunDirectory& run) {
  const auto begun = branch_without_steps(run.metrics());
  return begun ? begun->branch : Branch{};
}

Status check_can_go_on(const RunDirectory& run, const Config& config) {
  const SavedStates saved{run, config, {}, {}};
  if (newest_manifest(saved)) return Done{};
  const auto told = checkpoint_told_by(run.metrics(), std::numeric_limits<std::uint64_t>::max());
  if (told) return no_checkpoint(saved, *told);
  return Done{};
}

Status check_run_goes_so_far(const RunDirectory& run, const Config& config, std::optional<std::uint64_t> stop_at) {
  const auto saved = newest_manifest(SavedStates{run, config, {}, {}});
  const auto begun = branch_without_steps(run.metrics());
  if (!is_at_begin_of(begun, saved)) return check_steps_target(config, stop_at, saved ? saved->step : 0);
  if (!stop_at || *stop_at >= begun->step) return check_steps_target(config, stop_at, begun->step);
  return fail(Error::kUsage, compose("--steps ", *stop_at, ": branch ", begun->name,
                                     ", which has begun and has no steps of its own yet, ", "goes on after ",
                                     begun->step, " steps; they are counted from the run's beginning"));
}

Status check_journal_has_checkpoints(const RunDirectory& run, const Config& config, JournalStore& journal) {
  if (journal.last_position().value == 0) return Done{};
  const auto manifest = newest_manifest(SavedStates{run, config, {}, {}});
  const bool is_ours = manifest && manifest->run == run_text(journal.run()) && manifest->step > 0;
  if (!is_ours) return Done{};
  const auto has = committed_in(journal);
  if (!has) return has.failure();
  const Reached saved{Branch{manifest->branch}, manifest->step};
  if (saved <= *has || is_of_one_process(run, saved)) return Done{};
  const auto folder = run.checkpoints(config);
  return fail(Error::kInvalidData,
              compose(run.journal(), " ends after ", counted(has->steps, "step"), " of branch ", has->branch,
                      ", before the checkpoint ", checkpoint_folder(folder, saved.steps).string(),
                      " of this run after ", counted(saved.steps, "step"), " of branch ", saved.branch,
                      ": it is an older copy, or the run went on elsewhere", kRestore,
                      "; to train again what is missing, move the newer checkpoints out of ", folder.string()));
}

Status check_journal(const SavedStates& saved, JournalStore& journal, bool is_restarted) {
  const std::string path = saved.run.journal();
  const JournalPosition end = journal.last_position();
  const JournalPosition told = newest_entry_told_by(saved.run.metrics());
  if (end.value == 0) {
    if (told.value == 0) return Done{};
    return fail(Error::kInvalidData,
                compose(path, " is empty or was gone, and ", saved.run.metrics(), " tells of its entries", kRestore));
  }
  if (Status whole = check_journal_has_checkpoints(saved.run, saved.config, journal); !whole) return whole;
  if (told <= end) return Done{};
  const std::string lost = compose(path, " ends with entry ", end, ", and ", saved.run.metrics(), " tells of entry ",
                                   told, ": it is damaged, or a copy that was made while the run went on");
  if (is_restarted) return fail(Error::kInvalidData, lost + "; go on with --resume when all nodes have ended");
  say("warning: ", lost, "; what is trained again begins at the checkpoint");
  return Done{};
}

Result<std::optional<Checkpoint>> find_start(const SavedStates& saved, const FindCheckpoint& wanted) {
  const auto folder = saved.run.checkpoints(saved.config);
  auto found = find_checkpoint(folder, run_text(saved.id), std::nullopt, wanted.not_beyond);
  if (!found) return found.failure();
  if (found->unreadable && !wanted.passes_unreadable) return fail(Error::kIo, *found->unreadable);
  for (const auto& reason : found->skipped) say("passed over a checkpoint: ", reason);
  const auto told = checkpoint_told_by(saved.run.metrics(), wanted.not_beyond);
  if (!found->checkpoint && wanted.saved && *wanted.saved <= wanted.not_beyond) {
    return checkpoints_away(saved, *wanted.saved);
  }
  const Status is_of_branch = check_is_not_before_branch(saved, *found);
  if (!is_of_branch && (found->checkpoint || !told)) return is_of_branch.failure();
  const bool is_start = wanted.look == 0;  // what comes of a supervisor's look the supervisor says
  if (!found->checkpoint) {
    if (!told) {
      if (is_start) say("no checkpoint yet: starting from the beginning");
      return std::optional<Checkpoint>();
    }
    return no_checkpoint(saved, *told);
  }
  const CheckpointManifest& manifest = found->checkpoint->manifest();
  if (manifest.corpus_sha256 != saved.corpus_sha256 && !begins_on_other_text(manifest, saved)) {
    return fail(Error::kInvalidData, compose("the checkpoint after ", manifest.step,
                                             " steps was trained on another text, or with another tokenizer, "
                                             "than [data] names now"));
  }
  if (told && *told > manifest.step && found->skipped.empty()) {
    say("warning: the checkpoint after ", *told, " steps, of which ", saved.run.metrics(), " tells, is not in ",
        folder.string(), " or not complete");
  }
  if (is_start) say("going on after step ", manifest.step);
  return std::move(found->checkpoint);
}

Result<StartPoint> find_start_point(const SavedStates& saved, const FindCheckpoint& wanted) {
  const auto checkpoint = find_start(saved, wanted);
  if (!checkpoint) return checkpoint.failure();
  return beyond_told(*checkpoint ? start_of((*checkpoint)->manifest()) : StartPoint{}, saved);
}

StartPoint newest_start_point(const SavedStates& saved) {
  const auto manifest = newest_manifest(saved);
  return on_begun_branch(manifest ? start_of(*manifest) : StartPoint{}, saved);
}

}  // namespace shoal
