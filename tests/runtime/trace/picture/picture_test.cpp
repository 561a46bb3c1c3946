// The picture: the window that is chosen, what is on it, and SVG that a parser takes.
#include "runtime/trace/picture/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>
#include <set>

#include "runtime/drawing/canvas.h"
#include "runtime/trace/picture/window.h"
#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::picture_test {
namespace {

using testing::HasSubstr;

// Every element that is opened is closed, in order; no stray '<' or '&'. Enough of XML for what we write.
bool is_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return false;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
    }
  }
  return open.empty() && svg.starts_with("<svg") && svg.find("nan") == std::string::npos &&
         svg.find("inf") == std::string::npos;
}

// node2 dies in step 3 of 8; what it had accumulated of the step is counted for node1's replica instead.
TraceBench run_with_a_death() {
  TraceBench bench({8, 4});
  const std::int64_t death = bench.event("node2", of_step(TraceKind::kEnd, 3), 1).time_ns;
  bench.cut("node2", death + 1);
  for (std::size_t index = 0; index < 2; ++index) {
    TraceEvent& manifest = bench.event("spawner", of_step(TraceKind::kManifest, 3), index);
    manifest.detail[0] = index == 0 ? 0b1111 : 0;
  }
  return bench;
}

TEST(Scene, IsAroundTheFirstDeath) {
  const RunTrace trace = run_with_a_death().trace();
  const auto scene = compose_scene(trace, {});
  ASSERT_TRUE(scene.ok()) << scene.failure().message;
  EXPECT_EQ(scene->title, "node2 is killed in step 3");
  std::vector<std::string> steps;
  for (const SceneCommit& commit : scene->commits) steps.push_back(commit.label);
  EXPECT_EQ(steps, (std::vector<std::string>{"1", "2", "3", "4", "5"}));
  const auto node2 = std::ranges::find(scene->processes, "node2", &SceneProcess::name);
  ASSERT_EQ(node2->gaps.size(), 1U);
  EXPECT_FALSE(node2->gaps[0].comes_back);
  ASSERT_EQ(node2->lanes.size(), 1U);
  EXPECT_EQ(node2->lanes[0].pieces.back().fate, PieceFate::kLost);
  ASSERT_FALSE(scene->moments.empty());
  EXPECT_TRUE(scene->moments[0].is_fault);
  EXPECT_THAT(scene->moments.back().text, HasSubstr("step 3 is committed"));
}

TEST(Scene, OfAnUndisturbedRunIsItsMiddle) {
  const auto scene = compose_scene(TraceBench({9, 2}).trace(), {});
  ASSERT_TRUE(scene.ok());
  EXPECT_EQ(scene->title, "undisturbed training");
  EXPECT_EQ(scene->commits.size(), 4U);
  for (const SceneProcess& process : scene->processes) EXPECT_TRUE(process.gaps.empty()) << process.name;
}

TEST(Scene, IsWhereAPersonWantsIt) {
  const RunTrace trace = TraceBench({9, 2}).trace();
  PictureWindow window;
  window.from = *parse_border("step2");
  window.to = *parse_border("step4");
  const auto scene = compose_scene(trace, window);
  ASSERT_TRUE(scene.ok());
  EXPECT_EQ(scene->commits.size(), 4U) << "of step 1, where step 2 begins, to step 4";
  EXPECT_EQ(scene->title, "steps 2 to 4");
  window.from = *parse_border("1000");
  window.to = *parse_border("1001.5");
  EXPECT_FALSE(compose_scene(trace, window).ok()) << "long after the run";
  window.from = *parse_border("step77");
  EXPECT_FALSE(compose_scene(trace, window).ok());
  for (const char* const bad : {"", "step", "stepx", "-1", "1e99", "nan", "2s"})
    EXPECT_FALSE(parse_border(bad).ok()) << bad;
}

// A replica that ends in a process which lives is a fault like a killed process; what came before it is not told.
TEST(Scene, NamesTheFaultsOfItsWindow) {
  TraceBench bench = run_with_a_death();
  TraceEvent told = bench.event("spawner", of_step(TraceKind::kManifest, 2));
  told.kind = TraceKind::kFault;
  told.set_detail("stage_ended stage/0");
  bench.add("spawner", told);
  PictureWindow window;
  window.from = *parse_border("step1");
  window.to = *parse_border("step5");
  const auto scene = compose_scene(bench.trace(), window);
  ASSERT_TRUE(scene.ok()) << scene.failure().message;
  EXPECT_EQ(scene->title, "steps 1 to 5: a replica ends, node2 is killed") << "in the order of time";
  ASSERT_FALSE(scene->moments.empty());
  EXPECT_EQ(scene->moments[0].text, "a replica ends: stage/0");
  EXPECT_TRUE(scene->moments[0].is_fault);
}

// The end of its trace did not come from the other machine; the spawner says that it let the node go.
TEST(Scene, CallsNobodyKilledWhoLeftAsAsked) {
  TraceBench bench = run_with_a_death();
  TraceEvent told = bench.event("spawner", of_step(TraceKind::kManifest, 3));
  told.kind = TraceKind::kNote;
  told.set_detail("left node2");
  bench.add("spawner", told);
  const auto scene = compose_scene(bench.trace(), {});
  ASSERT_TRUE(scene.ok()) << scene.failure().message;
  EXPECT_EQ(scene->title, "undisturbed training");
  for (const SceneMoment& moment : scene->moments) EXPECT_THAT(moment.text, testing::Not(HasSubstr("killed")));
}

TEST(Scene, SaysThatWorkWasNotTraced) {
  const auto scene = compose_scene(TraceBench({4, 3, TraceLevel::kLifecycle}).trace(), {});
  ASSERT_TRUE(scene.ok()) << scene.failure().message;
  EXPECT_THAT(scene->story, HasSubstr("trace.level=all"));
  EXPECT_EQ(compose_scene(TraceBench({4, 3}).trace(), {})->story, "");
}

TEST(Picture, IsAFileThatAParserTakes) {
  for (const RunTrace& trace :
       {run_with_a_death().trace(), TraceBench({4, 3}).trace(), TraceBench({4, 3, TraceLevel::kLifecycle}).trace()}) {
    const auto svg = picture_of(trace, {});
    ASSERT_TRUE(svg.ok()) << svg.failure().message;
    EXPECT_TRUE(is_well_formed(*svg));
  }
  EXPECT_FALSE(is_well_formed("<svg><g></svg>"));
  EXPECT_THAT(*picture_of(run_with_a_death().trace(), {}), HasSubstr("lost with its replica"));
}

TEST(Picture, StandsAnyTrace) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    TraceBench bench = run_with_a_death();
    for (const std::string name : {"spawner", "node1", "node2", "node3", "node4"}) {
      auto& life = bench.life(name);
      std::erase_if(life.events, [&](const TraceEvent&) { return random() % 8 == 0; });
      life.is_whole = random() % 3 != 0;
    }
    const auto svg = picture_of(bench.trace(), {});
    if (!svg.ok()) continue;
    EXPECT_TRUE(is_well_formed(*svg));
  }
}

TEST(Canvas, EscapesTextAndRoundsNumbers) {
  Canvas canvas(10, 20);
  canvas.text(1.239, 1e-9, "a<b&\"c\"", {});
  const std::string svg = std::move(canvas).finish();
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_THAT(svg, HasSubstr("x=\"1.24\" y=\"0\""));
  EXPECT_THAT(svg, HasSubstr("a&lt;b&amp;&quot;c&quot;"));
  EXPECT_EQ(pixel_text(-0.001), "0");
  EXPECT_EQ(pixel_text(3.1), "3.1");
}

}  // namespace
}  // namespace shoal::picture_test
