// One pass: an injection is named by the supervisor, reaches its process, and ends when its actor begins again there.
#include "tests/bench/restart_times.h"

#include <algorithm>
#include <cstdio>
#include <list>
#include <string_view>

namespace shoal {
namespace {

constexpr std::string_view kReached = "injection #";

struct Down {
  std::string actor;
  std::string process;
  std::int64_t since_ns = 0;
};

[[nodiscard]] std::string kind_of(const std::string& actor) { return actor.substr(0, actor.find('/')); }

// "#17 stage/0/1" -> 17, stage/0/1.
[[nodiscard]] std::pair<std::string, std::string> split(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (!text.starts_with('#') || space == std::string_view::npos) return {};
  return {std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
}

// Returns whose life begins with this event; nothing: nobody's.
[[nodiscard]] std::string starts(const RunTrace& trace, const TracedEvent& traced) {
  const std::string& actor = trace.actor_of(traced);
  const bool is_parent = actor == "supervisor";  // tells of its children
  if (traced.event.kind == TraceKind::kSpawn) return is_parent ? std::string() : actor;
  if (traced.event.kind != TraceKind::kRestart) return {};
  return is_parent ? std::string(traced.event.detail_text()) : actor;
}

class Reading {
 public:
  explicit Reading(const RunTrace& trace) : trace_(trace) {}

  [[nodiscard]] RestartTimes read() {
    for (const TracedEvent& traced : trace_.events) {
      const auto [number, name] = split(traced.event.detail_text());
      if (traced.event.kind == TraceKind::kFault && !number.empty()) names_[number] = name;
    }
    for (const TracedEvent& traced : trace_.events) look_at(traced);
    for (const Down& down : down_) ++times_.without_restart[kind_of(down.actor)];
    for (auto& [kind, ms] : times_.ms) std::ranges::sort(ms);
    return std::move(times_);
  }

 private:
  void look_at(const TracedEvent& traced) {
    const std::string& process = trace_.life_of(traced).name;
    const std::string_view detail = traced.event.detail_text();
    if (traced.event.kind == TraceKind::kFault && detail.starts_with(kReached)) {
      const auto named = names_.find("#" + std::string(detail.substr(kReached.size())));
      if (named != names_.end()) down_.push_back({named->second, process, traced.time_ns});
      return;
    }
    const std::string actor = starts(trace_, traced);
    if (actor.empty()) return;
    const auto is_it = [&](const Down& down) {  // some are named with their process, which ends with them
      const bool is_named = down.actor == actor || down.actor == actor + "/" + process;
      return is_named && down.process == process;
    };
    const auto found = std::ranges::find_if(down_, is_it);
    if (found == down_.end()) return;
    times_.ms[kind_of(actor)].push_back(static_cast<double>(traced.time_ns - found->since_ns) / 1e6);
    down_.erase(found);
  }

  const RunTrace& trace_;
  std::map<std::string, std::string> names_;  // targets of injections, by "#number"
  std::list<Down> down_;
  RestartTimes times_;
};

}  // namespace

RestartTimes restart_times(const RunTrace& trace) { return Reading(trace).read(); }

void print_restart_times(const RestartTimes& times) {
  std::printf(
      "| actor | started again | median ms | p99 ms | greatest ms | not seen again |\n|---|---|---|---|---|---|\n");
  for (const auto& [kind, ms] : times.ms) {
    const auto missing = times.without_restart.find(kind);
    std::printf("| %s | %zu | %.1f | %.1f | %.1f | %zu |\n", kind.c_str(), ms.size(), ms[ms.size() / 2],
                ms[ms.size() * 99 / 100], ms.back(),
                missing == times.without_restart.end() ? std::size_t{0} : missing->second);
  }
  std::fflush(stdout);
}

}  // namespace shoal
