// A journal that is another run's, or that lost its end, is refused before anything is written.
#include "launch/processes/spawner/opened_run.h"

#include <utility>

#include "launch/branches/branch_plan.h"
#include "launch/processes/spawner/number_record.h"
#include "launch/processes/text/recorded_text.h"
#include "launch/processes/text/text_samples.h"
#include "launch/processes/text/timely_samples.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/trace/metrics/metrics_file.h"
#include "runtime/transport/identity.h"

namespace shoal {
namespace {

constexpr Duration kReadWithin = std::chrono::milliseconds(200);  // a data loader without an answer for 1 s is replaced

// Processes that come back have the state of the branch before, where the journal has no entry yet of one that a person
// began.
Result<bool> may_come_back(const RunDirectory& run, JournalStore& journal) {
  const auto newest = newest_branch(journal);
  if (!newest) return newest.failure();
  return *newest >= branch_begun_in(run);
}

Result<std::shared_ptr<JournalStore>> open_or_create(const RunDirectory& run, RunId id) {
  const bool is_told_of = newest_entry_told_by(run.metrics()).value > 0;
  auto journal = open_or_begin_journal(run.journal(), id, is_told_of ? Entries::kExpected : Entries::kUnheardOf);
  if (!journal) return journal.failure();
  if ((*journal)->run() != id) {
    return fail(Error::kInvalidData,
                compose(run.journal(), " is the journal of run ", run_text((*journal)->run()), ", and this is run ",
                        run_text(id), "; restore its own from a copy, with its -wal file"));
  }
  return std::shared_ptr<JournalStore>(std::move(journal.value()));
}

// A spawner that comes back does not end the run because its text is away: the data loader waits, as it does in a run.
Result<std::shared_ptr<const Tokens>> open_or_await(const RecordedText& text, const Config& config, bool is_restarted) {
  auto tokens = open_recorded(text, config);
  if (tokens || !is_restarted) return tokens;
  return await_recorded(text, config, tokens.failure());
}

}  // namespace

Result<OpenedRun> open_run(const RunDirectory& run, const SpawnerProcessOptions& options, RunId id) {
  OpenedRun opened;
  const auto text = read_file(run.config());
  if (!text) return text.failure();
  opened.config_toml = text.value();
  const auto config = parse_config(opened.config_toml, run.config());
  if (!config) return config.failure();
  opened.config = config.value();
  const auto recorded = text_of_run(run);
  if (!recorded) return recorded.failure();
  const auto tokens = open_or_await(*recorded, opened.config, options.is_restarted);
  if (!tokens) return tokens.failure();
  opened.samples = std::make_shared<TimelySamples>(std::make_shared<TextSamples>(opened.config, *tokens),
                                                   opened.config.data.corpus, kReadWithin);
  opened.saved = {run, opened.config, id, recorded->sha256};
  auto journal = open_or_create(run, id);
  if (!journal) return journal.failure();
  opened.journal = journal.value();
  const auto can_return = may_come_back(run, *opened.journal);
  if (!can_return) return can_return.failure();
  opened.is_taken_over = options.is_restarted && *can_return;
  if (opened.is_taken_over) {
    opened.start = newest_start_point(opened.saved);  // read whole only when nobody comes back with more
  } else if (options.is_resumed || options.is_restarted) {
    const auto start = find_start_point(opened.saved, {kAnyStep, true});
    if (!start) return start.failure();
    opened.start = start.value();
    if (auto status = check_steps(options.stop_at_step, opened.start.version); !status) return status.failure();
  }
  auto on_record = NumberRecord::read(run.processes());
  if (!on_record) return on_record.failure();
  opened.on_record = std::move(*on_record);
  if (auto status = check_journal(opened.saved, *opened.journal, options.is_restarted); !status)
    return status.failure();
  // A person's start takes the kernels that it finds.
  if (auto status = options.is_resumed ? opened.journal->keep_kernels({}) : Status(Done{}); !status)
    return status.failure();
  const auto term = opened.journal->begin_term();
  if (!term) return term.failure();
  opened.term = term.value();
  return opened;
}

}  // namespace shoal
