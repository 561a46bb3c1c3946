// bench_storms [SECONDS [PART...]]: what a run does while machines come, go and die. On an idle machine.
//
// Parts (default: all), each an exact run on paced devices whose total duty leaves two cores idle most of the time:
//   joins    2 -> 8 -> 2 nodes and 40 joins and leaves within SECONDS (default: 300); of the leaves every other one is
//            `shoal drain`, the others are SIGTERM to a node
//   kills    24 workers of 4 stages; within a minute 12 of them and their keepers get SIGKILL, and the spawner does;
//            REBALANCE: swarm.rebalance_every_s of that run (default: 5)
//   states   a joiner whose link carries 50 Mbit/s (tests/emulator) takes a state of 10 MB, then one of 100 MB
// Each prints a table and ends the program with 1 where the bits are not those of one process, the trace does not hold,
// the run went back to a checkpoint, somebody who was told to leave did not, or a bar was missed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/bench/storms/slow_states.h"
#include "tests/bench/storms/storm_report.h"
#include "tests/bench/storms/storm_run.h"

namespace shoal {
namespace {

constexpr int kChanges = 40;
constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kWarmUp = 5;
constexpr double kJoinedWithinMs = 5000;
constexpr double kLeastUsed = 0.97;
constexpr double kBeyondStepMs = 1000;

// Comes and goes: up to eight, one after the other for a while, down to two.
class JoinStorm {
 public:
  JoinStorm(StormRun& run, std::uint64_t seed) : run_(run), random_(seed) {}

  void change(int number) {
    constexpr int kUp = 6;
    const bool is_up = number < kUp || (number < kChanges - kUp && number % 2 == 1);
    if (is_up) {
      joiners_.push_back(run_.join());
    } else {
      leave();
    }
  }
  [[nodiscard]] const std::vector<StormNode>& joiners() const { return joiners_; }
  [[nodiscard]] int leaves() const { return leaves_; }

 private:
  // Whoever came last stays for now.
  void leave() {
    auto here = run_.here();
    if (here.size() > 2) here.pop_back();
    const std::string& name = here[random_() % here.size()];
    ++leaves_ % 2 == 0 ? run_.drain(name) : run_.terminate(name);
  }

  StormRun& run_;
  std::mt19937_64 random_;
  std::vector<StormNode> joiners_;
  int leaves_ = 0;
};

int bench_joins(double seconds) {
  StormRun run(storm_setup(
      2, 2, 30, {"batch.sequences=16", "pipeline.replicas_max=4", "swarm.rebalance_every_s=5", "checkpoint.every=50"}));
  if (!run.begin(kWarmUp)) return std::printf("WRONG: it does not train\n"), 1;
  JoinStorm storm(run, kSeed);
  const auto began = WatchClock::now();
  const CpuUse use;
  for (int number = 0; number < kChanges; ++number) {
    const std::chrono::duration<double> at((number + 0.5) * seconds / kChanges);
    run.pass_until(began + std::chrono::duration_cast<WatchClock::duration>(at));
    storm.change(number);
  }
  run.pass_until(began + std::chrono::duration_cast<WatchClock::duration>(std::chrono::duration<double>(seconds)));
  const double duty = use.share();
  const auto found = find_out(run, storm.joiners());
  if (!found) return 1;
  std::vector<double> started, added, counted;
  for (const JoinerTime& joiner : found->times.joiners) {
    started.push_back(joiner.started), added.push_back(joiner.added), counted.push_back(joiner.counted);
  }
  std::printf("| %d joins and %d leaves in %.0f s | |\n|---|---|\n", static_cast<int>(storm.joiners().size()),
              storm.leaves(), seconds);
  print_two("from the order to join to the worker's start, ms: median, greatest", started);
  print_two("to its place in the view", added);
  print_two("to its first microbatch that counts", counted);
  print_value("joiners of which nothing counts", static_cast<double>(found->times.never_counted.size()));
  print_end(*found, duty);
  const bool is_soon = !counted.empty() && *std::ranges::max_element(counted) <= kJoinedWithinMs;
  return found->end.is_in_order && found->times.never_counted.empty() && is_soon ? 0 : 1;
}

struct Killed {
  std::string name;
  WatchClock::time_point at;
  double step_ms = 0;  // the median of the last steps before
};

// Returns how many next commits came too late.
int print_killed(const std::vector<Killed>& killed, const StormTimes& times) {
  std::printf("| killed | a step before, ms | next commit, ms | within a step and a second |\n|---|---|---|---|\n");
  int late = 0;
  for (const Killed& one : killed) {
    const double next = next_commit_ms(times, one.at);
    const bool is_late = next == 0 || next > one.step_ms + kBeyondStepMs;
    late += is_late ? 1 : 0;
    std::printf("| %s | %.0f | %.0f | %s |\n", one.name.c_str(), one.step_ms, next, is_late ? "no" : "yes");
  }
  return late;
}

int bench_kills(double /*seconds*/) {
  constexpr int kStages = 4, kNodes = 24, kDeaths = kNodes / 2;
  constexpr std::chrono::duration<double> kMinute(60);
  const char* every_s = std::getenv("REBALANCE");
  StormRun run(storm_setup(kStages, kNodes, 60,
                           {"batch.sequences=48", "pipeline.replicas=6", "checkpoint.every=20",
                            "swarm.rebalance_every_s=" + std::string(every_s == nullptr ? "5" : every_s)}));
  if (!run.begin(kWarmUp)) return std::printf("WRONG: it does not train\n"), 1;
  std::mt19937_64 random(kSeed);
  std::vector<Killed> killed;
  const auto began = WatchClock::now();
  const CpuUse use;
  for (int number = 0; number <= kDeaths; ++number) {
    const auto at = (number + 0.5) * kMinute / (kDeaths + 1);
    run.pass_until(began + std::chrono::duration_cast<WatchClock::duration>(at));
    const bool is_spawner = number == kDeaths / 2;
    const auto here = run.here();
    const std::string name = is_spawner ? "spawner" : here[random() % here.size()];
    killed.push_back({name, WatchClock::now(), recent_step_ms(run.watcher(), kWarmUp)});
    if (!(is_spawner ? run.kill_spawner() : run.kill_node(name))) std::printf("%s was gone before\n", name.c_str());
  }
  const double duty = use.share();
  if (!run.watcher().wait_for_steps(kWarmUp)) std::printf("WRONG: it does not go on\n");
  const auto found = find_out(run, {});
  if (!found) return 1;
  const int late = print_killed(killed, found->times);
  std::printf("\n| 12 of 24 workers and the spawner killed within a minute | |\n|---|---|\n");
  print_end(*found, duty);
  return found->end.is_in_order && late == 0 && used_share(found->work) >= kLeastUsed ? 0 : 1;
}

int bench(double seconds, const std::vector<std::string>& wanted) {
  const std::vector<std::pair<std::string, int (*)(double)>> parts = {
      {"joins", bench_joins}, {"kills", bench_kills}, {"states", bench_states}};
  int status = 0;
  for (const auto& [name, run] : parts) {
    if (!wanted.empty() && std::ranges::count(wanted, name) == 0) continue;
    std::printf("## %s\n\n", name.c_str());
    status = std::max(status, run(seconds));
  }
  return status;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::stod(argv[1]) : 300;
  return shoal::bench(seconds, {argv + std::min(argc, 2), argv + argc});
}
