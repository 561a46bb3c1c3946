// bench_recovery [COUNT [FAULT...]]: what a fault costs a run that goes on. Run it on an idle machine.
//
// One run of 2 stages x 2 replicas in exact mode; each named fault (default: all) is injected COUNT times (default:
// 10), the next one when the run is whole again. Times are from the injection, read off metrics.jsonl as its lines
// appear:
//   notice   the first event that names the loss       fence   the RemoveReplica in the journal, where there is one
//   commit   the first step committed after the notice  whole   every stage has all its replicas again
// `stall` is the longest pause between two commits around the fault, less the median step. Prints medians and the
// greatest value of each. The run's steps must then be contiguous: a lost commit ends the program with 1. Last comes
// how long actors were away by the trace (restart_times.h); restart budgets are raised, so that none of it is a rest.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "tests/bench/restart_times.h"
#include "tests/support/process_scene.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

struct Seen {
  Clock::time_point at;
  std::string text;
  bool is_step = false;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// metrics.jsonl with the time at which each line was first seen; reads only what is new.
class Watcher {
 public:
  explicit Watcher(std::filesystem::path file) : file_(std::move(file)) {}

  void look() {
    std::ifstream file(file_);
    file.seekg(offset_);
    std::string line;
    while (std::getline(file, line) && !file.eof()) {  // a line without its newline is not there yet
      offset_ = file.tellg();
      const bool is_step = contains(line, "\"step_ms\":");
      steps_ += is_step ? 1U : 0U;
      seen_.push_back({Clock::now(), line, is_step});
    }
  }
  // Looks every few milliseconds until the predicate holds.
  bool wait(const std::function<bool()>& is_true, Milliseconds limit) {
    return wait_until(
        [&] {
          look();
          return is_true();
        },
        limit);
  }
  [[nodiscard]] const std::vector<Seen>& seen() const { return seen_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }

 private:
  std::filesystem::path file_;
  std::streamoff offset_ = 0;
  std::vector<Seen> seen_;
  std::size_t steps_ = 0;
};

struct Fault {
  std::string name;
  std::function<void(ProcessScene&)> inject;
  bool removes_a_replica = false;
};

void signal_process(const ProcessScene& scene, const std::string& words, int number) {
  const auto found = named_like(scene.processes(), words);
  if (!found.empty()) ::kill(found.front().pid, number);
}

std::function<void(ProcessScene&)> by_signal(std::string words, int number) {
  return [words = std::move(words), number](ProcessScene& scene) { signal_process(scene, words, number); };
}

std::function<void(ProcessScene&)> by_command(std::string target, std::string how) {
  return [target = std::move(target), how = std::move(how)](ProcessScene& scene) {
    scene.run_to_end({"kill", target, "--how", how, "--run", scene.run("run").string()});
  };
}

std::vector<Fault> faults() {
  return {{"stage-exit", by_command("stage/1/0", "exit"), true},
          {"stage-throw", by_command("stage/0/0", "throw"), true},
          {"data-loader-exit", by_command("data_loader", "exit"), false},
          {"sync-group-exit", by_command("sync_group/0", "exit"), false},
          {"metrics-exit", by_command("metrics", "exit"), false},
          {"worker-sigkill", by_signal("--name node2 ", SIGKILL), true},
          {"storage-sigkill", by_signal("internal-storage", SIGKILL), false},
          {"spawner-sigkill", by_signal("internal-spawner", SIGKILL), false}};
}

struct Outcome {
  double notice = 0;
  double fence = 0;
  double commit = 0;
  double whole = 0;
  double stall = 0;
};

bool is_notice(const Seen& line) {
  if (line.is_step) return false;
  for (const char* word : {"\"process_lost\"", "\"stage_ended\"", "\"restarted\"", "\"resumed\"", "\"spawner",
                           "\"lost\"", "\"suspected\"", "\"actor_"}) {
    if (contains(line.text, word)) return true;
  }
  return false;
}

bool is_whole(const std::string& step) { return contains(step, "\"replicas\":[2,2]"); }

// Injects and watches until the run is whole again.
std::optional<Outcome> suffer(ProcessScene& scene, Watcher& watcher, const Fault& fault, double median_step_ms) {
  watcher.look();
  const std::size_t first = watcher.seen().size();
  const auto injected = Clock::now();
  std::thread injector([&] { fault.inject(scene); });
  Outcome outcome;
  const auto since = [&](const Seen& line) { return ms_between(injected, line.at); };
  const auto follow = [&] {
    auto last_step = injected;
    bool is_noticed = false;
    bool is_fenced = !fault.removes_a_replica;
    for (std::size_t i = first; i < watcher.seen().size(); ++i) {
      const Seen& line = watcher.seen()[i];
      if (!is_noticed && is_notice(line)) is_noticed = true, outcome.notice = since(line);
      if (!is_fenced && contains(line.text, "removed from stage")) is_fenced = true, outcome.fence = since(line);
      if (!line.is_step) continue;
      outcome.stall = std::max(outcome.stall, ms_between(last_step, line.at) - median_step_ms);
      last_step = line.at;
      if (is_noticed && is_fenced && outcome.commit == 0) outcome.commit = since(line);
      if (outcome.commit > 0 && is_whole(line.text)) {
        outcome.whole = since(line);
        return true;
      }
    }
    return false;
  };
  const bool is_over = watcher.wait(follow, std::chrono::seconds(60));
  injector.join();
  return is_over ? std::optional(outcome) : std::nullopt;
}

double median_step(const Watcher& watcher) {
  std::vector<double> gaps;
  const Seen* before = nullptr;
  for (const Seen& line : watcher.seen()) {
    if (!line.is_step) continue;
    if (before != nullptr) gaps.push_back(ms_between(before->at, line.at));
    before = &line;
  }
  std::sort(gaps.begin(), gaps.end());
  return gaps.empty() ? 0 : gaps[gaps.size() / 2];
}

void print_row(const std::string& name, std::vector<Outcome> outcomes, std::size_t tried) {
  std::printf("| %-16s | %3zu of %-3zu |", name.c_str(), outcomes.size(), tried);
  for (double Outcome::*field :
       {&Outcome::notice, &Outcome::fence, &Outcome::commit, &Outcome::stall, &Outcome::whole}) {
    std::vector<double> values;
    for (const Outcome& outcome : outcomes) values.push_back(outcome.*field);
    std::sort(values.begin(), values.end());
    if (values.empty()) values.push_back(-1);
    std::printf(" %6.0f %6.0f |", values[values.size() / 2], values.back());
  }
  std::printf("\n");
  std::fflush(stdout);
}

int bench(std::size_t count, const std::vector<std::string>& wanted) {
  ProcessScene scene;
  const SmallRun small{2,
                       2,
                       1'000'000,
                       {"sync.reduction=exact", "checkpoint.every=50", "eval.every=0", "trace.level=lifecycle",
                        "swarm.restart_budget=1000", "swarm.restart_window_s=1"}};
  Program& program = scene.start(train(scene, "run", small));
  Watcher watcher(scene.run("run") / "metrics.jsonl");
  if (!watcher.wait([&] { return watcher.steps() >= 50; }, kRunLimit)) return 1;
  const double step = median_step(watcher);
  std::printf("median step %.1f ms; all in ms, median and greatest\n", step);
  std::printf(
      "| fault            | recovered  | notice        | fence         | commit        | stall         | "
      "whole         |\n");
  for (const Fault& fault : faults()) {
    if (!wanted.empty() && std::ranges::count(wanted, fault.name) == 0) continue;
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < count; ++i) {
      if (const auto outcome = suffer(scene, watcher, fault, step)) outcomes.push_back(*outcome);
      const std::size_t steps = watcher.steps();
      if (!watcher.wait([&] { return watcher.steps() >= steps + 10; }, kRunLimit)) break;
    }
    print_row(fault.name, outcomes, count);
  }
  const RunRecords records = scene.records("run");
  for (std::size_t i = 0; i < records.steps.size(); ++i) {
    if (records.steps[i].step == i) continue;
    std::printf("step %zu is recorded where step %zu belongs\n", static_cast<std::size_t>(records.steps[i].step), i);
    return 1;
  }
  program.signal(SIGINT);
  program.wait(kRunLimit);
  const auto trace = read_run_trace(scene.run("run").string());
  if (!trace) return std::printf("%s\n", trace.failure().message.c_str()), 1;
  print_restart_times(restart_times(*trace));
  return 0;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::stoul(argv[1]) : 10;
  return shoal::bench(count, {argv + std::min(argc, 2), argv + argc});
}
