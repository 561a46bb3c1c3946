// Each step may be done twice.
#include "launch/branches/branch_entry.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "launch/processes/start_points.h"
#include "launch/say.h"
#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/journal/store.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/trace/metrics/metrics_file.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

std::string next_config(const RunDirectory& run, const std::string& name) {
  return (run.root / ("config.next-" + name + ".toml")).string();
}

std::string config_before(const RunDirectory& run, const std::string& name) {
  return (run.root / ("config.before-" + name + ".toml")).string();
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// A branch that has its line, and not yet its configuration.
std::optional<BranchRecord> unfinished(const RunDirectory& run) {
  const auto begun = begun_branch(run);
  return begun && begun->is_half_made ? std::optional(begun->record) : std::nullopt;
}

Status check_name_is_free(const RunDirectory& run, const std::string& name) {
  const auto told = branches_told_by(run.metrics());
  const bool is_told = std::ranges::any_of(told, [&name](const BranchRecord& one) { return one.name == name; });
  if (!is_told && !is_there(config_before(run, name))) return Done{};
  return fail(Error::kUsage, compose("--branch ", name, ": the run in ", run.root.string(),
                                     " had a branch of this name already; choose another, or go on with the run by "
                                     "--resume without --branch"));
}

// Refuses to go on from a checkpoint that cannot be used for this reason, and says which one can.
Failure damaged_base(const fs::path& checkpoints, const std::string& run, const std::string& reason) {
  const auto other = find_checkpoint(checkpoints, run);
  const std::uint64_t good = other && other->checkpoint ? other->checkpoint->manifest().step : 0;
  return fail(Error::kInvalidData,
              compose("the checkpoint that the branch would go on from cannot be used: ", reason,
                      "; restore it from a copy, or begin the branch ",
                      good == 0 ? "at the beginning" : compose("at that after ", good, " steps"), " by --from ", good));
}

// The state that the branch goes on from: steps applied, and the branch that made it. A damaged one is not passed over.
Result<Reached> base_of(const RunDirectory& run, const Config& now, const std::optional<std::uint64_t>& from) {
  if (from == 0U) return Reached{};
  const fs::path checkpoints = run.checkpoints(now);
  const std::string id = id_of(run);
  auto found = find_checkpoint(checkpoints, id, from);
  if (!found) {
    const bool is_there_at_all = !from || is_there(checkpoint_folder(checkpoints, *from));
    const bool is_damaged = found.failure().error == Error::kInvalidData && is_there_at_all;
    return is_damaged ? damaged_base(checkpoints, id, found.failure().message) : found.failure();
  }
  if (found->unreadable) return fail(Error::kIo, *found->unreadable);
  if (!found->skipped.empty()) return damaged_base(checkpoints, id, found->skipped.front());
  if (!found->checkpoint) return Reached{};
  const Reached base{Branch{found->checkpoint->manifest().branch}, found->checkpoint->manifest().step};
  const auto told = from ? std::nullopt : checkpoint_told_by(run.metrics(), kAnyStep);
  if (told.value_or(0) <= base.steps) return base;
  return damaged_base(
      checkpoints, id,
      compose(checkpoint_folder(checkpoints, *told).string(), ", of which ", run.metrics(), " tells, is not there"));
}

Result<Branch> newest_in_journal(const RunDirectory& run, const Config& now) {
  if (!is_there(run.journal())) return Branch{};
  const auto journal = open_journal(run.journal());
  if (!journal) return journal.failure();
  if (Status whole = check_journal_has_checkpoints(run, now, **journal); !whole) return whole.failure();
  return newest_branch(**journal);
}

// Returns the checkpoints that would be taken for newer than the state that the branch goes on from. The list has the
// newest first, damaged ones last.
std::vector<std::uint64_t> left_behind(const fs::path& checkpoints, const std::string& run, std::uint64_t from) {
  std::vector<std::uint64_t> behind;
  bool is_newer = true;
  for (const std::uint64_t step : list_checkpoints(checkpoints, run)) {
    is_newer = is_newer && step != from;
    if (is_newer || step > from) behind.push_back(step);
  }
  return behind;
}

Status set_checkpoints_aside(const RunDirectory& run, const Config& now, const BranchRecord& record) {
  const fs::path checkpoints = run.checkpoints(now);
  const fs::path aside = checkpoints / ("before-" + record.name);
  const auto behind = left_behind(checkpoints, id_of(run), record.step);
  std::error_code error;
  if (!behind.empty()) fs::create_directories(aside, error);
  for (const std::uint64_t step : behind) {
    const fs::path folder = checkpoint_folder(checkpoints, step);
    if (!error) fs::rename(folder, folder_of_step(aside, step), error);
    if (error) return fail(Error::kIo, compose("cannot move ", folder.string(), " aside: ", error.message()));
  }
  if (behind.empty()) return Done{};
  say("checkpoints that the branch does not go on from lie in ", aside.string(), " now");
  return sync_folder(checkpoints.string());
}

Status keep_config_before(const RunDirectory& run, const BranchRecord& record) {
  if (is_there(config_before(run, record.name))) return Done{};
  const auto text = read_file(run.config());
  if (!text) return text.failure();
  return replace_file(config_before(run, record.name), *text);
}

}  // namespace

std::optional<BegunBranch> begun_branch(const RunDirectory& run) {
  auto newest = branch_without_steps(run.metrics());
  if (!newest) return std::nullopt;
  const bool is_half_made = is_there(next_config(run, newest->name));
  return BegunBranch{std::move(*newest), is_half_made};
}

std::string ruling_config(const RunDirectory& run) {
  const auto begun = unfinished(run);
  return begun ? next_config(run, begun->name) : run.config();
}

Result<BranchRecord> look_at_branch(const RunDirectory& run, const BranchPlan& plan, const Config& now,
                                    const std::string& corpus_sha256) {
  if (Status free = check_name_is_free(run, plan.wish.name); !free) return free.failure();
  const auto base = base_of(run, now, plan.wish.from);
  if (!base) return base.failure();
  const Config was = config_of(base->branch, plan.was, branches_told_by(run.metrics()));
  if (Status end = check_round_end(was, now, base->steps); !end) return end.failure();
  const auto in_journal = newest_in_journal(run, now);
  if (!in_journal) return in_journal.failure();
  const std::vector<Branch> known = {base->branch, *in_journal, steps_told_by(run).branch, branch_begun_in(run)};
  return BranchRecord{plan.wish.name, number_after(known), base->steps, plan.changes, corpus_sha256};
}

Status begin_branch(const RunDirectory& run, const BranchRecord& record, const Config& now) {
  if (Status kept = replace_file(next_config(run, record.name), write_config(now)); !kept) return kept;
  auto metrics = MetricsFile::open(run.metrics());
  if (!metrics) return metrics.failure();
  if (Status told = metrics->append(with_time(to_json_line(record), SteadyClock().wall_now())); !told) return told;
  // The line is on the disk before anything that follows from it.
  if (Status kept = metrics->sync(); !kept) return kept;
  if (Status kept = sync_folder(run.root.string()); !kept) return kept;
  return finish_branch(run);
}

Status finish_branch(const RunDirectory& run) {
  const auto record = unfinished(run);
  if (!record) return Done{};
  const std::string next = next_config(run, record->name);
  const auto text = read_file(next);
  if (!text) return text.failure();
  const auto now = parse_config(*text, next);
  if (!now) return now.failure();
  if (Status kept = keep_config_before(run, *record); !kept) return kept;
  if (Status moved = set_checkpoints_aside(run, *now, *record); !moved) return moved;
  const NamedBranch row{record->name, record->branch, record->step, text_of(record->changes)};
  if (is_there(run.journal())) {
    if (Status noted = note_branch(run.journal(), row); !noted) return noted;
  }
  if (Status replaced = replace_file(run.config(), *text); !replaced) return replaced;
  std::error_code error;
  fs::remove(next, error);
  if (error) return fail(Error::kIo, compose("cannot remove ", next, ": ", error.message()));
  say("branch ", record->name, " (", record->branch, ") goes on after ", record->step,
      " steps: ", text_of(record->changes), "; the configuration before it is in ", config_before(run, record->name));
  return Done{};
}

}  // namespace shoal
