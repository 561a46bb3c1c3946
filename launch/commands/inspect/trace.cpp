// `shoal trace`: reads RUN/trace, prints or writes what the reports make of it.
#include "launch/commands/inspect/trace.h"

#include <exception>
#include <filesystem>
#include <memory>

#include "launch/commands/inspect/run_weights.h"
#include "launch/processes/run_directory.h"
#include "launch/say.h"
#include "launch/start_run.h"
#include "runtime/base/config_file.h"
#include "runtime/base/file.h"
#include "runtime/base/machine/available_memory.h"
#include "runtime/base/machine/memory_lack.h"
#include "runtime/trace/metrics/round_losses.h"
#include "runtime/trace/picture/window.h"
#include "runtime/trace/report/check/trace_check.h"
#include "runtime/trace/report/perfetto.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/report/summary/summary.h"

namespace shoal {
namespace {

// The run that is named, by its place or by --run, or the newest one here.
Result<std::string> directory_of(const Options& options, std::size_t position) {
  const auto named = options.positional(position);
  const auto by_option = options.value("--run");
  if (named && by_option && *named != *by_option)
    return fail(Error::kUsage, compose(*named, " and --run ", *by_option, " name two runs; name one"));
  if (named || by_option) return named ? *named : *by_option;
  return newest_run(surroundings_here().folder);
}

Status check_room(const std::string& directory, std::uint64_t trace_bytes, std::uint64_t needed_bytes) {
  const auto fits = check_memory(trace_bytes, needed_bytes, available_memory());
  return fits ? fits : fail(fits.failure().error, compose(directory, ": ", fits.failure().message));
}

void say_what_was_read(const std::string& directory, std::uint64_t event_count, const std::vector<ProcessLife>& lives) {
  say("read ", event_count, " events of ", lives.size(), " process lives in ", directory);
  for (const ProcessLife& life : lives) {
    if (life.clock.source != ClockSource::kSameMachine) {
      say("clock of ", life.name, ": the spawner's is ahead by ", text_of(life.clock));
    }
  }
}

Result<RunTrace> read_and_say(const std::string& directory, std::uint64_t event_bytes) {
  const std::uint64_t bytes = trace_bytes(directory);
  if (auto fits = check_room(directory, bytes, memory_of_report(bytes, event_bytes)); !fits) return fits.failure();
  auto trace = read_run_trace(directory);
  if (!trace) return trace.failure();
  say_what_was_read(directory, trace->events.size(), trace->lives);
  return trace;
}

// Reads for `work`, whose lack of memory is an error like others.
Result<int> within_memory(const std::string& run_directory, const std::function<Result<int>()>& work) {
  try {
    return work();
  } catch (const std::exception& problem) {
    if (!is_lack_of_memory(problem)) throw;
    return fail(Error::kIo, compose(run_directory, ": this machine gives no more memory (", problem.what(),
                                    "): nothing is known of the run; see `ulimit -v` and what else runs here, or copy "
                                    "the run directory to a machine with more"));
  }
}

void print_rule(const CheckReport& report, Rule rule) {
  std::size_t broken = 0;
  for (const Violation& violation : report.violations) broken += violation.rule == rule ? 1 : 0;
  if (rule == Rule::kTrace && broken == 0) return;
  print(broken == 0 ? "holds   " : "BROKEN  ", text_of(rule), "\n");
  for (const Violation& violation : report.violations) {
    if (violation.rule == rule) print("          ", violation.text, "\n");
  }
}

void print_report(const CheckReport& report) {
  for (const Rule rule :
       {Rule::kExactlyOnce, Rule::kOneCommit, Rule::kEqualDigests, Rule::kView, Rule::kBounds, Rule::kTrace}) {
    print_rule(report, rule);
  }
  const CheckCounts& counts = report.counts;
  print("checked ", counts.commits, " commits on ", counts.branches, counts.branches == 1 ? " branch, " : " branches, ",
        counts.contributions, " contributions, ", counts.accumulations_seen, " accumulations (",
        counts.accumulations_excused, " lost with a killed process), ", counts.digests_compared, " digests, ",
        counts.marks, " marks of queues\n");
  for (const std::string& note : report.notes) print("note: ", note, "\n");
}

// S-5. True when the weights are equal wherever both runs have them.
Result<bool> print_comparison(const TraceCheckOptions& options) {
  const auto compared = compare_weights(options.run_directory, *options.against);
  if (!compared) return compared.failure();
  const bool is_equal = compared->difference.empty();
  print(is_equal ? "holds   " : "BROKEN  ", "S-5 the weights equal those of ", *options.against, " bit for bit\n");
  if (is_equal) {
    print("          compared after ", compared->steps, " steps",
          compared->compared_count > 1 ? compose(" and at ", compared->compared_count - 1, " checkpoints before") : "",
          "\n");
  } else {
    print("          ", compared->difference, "\n");
  }
  const auto text = read_file((std::filesystem::path(options.run_directory) / "config.toml").string());
  if (!text) return is_equal;
  const auto config = parse_config(*text, "config.toml");
  const bool is_exact = config && config->sync.reduction == Reduction::kExact;
  if (!is_exact) print("note: sync.reduction is not \"exact\": equal bits are not promised for this run\n");
  return is_equal;
}

// Prints the losses of rounds, which metrics.jsonl has and no trace; prints nothing for a run without rounds.
void print_rounds(const RunDirectory& run) {
  const auto text = read_file(run.config());
  if (!text) return;
  const auto config = parse_config(*text, run.config());
  if (!config || config->sync.mode != SyncMode::kDiloco) return;
  if (const auto losses = round_losses_in(run.metrics())) print("\nROUNDS\n  ", text_of(*losses), "\n");
}

Result<int> export_trace(const TraceExportOptions& options, const RunTrace& trace) {
  if (options.out) {
    if (auto written = replace_file(*options.out, perfetto_json(trace)); !written) return written.failure();
    print(*options.out, "\n");
    say("open it at https://ui.perfetto.dev or chrome://tracing");
  }
  if (options.svg) {
    const auto picture = picture_of(trace, options.window);
    if (!picture) return picture.failure();
    if (auto written = replace_file(*options.svg, *picture); !written) return written.failure();
    print(*options.svg, "\n");
  }
  return 0;
}

Result<std::unique_ptr<EventPieces>> pieces_and_say(const std::string& directory,
                                                    std::uint64_t (*memory_of)(std::uint64_t trace_bytes)) {
  const std::uint64_t bytes = trace_bytes(directory);
  if (auto fits = check_room(directory, bytes, memory_of(bytes)); !fits) return fits.failure();
  auto pieces = read_pieces(directory);
  if (pieces) say_what_was_read(directory, (*pieces)->event_count(), (*pieces)->frame().lives);
  return pieces;
}

Result<int> summarise(const std::string& run_directory) {
  const auto pieces = pieces_and_say(run_directory, memory_of_summary);
  if (!pieces) return pieces.failure();
  const auto summary = summarise_trace(**pieces);
  if (!summary) return summary.failure();
  print(summary->text);
  print_rounds(RunDirectory{run_directory});
  return 0;
}

Result<int> check(const TraceCheckOptions& options) {
  const auto pieces = pieces_and_say(options.run_directory, memory_of_check);
  if (!pieces) return pieces.failure();
  const auto report = check_trace(**pieces);
  if (!report) return report.failure();
  print_report(*report);
  if (!options.against) return report->is_good() ? 0 : 1;
  const auto is_equal = print_comparison(options);
  if (!is_equal) return is_equal.failure();
  return report->is_good() && *is_equal ? 0 : 1;
}

}  // namespace

Result<int> report_trace(const std::string& run_directory, const std::function<Result<int>(const RunTrace&)>& report,
                         std::uint64_t event_bytes) {
  return within_memory(run_directory, [&]() -> Result<int> {
    const auto trace = read_and_say(run_directory, event_bytes);
    return trace ? report(*trace) : trace.failure();
  });
}

Result<TraceExportOptions> trace_export_options(const Options& options) {
  const auto directory = directory_of(options, 0);
  if (!directory) return directory.failure();
  TraceExportOptions out{*directory, options.value("--out"), options.value("--svg"), {}};
  if (!out.out && !out.svg) out.out = (std::filesystem::path(*directory) / "trace" / "perfetto.json").string();
  for (const auto& [name, border] : {std::pair{"--from", &out.window.from}, std::pair{"--to", &out.window.to}}) {
    const auto text = options.value(name);
    if (!text) continue;
    if (!out.svg) return fail(Error::kUsage, std::string(name) + " goes with --svg FILE; the JSON holds the whole run");
    const auto parsed = parse_border(*text);
    if (!parsed) return fail(Error::kUsage, std::string(name) + " " + parsed.failure().message);
    *border = *parsed;
  }
  return out;
}

Result<int> run_trace_export(const TraceExportOptions& options) {
  return report_trace(
      options.run_directory, [&](const RunTrace& trace) { return export_trace(options, trace); },
      options.out ? kExportEventBytes : kReportEventBytes);
}

Result<TraceWhyOptions> trace_why_options(const Options& options) {
  const auto microbatch = parse_microbatch(*options.positional(0));
  if (!microbatch) return microbatch.failure();
  const auto directory = directory_of(options, 1);
  if (!directory) return directory.failure();
  return TraceWhyOptions{*directory, *microbatch};
}

Result<int> run_trace_why(const TraceWhyOptions& options) {
  return within_memory(options.run_directory, [&]() -> Result<int> {
    const auto pieces = pieces_and_say(options.run_directory, memory_of_check);
    if (!pieces) return pieces.failure();
    const auto story = tell_microbatch(**pieces, options.microbatch);
    if (!story) return story.failure();
    print(*story);
    return 0;
  });
}

Result<TraceCheckOptions> trace_check_options(const Options& options) {
  const auto directory = directory_of(options, 0);
  if (!directory) return directory.failure();
  return TraceCheckOptions{*directory, options.value("--against")};
}

Result<int> run_trace_check(const TraceCheckOptions& options) {
  return within_memory(options.run_directory, [&] { return check(options); });
}

Result<TraceSummaryOptions> trace_summary_options(const Options& options) {
  const auto directory = directory_of(options, 0);
  if (!directory) return directory.failure();
  return TraceSummaryOptions{*directory};
}

Result<int> run_trace_summary(const TraceSummaryOptions& options) {
  return within_memory(options.run_directory, [&] { return summarise(options.run_directory); });
}

}  // namespace shoal
