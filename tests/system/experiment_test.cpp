// `shoal experiment` with real runs: every arm trains, the table has a row of figures for each, the same command
// trains nothing twice, and an experiment that was stopped goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/support/process_scene.h"

namespace shoal::experiment_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

// A few steps of two workers, three times.
std::vector<std::string> small_experiment(const ProcessScene& scene, int steps) {
  std::vector<std::string> words = {"experiment", "exp1", "--out", "answer", "--steps", std::to_string(steps)};
  for (const std::string& setting :
       {"data.corpus=" + scene.text().string(), std::string("data.validation_fraction=0.1"),
        std::string("pipeline.stages=1"), std::string("pipeline.replicas=2"), std::string("batch.sequences=8"),
        std::string("batch.microbatch=4"), std::string("model.layers=1"), std::string("model.width=16"),
        std::string("model.context=32"), std::string("sync.H=3"), std::string("eval.every=3")}) {
    words.insert(words.end(), {"--set", setting});
  }
  return words;
}

std::ptrdiff_t lines_with(const std::string& text, const std::string& what) {
  std::istringstream lines(text);
  std::ptrdiff_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(what) != std::string::npos ? 1 : 0;
  return count;
}

TEST(Experiment, TrainsItsArmsOnceAndGoesOnWhenItWasStopped) {
  ProcessScene scene;
  Program& first = scene.start(small_experiment(scene, 6));
  ASSERT_TRUE(wait_until([&] { return !scene.records("answer/single").steps.empty(); }, kRunLimit));
  first.signal(SIGTERM);
  ASSERT_EQ(first.wait(kRunLimit), 75) << first.err();
  EXPECT_THAT(first.out(), Not(HasSubstr("| 2 |")));  // no table

  Program& second = scene.start(small_experiment(scene, 6));
  ASSERT_EQ(second.wait(kRunLimit), 0) << second.err();
  const std::string table = second.out();
  EXPECT_EQ(lines_with(table, "not finished"), 0);
  EXPECT_EQ(lines_with(table, "| 2 |"), 1) << table;  // rounds of the one arm that has some
  EXPECT_EQ(table, text_of(scene.folder() / "answer/exp1.md"));
  EXPECT_THAT(text_of(scene.folder() / "answer/exp1.svg"), HasSubstr("</svg>"));

  Program& third = scene.start(small_experiment(scene, 6));
  ASSERT_EQ(third.wait(kRunLimit), 0);
  EXPECT_EQ(third.out(), table);
  EXPECT_EQ(lines_with(third.err(), "finished before"), 3);
  EXPECT_EQ(lines_with(first.err(), "single: starts"), 1);
  EXPECT_EQ(lines_with(second.err(), "single: starts"), 0);    // the run went on, or had come to its end
  EXPECT_EQ(scene.run_to_end(small_experiment(scene, 7)), 2);  // other commands
}

// When the first arm has not begun to listen, or is between the first and the second: wherever it meets it.
TEST(Experiment, ASignalAtAnyTimeEndsItToBeGoneOnWith) {
  ProcessScene scene;
  for (const std::string word : {"single: ", "of 3, swarm: ", "of 3, "}) {
    Program& program = scene.start(small_experiment(scene, 6));
    ASSERT_TRUE(wait_until([&] { return program.err().find(word) != std::string::npos; }, kRunLimit)) << program.err();
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(kRunLimit), 75) << word << program.err();
  }
  EXPECT_EQ(scene.run_to_end(small_experiment(scene, 6)), 0);
}

}  // namespace
}  // namespace shoal::experiment_test
