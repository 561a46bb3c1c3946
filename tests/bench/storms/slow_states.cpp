// Two runs that differ in the size of their model.
#include "tests/bench/storms/slow_states.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "tests/bench/storms/storm_report.h"
#include "tests/emulator/emulator.h"

namespace shoal {
namespace {

constexpr const char* kSlowLink = "shape node2 <-> * bytes_per_s=6250000";
constexpr Milliseconds kLongest{120'000};
constexpr std::size_t kSteps = 8;
constexpr double kHeartbeatInTimeMs = 1000;  // a process is suspected at four times that, in the rhythm of its own

struct Sized {
  int width = 0;
  bool follows = false;
};

// Looks until one of the events that end a join is told. Returns its line; empty: none was.
[[nodiscard]] std::string outcome_of(Watcher& watcher) {
  std::string line;
  const auto is_over = [&] {
    const auto found = std::ranges::find_if(watcher.seen(), [](const Seen& one) {
      return contains(one.text, "\"replica_added\"") || contains(one.text, "\"join_given_up\"");
    });
    if (found != watcher.seen().end()) line = found->text;
    return !line.empty();
  };
  (void)watcher.wait(is_over, kLongest);
  return line;
}

// Bytes of the newest checkpoint's only shard: the state that a joiner takes.
[[nodiscard]] double state_bytes(const std::filesystem::path& run) {
  double most = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run / "checkpoints")) {
    if (entry.path().extension() == ".safetensors") most = std::max(most, static_cast<double>(entry.file_size()));
  }
  return most;
}

struct Shown {
  std::string outcome;  // the line that told it
  std::string status;
  double took_ms = 0;
  double step_before_ms = 0;
  double step_after_ms = 0;
};

// Has node2 join behind its link, and looks what comes of it.
[[nodiscard]] std::optional<Shown> show(StormRun& run, LinkEmulator& network) {
  Shown shown;
  if (!run.begin(kSteps)) return std::nullopt;
  shown.step_before_ms = recent_step_ms(run.watcher(), kSteps);
  if (!network.command(kSlowLink).ok()) return std::nullopt;
  const auto asked_at = run.join().asked_at;
  shown.outcome = outcome_of(run.watcher());
  shown.took_ms = ms_between(asked_at, WatchClock::now());
  if (!run.watcher().wait_for_steps(kSteps)) return std::nullopt;
  shown.step_after_ms = recent_step_ms(run.watcher(), kSteps / 2);
  Program& status = run.scene().start({"status", "--run", run.scene().run().string()});
  (void)status.wait(kLongest);
  shown.status = status.out();
  if (!network.command("heal node2 <-> *").ok()) return std::nullopt;
  return shown;
}

// Prints its row. Returns false where it did not come out as meant.
[[nodiscard]] bool bench_state(const Sized& sized, std::string& notes) {
  LinkEmulator network(1);
  auto setup = storm_setup(
      1, 1, 60,
      {"batch.sequences=8", "pipeline.replicas_max=2", "model.heads=4", "model.width=" + std::to_string(sized.width)});
  setup.environment = network.environment();
  StormRun run(std::move(setup));
  const auto shown = show(run, network);
  if (!shown) return std::printf("WRONG: it does not go on\n"), false;
  const auto found = find_out(run, {}, "node2");
  if (!found) return false;
  const bool was_added = contains(shown->outcome, "\"replica_added\"");
  const bool is_spare = contains(shown->outcome, "cannot follow") && contains(shown->status, "stays a spare");
  const auto suspected = found->end.events.find("suspected");
  const int suspicions = suspected == found->end.events.end() ? 0 : suspected->second;
  const HeartbeatTimes& beats = found->heartbeats;
  std::printf("| %.1f | %s | %.1f | %.0f | %.0f | %zu, %d | %.0f | %.0f | %s |\n", state_bytes(run.scene().run()) / 1e6,
              was_added  ? "serves"
              : is_spare ? "stays a spare"
                         : "?",
              shown->took_ms / 1000, shown->step_before_ms, shown->step_after_ms, beats.count, suspicions,
              beats.longest_way_ms, beats.longest_pause_ms, found->end.is_in_order ? "equal" : "WRONG");
  std::fflush(stdout);
  notes += shown->outcome + "\n" + shown->status + "\n";
  const bool is_as_meant = sized.follows ? was_added : is_spare;
  return found->end.is_in_order && is_as_meant && suspicions == 0 && beats.longest_way_ms <= kHeartbeatInTimeMs;
}

}  // namespace

int bench_states(double /*seconds*/) {
  std::printf(
      "| state, MB | the joiner | after, s | step before, ms | step after | heartbeats, suspicions | longest way, ms "
      "| longest pause | bits |\n|---|---|---|---|---|---|---|---|---|\n");
  bool is_right = true;
  std::string notes;
  for (const Sized& sized : {Sized{128, true}, Sized{416, false}}) is_right = bench_state(sized, notes) && is_right;
  std::printf("\n%s\n", notes.c_str());
  return is_right ? 0 : 1;
}

}  // namespace shoal
