// Finds the lines that `shoal logs NAME` shows: the file of the process that NAME lives in, and which lines are NAME's.
//
//   line = TIME SP level SP who ":" SP text          as written by runtime/base/log; other lines (a keeper's, a
//   crash's)
//                                                    belong to the whole process
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/config.h"

namespace shoal {

struct LogPlace {
  std::vector<std::string> files;  // RUN/logs/<file>.log, those that may have it
  std::string who;                 // writer of the lines; empty: every line
};

// nodes: those with a log file. A stage may have run on any of them.
[[nodiscard]] LogPlace log_place(std::string_view name, const std::vector<std::string>& nodes);

// Returns the worker of the name, as "node2:1", where its lines would stand in its keeper's log, among those of the
// other workers; nothing: it has a log of its own, is the first one, or the name is of no worker.
[[nodiscard]] std::optional<std::string> worker_in_log_of_keeper(std::string_view name,
                                                                 const std::vector<std::string>& files);

// True when the run was to have an actor of that name, or has a process of it, which may have written nothing yet. A
// replica beyond pipeline.replicas is known by what it has written only. files: all that are there.
[[nodiscard]] bool is_planned(std::string_view name, const PipelineConfig& pipeline,
                              const std::vector<std::string>& files);

// Lines that `who` wrote, and those in which somebody else names it.
[[nodiscard]] bool is_line_of(std::string_view line, std::string_view who);

struct LogLine {
  std::string file;
  std::string text;
};

// Those of several files by the time that they begin with. A line without one belongs to the line before it.
[[nodiscard]] std::vector<LogLine> in_order_of_time(const std::map<std::string, std::vector<std::string>>& lines);

}  // namespace shoal
