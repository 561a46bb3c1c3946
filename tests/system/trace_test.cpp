// A trace of a disturbed run is its proof: `trace check` holds, the export is valid, and a trace that lacks something
// is no proof.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/process_scene.h"

namespace shoal::trace_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kKilledAfter = 8;
constexpr Milliseconds kSoon{60'000};

SmallRun traced_run(int steps = kEndless) { return {2, 2, steps, {"sync.reduction=exact", "trace.level=all"}}; }

// Returns what a command says; its exit status must be as expected.
std::string said(ProcessScene& scene, std::vector<std::string> arguments, int expected) {
  Program& program = scene.start(std::move(arguments));
  const auto status = program.wait(kSoon);
  EXPECT_EQ(status, expected) << program.command_line() << "\n" << program.out() << program.err();
  return program.out();
}

// Slices of a track nested or disjoint, arrows with both ends, times that are numbers.
void expect_valid_export(const fs::path& file) {
  std::ifstream in(file);
  const json exported = json::parse(in);
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices;
  std::map<std::uint64_t, std::string> flows;
  for (const json& event : exported.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "M") continue;
    const double begin = event.at("ts");
    ASSERT_GE(begin, 0) << event;
    if (phase == "X") {
      slices[{event.at("pid"), event.at("tid")}].emplace_back(begin, begin + event.at("dur").get<double>());
    }
    if (phase == "s" || phase == "f") flows[event.at("id")] += phase;
  }
  EXPECT_GT(slices.size(), 8U);
  EXPECT_GT(flows.size(), 1000U);
  for (const auto& [id, ends] : flows) ASSERT_EQ(ends, "sf") << "flow " << id;
  for (const auto& [track, all] : slices) {
    std::vector<double> open;
    for (const auto& [begin, end] : all) {
      while (!open.empty() && open.back() <= begin + 1e-6) open.pop_back();
      ASSERT_TRUE(open.empty() || end <= open.back() + 1e-6) << "overlap on track " << track.second << " at " << begin;
      open.push_back(end);
    }
  }
}

std::ptrdiff_t replicas_added(const ProcessScene& scene) {
  return std::ranges::count(scene.records().events, "replica_added", &EventLine::event);
}

// The worker is back when the run ends: a replica that had its state and was not added yet would be worth a note.
TEST(Trace, OfARunWhoseWorkerWasKilledIsItsProof) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", traced_run()));
  ASSERT_TRUE(wait_until([&] { return scene.worker_of("node2").has_value(); }, kRunLimit));
  const pid_t victim = scene.worker_of("node2")->pid;
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  const auto added = replicas_added(scene);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  const std::size_t disturbed = scene.records().steps.size();
  ASSERT_TRUE(wait_until([&] { return replicas_added(scene) > added; }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 5));
  ASSERT_TRUE(scene.stop_and_repeat_single(program, traced_run()));
  const std::string run = scene.run().string();

  const std::string verdict = said(scene, {"trace", "check", run, "--against", scene.run("single").string()}, 0);
  for (const char* const rule :
       {"holds   S-1", "holds   S-2", "holds   S-3", "holds   S-4", "holds   S-5", "holds   S-6"}) {
    EXPECT_NE(verdict.find(rule), std::string::npos) << rule << " not in\n" << verdict;
  }
  EXPECT_EQ(verdict.find("note:"), std::string::npos) << verdict;

  const fs::path exported = scene.folder() / "trace.json";
  said(scene, {"trace", "export", run, "--out", exported.string(), "--svg", (scene.folder() / "run.svg").string()}, 0);
  expect_valid_export(exported);
  EXPECT_GT(fs::file_size(scene.folder() / "run.svg"), 10'000U);
  const std::string story = said(scene, {"trace", "why", std::to_string(disturbed) + "/3", run}, 0);
  EXPECT_NE(story.find("is committed"), std::string::npos) << story;
  EXPECT_NE(said(scene, {"trace", "summary", run}, 0).find("process_lost node2"), std::string::npos);
}

TEST(Trace, ThatLacksWhatALivingProcessDidIsNoProof) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", traced_run(80))), 0);
  const std::string run = scene.run().string();
  EXPECT_NE(said(scene, {"trace", "check", run}, 0).find("holds   S-1"), std::string::npos);
  const fs::path file = scene.run() / "trace" / "node1.trace";
  fs::resize_file(file, fs::file_size(file) / 10);
  const std::string verdict = said(scene, {"trace", "check", run}, 1);
  EXPECT_NE(verdict.find("which it never accumulated; its process lived on for"), std::string::npos) << verdict;
  std::ofstream(file) << "no trace at all";
  said(scene, {"trace", "check", run}, 3);
  said(scene, {"trace", "check", (scene.folder() / "nowhere").string()}, 2);  // as every command that is given no run
  said(scene, {"trace", "why", "three", run}, 2);
}

TEST(Trace, OfARunWhoseSpawnerWasKilledIsItsProof) {
  ProcessScene scene;
  SmallRun run = traced_run();
  run.sets.emplace_back("checkpoint.every=5");
  Program& program = scene.start(train(scene, "run", run));
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  const auto spawners = named_like(scene.processes(), "internal-spawner");
  ASSERT_EQ(spawners.size(), 1U) << describe(scene.processes());
  ASSERT_EQ(::kill(spawners.front().pid, SIGKILL), 0);
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 20));
  ASSERT_TRUE(scene.stop_and_repeat_single(program, run));
  const std::string verdict =
      said(scene, {"trace", "check", scene.run().string(), "--against", scene.run("single").string()}, 0);
  EXPECT_NE(verdict.find("holds   S-5"), std::string::npos) << verdict;
}

}  // namespace
}  // namespace shoal::trace_test
