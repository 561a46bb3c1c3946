// Chooses the run that a command starts or goes on with: its directory and configuration, before anything is written.
//
//   new      CONFIG, environment, --set; directory: --out, run.out, or runs/<UTC time>-<corpus>; must be new or empty
//   resumed  the directory's own config.toml rules; only keys that say where and how a run runs may be set otherwise,
//            and on a branch of the run those that say what it computes from a checkpoint on (branches/)
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/branches/branch_plan.h"
#include "runtime/base/config.h"
#include "runtime/base/config_file.h"
#include "runtime/base/error.h"

namespace shoal {

struct RunChoice {
  std::optional<std::string> config;  // CONFIG
  std::vector<std::string> sets;
  std::optional<std::string> out;
  bool is_resumed = false;
  std::optional<std::string> resume_directory;
  std::vector<std::string> defaults{};  // "section.key=value" of the command, for a new run; all others beat them
  std::string out_option = "--out";     // the option that gave `out`, for messages
  bool is_single = false;               // for one process without actors
  std::optional<BranchWish> branch{};   // for a resumed run that becomes a branch
};

struct ChosenRun {
  std::string directory;     // absolute
  std::string usual_name{};  // nobody named the directory: it is this one, or this one with a number; else empty
  Config config;             // paths in it absolute, run.out empty: the resolved file repeats the run from anywhere
  bool is_resumed = false;
  std::optional<BranchPlan> branch{};  // to be begun
  std::optional<std::string> read{};   // of a run that goes on: the text of the configuration that was chosen from
  std::string warning{};  // for the person: keys that have no effect, or one that costs much; empty: nothing to say
};

struct Surroundings {
  std::vector<std::pair<std::string, std::string>> environment;  // shoal_environment()
  std::string folder;                                            // the working directory
  std::chrono::system_clock::time_point now;
};
[[nodiscard]] Surroundings surroundings_here();

// Returns "sync.H, sync.wire have no effect while sync.mode = ...; ...", in the order in which the reasons come up.
[[nodiscard]] std::string warning_of(std::vector<IdleKey> idle);
// Refuses a text that this version does not read (runtime/data/text.h); a relative path is in `folder`.
[[nodiscard]] Status check_corpus_kind(const Config& config, const std::string& folder);

// Errors: kUsage (configuration, a directory that is not empty, nothing to resume, keys that may not change),
// kInvalidData (a tokenizer that is a file without ranks, or another file than the run had).
[[nodiscard]] Result<ChosenRun> choose_run(const RunChoice& choice, const Surroundings& here);

// Returns `name`, or name-2, name-3, ...: the first one that is_free().
[[nodiscard]] std::string first_free(const std::string& name, const std::function<bool(const std::string&)>& is_free);

// The run under folder/runs that was started last; kUsage when there is none.
[[nodiscard]] Result<std::string> newest_run(const std::string& folder);
// The same, but for a directory that a person named: kUsage when it is not there.
[[nodiscard]] Result<std::string> named_or_newest_run(const std::optional<std::string>& named,
                                                      const std::string& folder);

}  // namespace shoal
