// Plain readings of files and traces.
#include "tests/bench/storms/storm_report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace shoal {
namespace {

// Ticks that were in use since the machine was started, and all of them.
[[nodiscard]] std::pair<double, double> cpu_ticks() {
  constexpr int kFields = 8, kIdle = 3, kWaiting = 4;  // proc_stat(5)
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  double all = 0, idle = 0, ticks = 0;
  for (int field = 0; field < kFields && file >> ticks; ++field) {
    all += ticks;
    if (field == kIdle || field == kWaiting) idle += ticks;
  }
  return {all - idle, all};
}

[[nodiscard]] std::string load() {
  std::ifstream file("/proc/loadavg");
  std::string first;
  file >> first;
  return first;
}

}  // namespace

CpuUse::CpuUse() { std::tie(used_, all_) = cpu_ticks(); }

double CpuUse::share() const {
  const auto [used, all] = cpu_ticks();
  return all > all_ ? (used - used_) / (all - all_) : 0;
}

StormSetup storm_setup(int stages, int nodes, int pace_ms, std::vector<std::string> sets) {
  const std::vector<std::string> common = {"sync.reduction=exact", "trace.level=all", "eval.final_batches=1",
                                           "batch.microbatch=1", "optim.schedule=constant"};
  sets.insert(sets.begin(), common.begin(), common.end());
  return {{stages, 1, kEndless, std::move(sets)}, nodes, pace_ms};
}

std::optional<Found> find_out(StormRun& run, const std::vector<StormNode>& joiners, const std::string& heartbeats_of) {
  std::vector<std::pair<std::string, WatchClock::time_point>> asked;
  for (const StormNode& joiner : joiners) asked.emplace_back(joiner.name, joiner.asked_at);
  Found found{run.end(), {}, {}, {}};
  if (!found.end.is_in_order) std::printf("WRONG: %s\n", found.end.complaint.c_str());
  const std::string directory = run.scene().run().string();
  const auto trace = read_run_trace(directory);
  if (!trace) return std::printf("WRONG: %s\n", trace.failure().message.c_str()), std::nullopt;
  const auto times = storm_times(directory, *trace, asked);
  if (!times) return std::printf("WRONG: %s\n", times.failure().message.c_str()), std::nullopt;
  found.times = *times;
  found.work = recomputation_of(*trace);
  found.heartbeats = heartbeat_times(*trace, heartbeats_of);
  return found;
}

double recent_step_ms(const Watcher& watcher, std::size_t count) {
  std::vector<double> steps;
  for (const Seen& line : watcher.seen()) {
    if (line.is_step) steps.push_back(static_cast<double>(number_of(line.text, "step_ms")));
  }
  if (steps.size() > count) steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(count));
  std::ranges::sort(steps);
  return steps.empty() ? 0 : steps[steps.size() / 2];
}

double used_share(const Recomputation& work) {
  const double counted = static_cast<double>(work.counted);
  const double all = counted + static_cast<double>(work.lost_by_living);
  return all > 0 ? counted / all : 0;
}

void print_value(const char* what, double value) { std::printf("| %s | %.0f |\n", what, value); }

void print_two(const char* what, std::vector<double> values) {
  if (values.empty()) return;
  std::ranges::sort(values);
  std::printf("| %s | %.0f, %.0f |\n", what, values[values.size() / 2], values.back());
}

void print_end(const Found& found, double duty) {
  const StormEnd& end = found.end;
  print_value("steps", static_cast<double>(end.steps));
  print_value("roll-backs", end.events.contains("rolled_back") ? end.events.at("rolled_back") : 0);
  std::printf("| weights, of one process | %.8s, %.8s |\n", end.weights.c_str(), end.weights_of_single.c_str());
  print_value("microbatches of a stage that commits count", static_cast<double>(found.work.counted));
  print_value("computed, and lost with whoever left or died", static_cast<double>(found.work.lost_with_dead));
  print_value("computed by whoever stayed, and thrown away", static_cast<double>(found.work.lost_by_living));
  std::printf("| share of the work of those who stayed that counts | %.4f |\n", used_share(found.work));
  print_value("longest time between two commits, ms", longest_pause_ms(found.times));
  std::printf("| share of the machine's cores in use, all its work | %.2f |\n| load at the end | %s |\n\n", duty,
              load().c_str());
  std::fflush(stdout);
}

}  // namespace shoal
