// bench_recovery [COUNT [PART...]]: what a fault costs a run that goes on. Run it on an idle machine.
//
// Runs of 2 stages x 2 replicas in exact mode. Parts (default: all of them):
//   ends      each end of an actor or a process, one after the other, COUNT times round (default: 10), the next
//             one when the run is whole again: so nobody's restarts come so close together that they are delayed
//   silences  a worker that freezes, nodes that are cut off (tests/emulator), once each
//   storm     one stage actor ended 20 times a second for 5 s, restart budgets as they are by default
//   again     stages and workers that end, COUNT times round, with everything traced: what is computed again
//   rounds    `ends` of sync groups and workers only, with workers that agree every 5 steps
// Times are from the fault, read off metrics.jsonl as its lines appear:
//   notice   the first event that names the loss       fence   the RemoveReplica in the journal, where there is one
//   commit   the first step committed after both       whole   every stage has all its replicas again
//   stall    the longest pause between two commits, less the median step      again   Forwards sent again
// Prints medians and the greatest value of each. A committed step that is lost ends the program with 1. Last comes how
// long actors were away by the trace (restart_times.h); budgets of `ends` are raised, so that none of it is a rest.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "runtime/base/compose.h"
#include "tests/bench/recomputation.h"
#include "tests/bench/recovery_faults.h"
#include "tests/bench/restart_times.h"

namespace shoal {
namespace {

constexpr Milliseconds kQuick{60'000};
constexpr Milliseconds kSlow{150'000};

using Results = std::vector<std::pair<std::string, std::vector<std::optional<Outcome>>>>;

void print_head() {
  std::printf(
      "| fault | recovered | notice ms | fence ms | commit ms | stall ms | whole ms | whole after its end ms | again "
      "|\n|---|---|---|---|---|---|---|---|---|\n");
}

void print_row(const std::string& name, const std::vector<std::optional<Outcome>>& outcomes, bool lasts) {
  std::size_t recovered = 0;
  for (const auto& outcome : outcomes) recovered += outcome ? 1U : 0U;
  std::printf("| %s | %zu of %zu |", name.c_str(), recovered, outcomes.size());
  for (double Outcome::*field : {&Outcome::notice, &Outcome::fence, &Outcome::commit, &Outcome::stall, &Outcome::whole,
                                 &Outcome::back, &Outcome::again}) {
    std::vector<double> values;
    for (const auto& outcome : outcomes) {
      if (outcome) values.push_back((*outcome).*field);
    }
    std::sort(values.begin(), values.end());
    const bool is_meant = !values.empty() && (field != &Outcome::back || lasts) &&
                          (values.back() != 0 || (field != &Outcome::notice && field != &Outcome::fence));
    if (is_meant) {
      std::printf(" %.0f, %.0f |", values[values.size() / 2], values.back());
    } else {
      std::printf(" |");
    }
  }
  std::printf("\n");
  std::fflush(stdout);
}

// A run with what watches it; ends in order.
class Bench {
 public:
  Bench(const std::vector<std::string>& sets, const std::map<std::string, std::string>& environment) {
    scene_.set_environment(environment);
    program_ = &scene_.start(train(scene_, "run", {2, 2, 1'000'000, sets}));
    watcher_.emplace(scene_.run("run") / "metrics.jsonl");
  }

  [[nodiscard]] bool warm_up() {
    if (!watcher_->wait_for_steps(50)) return false;
    std::printf("median step %.1f ms; median and greatest of each\n", watcher_->median_step_ms());
    return true;
  }
  // Each fault `count` times, in turn.
  void go_round(const std::vector<Fault>& faults, std::size_t count, Milliseconds limit) {
    Results results;
    for (const Fault& fault : faults) results.push_back({fault.name, {}});
    for (std::size_t round = 0; round < count; ++round) {
      for (std::size_t i = 0; i < faults.size(); ++i) {
        results[i].second.push_back(suffer(
            *watcher_, [&] { faults[i].inject(scene_); }, faults[i].expected, limit));
        (void)watcher_->wait_for_steps(10);
      }
    }
    print_head();
    for (std::size_t i = 0; i < faults.size(); ++i) {
      print_row(results[i].first, results[i].second, faults[i].expected.lasts);
    }
  }
  // 0 when no committed step was lost.
  [[nodiscard]] int end() {
    watcher_->look();
    std::printf("%zu steps were committed, %zu of them lost\n\n", watcher_->steps(),
                static_cast<std::size_t>(watcher_->steps_lost()));
    program_->signal(SIGINT);
    program_->wait(kRunLimit);
    return watcher_->steps_lost() == 0 ? 0 : 1;
  }
  [[nodiscard]] ProcessScene& scene() { return scene_; }
  [[nodiscard]] Watcher& watcher() { return *watcher_; }

 private:
  ProcessScene scene_;
  Program* program_ = nullptr;
  std::optional<Watcher> watcher_;
};

// Returns settings of a calm run, then `more`: later ones win.
std::vector<std::string> calm_settings(const std::vector<std::string>& more) {
  std::vector<std::string> settings = {"checkpoint.every=50", "eval.every=0", "trace.level=lifecycle"};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::vector<std::string> raised_budgets(std::vector<std::string> more) {
  more.insert(more.end(), {"swarm.restart_budget=1000", "swarm.restart_window_s=1"});
  return calm_settings(more);
}

int bench_ends(std::size_t count) {
  Bench bench(raised_budgets({"sync.reduction=exact"}), {});
  if (!bench.warm_up()) return 1;
  bench.go_round(ends(), count, kQuick);
  const int status = bench.end();
  const auto trace = read_run_trace(bench.scene().run("run").string());
  if (!trace) return std::printf("%s\n", trace.failure().message.c_str()), 1;
  print_restart_times(restart_times(*trace));
  return status;
}

int bench_again(std::size_t count) {
  Bench bench(raised_budgets({"sync.reduction=exact", "trace.level=all"}), {});
  if (!bench.warm_up()) return 1;
  std::vector<Fault> chosen;
  for (Fault& fault : ends()) {
    if (contains(fault.name, "a stage") || contains(fault.name, "SIGKILL of a w")) chosen.push_back(std::move(fault));
  }
  bench.go_round(chosen, count, kQuick);
  const int status = bench.end();
  const auto trace = read_run_trace(bench.scene().run("run").string());
  if (!trace) return std::printf("%s\n", trace.failure().message.c_str()), 1;
  const Recomputation found = recomputation_of(*trace);
  print_recomputation(found);
  return found.lost_by_living == 0 ? status : 1;
}

int bench_silences(std::size_t /*count*/) {
  LinkEmulator network(1);
  Bench bench(raised_budgets({"sync.reduction=exact"}), network.environment());
  if (!bench.warm_up()) return 1;
  bench.go_round(silences(network), 1, kSlow);
  return bench.end();
}

int bench_rounds(std::size_t count) {
  Bench bench(raised_budgets({"sync.mode=diloco", "sync.H=5"}), {});
  if (!bench.warm_up()) return 1;
  std::vector<Fault> chosen;
  for (Fault& fault : ends()) {
    if (contains(fault.name, "sync group") || contains(fault.name, "of a worker")) chosen.push_back(std::move(fault));
  }
  bench.go_round(chosen, count, kQuick);
  return bench.end();
}

// Faster than anybody can be started again: the budget is spent once in its window, and the run goes on.
int bench_storm(std::size_t /*count*/) {
  Bench bench(calm_settings({"sync.reduction=exact", "swarm.restart_window_s=20"}), {});
  if (!bench.warm_up()) return 1;
  const auto storm = [&] {
    const auto until = WatchClock::now() + std::chrono::seconds(5);
    for (auto next = WatchClock::now(); next < until; next += std::chrono::milliseconds(50)) {
      (void)wait_until([&] { return WatchClock::now() >= next; }, std::chrono::seconds(1));
      bench.scene().start({"kill", "stage/1/0", "--run", bench.scene().run("run").string()});
    }
  };
  const auto outcome = suffer(bench.watcher(), storm, {true, true, false, true}, kSlow);
  print_head();
  print_row("a stage actor ends 20 times a second for 5 s", {outcome}, true);
  std::map<std::string, int> events;
  for (const Seen& line : bench.watcher().seen()) {
    for (const char* word : {"injected", "injection_missed", "stage_ended", "restart_budget_spent", "escalated"}) {
      if (!line.is_step && contains(line.text, compose("\"", word, "\""))) ++events[word];
    }
  }
  for (const auto& [event, times] : events) std::printf("%s: %d\n", event.c_str(), times);
  return bench.end();
}

int bench(std::size_t count, const std::vector<std::string>& wanted) {
  const std::vector<std::pair<std::string, int (*)(std::size_t)>> parts = {{"ends", bench_ends},
                                                                           {"again", bench_again},
                                                                           {"silences", bench_silences},
                                                                           {"storm", bench_storm},
                                                                           {"rounds", bench_rounds}};
  int status = 0;
  for (const auto& [name, run] : parts) {
    if (!wanted.empty() && std::ranges::count(wanted, name) == 0) continue;
    std::printf("## %s\n", name.c_str());
    status = std::max(status, run(count));
  }
  return status;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::stoul(argv[1]) : 10;
  return shoal::bench(count, {argv + std::min(argc, 2), argv + argc});
}
