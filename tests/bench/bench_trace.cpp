// Measures the memory and the time of the reports on a long run's trace: `build/bin/bench_trace [STEPS [all]]`.
// The run of tests/runtime/trace/report/trace_bench.h, 8 microbatches a step, each report in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "runtime/base/machine/available_memory.h"
#include "runtime/trace/report/check/trace_check.h"
#include "runtime/trace/report/perfetto.h"
#include "runtime/trace/report/run_trace.h"
#include "runtime/trace/report/story/story.h"
#include "runtime/trace/report/summary/summary.h"
#include "runtime/trace/tracer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal {
namespace {

constexpr std::size_t kEventsInABlock = 100;

void in_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

void require(bool is_so, const char* what) {
  if (is_so) return;
  std::fprintf(stderr, "%s\n", what);
  ::_exit(1);
}

void write_trace(const std::string& run, const BenchShape& shape) {
  TraceBench bench(shape);
  for (const char* const name : {"spawner", "node1", "node2", "node3", "node4"}) {
    const TraceLife& life = bench.life(name);
    auto file = TraceFile::open(trace_path(run, name), life.begin);
    require(file.ok(), "no trace can be written");
    for (const auto& [number, actor] : life.names) require(file->add_name(number, actor).ok(), "the disk refuses");
    for (std::span<const TraceEvent> left = life.events; !left.empty();) {
      const std::size_t count = std::min(left.size(), kEventsInABlock);
      require(file->add_events(left.first(count)).ok(), "the disk refuses");
      left = left.subspan(count);
    }
    require(file->add_end().ok(), "the disk refuses");
  }
}

// Reads and reports; returns how many events there were.
using Report = std::function<std::uint64_t(const std::string& run)>;

Report of_whole(const std::function<void(const RunTrace& trace)>& report) {
  return [report](const std::string& run) {
    const auto trace = read_run_trace(run);
    require(trace.ok(), "no trace can be read");
    report(*trace);
    return trace->events.size();
  };
}

std::uint64_t check(const std::string& run) {
  const auto pieces = read_pieces(run);
  require(pieces.ok(), "no trace can be read");
  const auto report = check_trace(**pieces);
  require(report.ok() && report->is_good(), "the trace does not hold");
  return (*pieces)->event_count();
}

std::uint64_t summarise(const std::string& run) {
  const auto pieces = read_pieces(run);
  require(pieces.ok(), "no trace can be read");
  const auto summary = summarise_trace(**pieces);
  require(summary.ok() && !summary->text.empty(), "no summary");
  return (*pieces)->event_count();
}

std::uint64_t tell(const std::string& run) {
  const auto pieces = read_pieces(run);
  require(pieces.ok(), "no trace can be read");
  (void)tell_microbatch(**pieces, {StepId{1}, MicrobatchId{1}});
  return (*pieces)->event_count();
}

void measure(const std::string& run, const char* name, const Report& report) {
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t before = process_memory()->resident;
  const auto million = static_cast<double>(report(run)) / 1e6;
  const auto peak = static_cast<double>(process_memory()->peak - before) / 1e6;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-10s %8.2f million events %9.0f MB %6.0f MB and %5.2f s a million\n", name, million, peak,
              peak / million, took.count() / million);
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  using namespace shoal;
  const std::uint64_t steps = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const bool is_full = argc > 2 && std::string(argv[2]) == "all";
  const Scratch scratch;
  const std::string run = scratch.path().string();
  in_child([&] { write_trace(run, {steps, 8, is_full ? TraceLevel::kAll : TraceLevel::kLifecycle}); });
  std::printf("%llu steps, %.0f MB of trace\n", static_cast<unsigned long long>(steps),
              static_cast<double>(trace_bytes(run)) / 1e6);
  std::fflush(stdout);
  const auto measured = [&](const char* name, const Report& report) { in_child([&] { measure(run, name, report); }); };
  measured("check", check);
  measured("summary", summarise);
  measured("(reading)", of_whole([](const RunTrace&) {}));
  measured("why", tell);
  measured("export", of_whole([](const RunTrace& trace) { require(!perfetto_json(trace).empty(), "no JSON"); }));
  return 0;
}
