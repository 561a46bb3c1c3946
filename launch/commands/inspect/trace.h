// `shoal trace export | why | check | summary`: what a run's trace says.
// Reads files and needs no process of the run; what is said about them is decided in runtime/trace.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "launch/options.h"
#include "runtime/base/error.h"
#include "runtime/trace/picture/picture.h"
#include "runtime/trace/report/report_memory.h"
#include "runtime/trace/report/run_trace.h"
#include "runtime/trace/report/story/story.h"

namespace shoal {

// Reads a run's trace and gives it to `report`, which takes so much memory for each event. Errors: those of
// read_run_trace and of the report; kIo when memory does not suffice, whatever was found until then: that says nothing
// of the run.
[[nodiscard]] Result<int> report_trace(const std::string& run_directory,
                                       const std::function<Result<int>(const RunTrace&)>& report,
                                       std::uint64_t event_bytes = kReportEventBytes);

// `trace export`: a file for Perfetto, or a picture.
struct TraceExportOptions {
  std::string run_directory;
  std::optional<std::string> out;  // path of the JSON; absent: a picture alone is written
  std::optional<std::string> svg;
  PictureWindow window;
};
[[nodiscard]] Result<TraceExportOptions> trace_export_options(const Options& options);
[[nodiscard]] Result<int> run_trace_export(const TraceExportOptions& options);

// `trace why STEP/MB`.
struct TraceWhyOptions {
  std::string run_directory;
  MicrobatchName microbatch;
};
[[nodiscard]] Result<TraceWhyOptions> trace_why_options(const Options& options);
[[nodiscard]] Result<int> run_trace_why(const TraceWhyOptions& options);

// `trace check`: 0 when the invariants hold, 1 when one does not.
struct TraceCheckOptions {
  std::string run_directory;
  std::optional<std::string> against;  // a run that must have the same weights (S-5)
};
[[nodiscard]] Result<TraceCheckOptions> trace_check_options(const Options& options);
[[nodiscard]] Result<int> run_trace_check(const TraceCheckOptions& options);

// `trace summary`.
struct TraceSummaryOptions {
  std::string run_directory;
};
[[nodiscard]] Result<TraceSummaryOptions> trace_summary_options(const Options& options);
[[nodiscard]] Result<int> run_trace_summary(const TraceSummaryOptions& options);

}  // namespace shoal
