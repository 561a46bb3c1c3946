// Tests the options of `shoal plot`, what it leaves, and what it says of runs that it cannot draw.
#include "launch/commands/inspect/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "launch/interface.h"
#include "runtime/base/file.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::plot_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<PlotOptions> parse(const std::vector<std::string>& words) {
  const auto options = parse_options(command_named("plot"), words);
  if (!options) return options.failure();
  return plot_options(*options);
}

// A run directory with so many steps.
std::string run_with(const Scratch& scratch, const std::string& name, std::uint64_t steps) {
  std::filesystem::create_directories(scratch.path() / name);
  std::string lines;
  for (std::uint64_t i = 0; i < steps; ++i) {
    StepRecord record;
    record.step = i;
    record.loss = 5 - static_cast<double>(i);
    record.tokens = 10;
    record.step_ms = 1;
    lines += to_json_line(record) + "\n";
  }
  (void)scratch.file(name + "/metrics.jsonl", lines);
  return (scratch.path() / name).string();
}

TEST(PlotCommand, DrawsIntoItsRunUnlessThereAreSeveral) {
  EXPECT_EQ(parse({"runs/a"})->out, "runs/a/plot.svg");
  EXPECT_EQ(parse({"runs/a", "runs/b"})->out, "plot.svg");
  EXPECT_EQ(parse({"runs/a", "runs/b", "--out", "c.svg", "--x", "time"})->out, "c.svg");
  EXPECT_EQ(parse({"runs/a", "--x", "tokens"})->axis, PlotAxis::kTokens);
  EXPECT_THAT(parse({"runs/a", "runs/b"})->run_directories, ElementsAre("runs/a", "runs/b"));
}

TEST(PlotCommand, RefusesWhatMakesNoSense) {
  EXPECT_EQ(parse({}).failure().error, Error::kUsage);
  EXPECT_THAT(parse({"runs/a", "--x", "epochs"}).failure().message, HasSubstr("steps, tokens and time"));
  EXPECT_THAT(parse({"runs/a", ""}).failure().message, HasSubstr("is empty"));
}

TEST(PlotCommand, NamesRunsByTheirDirectoriesAndByTheirPathsWhereTheseAreAlike) {
  EXPECT_THAT(names_in_picture({"runs/a", "runs/b/"}), ElementsAre("a", "b"));
  EXPECT_THAT(names_in_picture({"x/a", "y/a", "z/b"}), ElementsAre("x/a", "y/a", "b"));
}

TEST(PlotCommand, DrawsOneRunAndSeveral) {
  const Scratch scratch;
  const std::string a = run_with(scratch, "a", 5);
  const std::string b = run_with(scratch, "b", 3);
  EXPECT_EQ(*run_plot(*parse({a})), 0);
  const auto one = read_file(a + "/plot.svg");
  ASSERT_TRUE(one.ok());
  EXPECT_THAT(*one, HasSubstr(">a<"));
  const std::string file = (scratch.path() / "both.svg").string();
  EXPECT_EQ(*run_plot(*parse({a, b, "--out", file})), 0);
  EXPECT_THAT(*read_file(file), HasSubstr(">b<"));
}

TEST(PlotCommand, NamesTheFileThatItCannotUse) {
  const Scratch scratch;
  const std::string a = run_with(scratch, "a", 5);
  for (const std::string& name : {std::string("none"), std::string("empty"), std::string("damaged")}) {
    if (name == "empty") (void)run_with(scratch, name, 0);
    if (name == "damaged") {
      std::filesystem::create_directories(scratch.path() / name);
      (void)scratch.file(name + "/metrics.jsonl", "{\"step\":\n");
    }
    const auto drawn = run_plot(*parse({a, (scratch.path() / name).string(), "--out", a + "/both.svg"}));
    ASSERT_FALSE(drawn.ok()) << name;
    EXPECT_EQ(exit_code(drawn.failure().error), name == "none" ? 2 : 3) << name;
    EXPECT_THAT(drawn.failure().message,
                HasSubstr(name == "none" ? "none: there is no such" : name + "/metrics.jsonl"));
    EXPECT_FALSE(std::filesystem::exists(a + "/both.svg"));
  }
}

TEST(PlotCommand, DrawsTheRestOfADamagedFileAndSaysSoOnce) {
  const Scratch scratch;
  const std::string a = run_with(scratch, "a", 5);
  std::string lines = *read_file(a + "/metrics.jsonl");
  lines.insert(lines.find('\n') + 1, "{\"step\":1,\"lo\n");
  (void)scratch.file("a/metrics.jsonl", lines);
  const auto said = [&a](const auto& draw_it) {
    std::filesystem::remove(a + "/plot.svg");
    testing::internal::CaptureStderr();
    draw_it();
    EXPECT_TRUE(std::filesystem::exists(a + "/plot.svg"));
    return testing::internal::GetCapturedStderr();
  };
  const std::string warning = "warning: " + a + "/metrics.jsonl: line 2 is damaged and left out";
  EXPECT_THAT(said([&a] { EXPECT_EQ(*run_plot(*parse({a})), 0); }), HasSubstr(warning));
  EXPECT_THAT(said([&a] { draw_at_end(a); }), HasSubstr(warning));
  EXPECT_THAT(*read_file(a + "/plot.svg"), HasSubstr("1 damaged line left out"));
}

TEST(PlotCommand, ARunDrawsItselfAtItsEndIfItHasAStep) {
  const Scratch scratch;
  draw_at_end(run_with(scratch, "a", 5));
  EXPECT_TRUE(std::filesystem::exists(scratch.path() / "a/plot.svg"));
  draw_at_end(run_with(scratch, "b", 0));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "b/plot.svg"));
}

}  // namespace
}  // namespace shoal::plot_test
