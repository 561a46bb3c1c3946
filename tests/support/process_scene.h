// The stage for a test with real processes: a temporary folder with a text of its own, the programs started in it, and
// the promise that nothing of it is left when the test is over.
//
// All ports are the system's choice, all directories lie in the folder, the cache of fetched texts stays the machine's.
// After a failure the destructor prints what the programs said, the logs, spawner.json, the newest metrics and `shoal
// status` of every run in the folder. KEEP_SCENES=1 in the environment keeps the folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/process_program.h"
#include "tests/support/process_records.h"
#include "tests/support/process_tree.h"

namespace shoal {

// Longest time that anything may take before a test calls it hung, on a machine that does other things as well.
inline constexpr Milliseconds kRunLimit{120'000};

// Steps of a run that lasts until it is stopped: no machine is too fast to disturb it.
inline constexpr int kEndless = 1'000'000;

// A small model and few steps; `sets` are added last and therefore win.
struct SmallRun {
  int stages = 2;
  int replicas = 2;
  int steps = 20;
  std::vector<std::string> sets;
};

class ProcessScene {
 public:
  ProcessScene();
  // Kills what is left; that something was left after all programs ended is a failure of the test.
  ~ProcessScene();
  ProcessScene(const ProcessScene&) = delete;
  ProcessScene& operator=(const ProcessScene&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::filesystem::path text() const { return folder_ / "text.txt"; }
  // Directory of the run of that name; the program makes it.
  [[nodiscard]] std::filesystem::path run(const std::string& name = "run") const { return folder_ / name; }
  [[nodiscard]] RunRecords records(const std::string& name = "run") const {
    return read_records(run(name) / "metrics.jsonl");
  }

  // Adds variables to the environment of every program started from here on.
  void set_environment(std::map<std::string, std::string> environment) { environment_ = std::move(environment); }
  // `shoal` with these arguments, in the folder. It lives until the scene ends.
  Program& start(std::vector<std::string> arguments);
  // Any program, by its start; folder and output are filled in where they are empty.
  Program& start_program(ProgramStart start);
  // start(), and its end within kRunLimit; -1 when it had to be killed.
  int run_to_end(std::vector<std::string> arguments);

  // All live processes that were started here, directly or not.
  [[nodiscard]] std::vector<ProcessEntry> processes() const;
  // The worker of the node of that name, which has one device; absent while it is not there.
  [[nodiscard]] std::optional<ProcessEntry> worker_of(const std::string& node) const;
  // Waits until no process of the scene is alive. Returns whether that came true.
  [[nodiscard]] bool wait_until_all_gone(Milliseconds limit) const;
  // Waits until the run has recorded that many steps.
  [[nodiscard]] bool wait_for_steps(std::size_t count, const std::string& name = "run") const;
  // SIGKILL to a process of the run, which has not recorded that many steps yet. A failure: nothing was disturbed,
  // because the process was gone or the run as far.
  [[nodiscard]] testing::AssertionResult kill_before(std::size_t steps, pid_t victim,
                                                     const std::string& name = "run") const;
  // Sends SIGTERM to a program whose run does not end by itself. Returns "--steps", "N", for another to go as far.
  std::vector<std::string> stop(Program& program, const std::string& name = "run") const;
  // Stops it, and has one process train the same steps: run "single". Whether both ended as they should.
  [[nodiscard]] bool stop_and_repeat_single(Program& program, const SmallRun& small);
  // Makes and returns an empty folder.
  std::filesystem::path make_folder(const std::string& name) const;

 private:
  void dump();
  void kill_everything() const;

  std::string marker_;
  std::filesystem::path folder_;
  std::map<std::string, std::string> environment_;
  std::list<Program> programs_;
};

// "--set", "key=value", ... of a small run over the scene's text.
[[nodiscard]] std::vector<std::string> settings_of(const ProcessScene& scene, const SmallRun& small);

// "train --out DIR" with settings_of(); `words` are added.
[[nodiscard]] std::vector<std::string> train(const ProcessScene& scene, const std::string& name, const SmallRun& small,
                                             const std::vector<std::string>& words = {});

// The words after `shoal` of the line that this spawner prints to start nodes by, once it is there (20 s at most).
[[nodiscard]] std::vector<std::string> wait_for_join_words(const Program& spawner);

// Path of build/bin/shoal.
[[nodiscard]] std::string shoal_program();

}  // namespace shoal
