// Tests the options of `shoal trace`, and the weights that it compares.
#include "launch/commands/inspect/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>

#include "launch/commands/inspect/run_weights.h"
#include "launch/interface.h"
#include "runtime/trace/tracer.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::trace_test {
namespace {

using testing::HasSubstr;

Options parse(const std::string& command, const std::vector<std::string>& words) {
  auto options = parse_options(command_named(command), words);
  EXPECT_TRUE(options.ok()) << options.failure().message;
  return options.value();
}

TEST(TraceCommand, ExportsTheRunsJsonUnlessAPictureIsWanted) {
  const auto plain = trace_export_options(parse("trace export", {"runs/a"}));
  EXPECT_EQ(plain->out, "runs/a/trace/perfetto.json");
  EXPECT_EQ(plain->svg, std::nullopt);
  const auto picture = trace_export_options(parse("trace export", {"runs/a", "--svg", "a.svg", "--from", "step3"}));
  EXPECT_EQ(picture->out, std::nullopt);
  EXPECT_EQ(picture->window.from.step, StepId{3});
  const auto both =
      trace_export_options(parse("trace export", {"runs/a", "--svg", "a.svg", "--out", "b", "--to", "4.5"}));
  EXPECT_EQ(both->out, "b");
  EXPECT_EQ(both->window.to.seconds, 4.5);
}

TEST(TraceCommand, RefusesWhatMakesNoSense) {
  const auto window = trace_export_options(parse("trace export", {"runs/a", "--from", "3"}));
  EXPECT_EQ(window.failure().error, Error::kUsage);
  EXPECT_THAT(window.failure().message, HasSubstr("--svg"));
  EXPECT_FALSE(trace_export_options(parse("trace export", {"runs/a", "--svg", "a", "--from", "soon"})).ok());
  EXPECT_FALSE(trace_why_options(parse("trace why", {"12", "runs/a"})).ok());
  const auto why = trace_why_options(parse("trace why", {"12/3", "runs/a"}));
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->microbatch.step, StepId{12});
  EXPECT_EQ(why->run_directory, "runs/a");
  EXPECT_FALSE(parse_options(command_named("trace why"), {}).ok());
}

TEST(TraceCommand, ARunIsNamedByItsPlaceOrAsForALiveOne) {
  EXPECT_EQ(trace_summary_options(parse("trace summary", {"--run", "runs/a"}))->run_directory, "runs/a");
  EXPECT_EQ(trace_check_options(parse("trace check", {"--run", "runs/a", "--against", "b"}))->run_directory, "runs/a");
  EXPECT_EQ(trace_export_options(parse("trace export", {"--run", "runs/a"}))->run_directory, "runs/a");
  EXPECT_EQ(trace_why_options(parse("trace why", {"12/3", "--run", "runs/a"}))->run_directory, "runs/a");
  EXPECT_TRUE(trace_check_options(parse("trace check", {"a", "--run", "a"})).ok());
  const auto two = trace_check_options(parse("trace check", {"a", "--run", "b"}));
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.failure().error, Error::kUsage);
  EXPECT_THAT(two.failure().message, HasSubstr("a and --run b name two runs"));
}

// Exit status 1 says that an invariant is broken: a machine without memory knows nothing of that.
TEST(TraceCommand, CallsALackOfMemoryNoFault) {
  const Scratch scratch;
  const auto traced = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<SteadyClock>());
  { const TraceDrain drain(traced, trace_path(scratch.path().string(), "spawner"), "spawner"); }
  const std::string run = scratch.path().string();
  EXPECT_EQ(*report_trace(run, [](const RunTrace&) { return 1; }), 1) << "the control";
  const auto lacks = report_trace(run, [](const RunTrace&) -> Result<int> { throw std::bad_alloc(); });
  ASSERT_FALSE(lacks.ok());
  EXPECT_EQ(exit_code(lacks.failure().error), 3);
  EXPECT_THAT(lacks.failure().message, HasSubstr("memory"));
  EXPECT_THROW((void)report_trace(run, [](const RunTrace&) -> Result<int> { throw std::logic_error("a bug"); }),
               std::logic_error);
}

// What each exit status of a check says.
TEST(TraceCommand, ChecksARunDirectory) {
  const Scratch scratch;
  const std::string run = scratch.path().string();
  EXPECT_EQ(run_trace_check({(scratch.path() / "nowhere").string(), {}}).failure().error, Error::kUsage);
  EXPECT_EQ(run_trace_check({run, {}}).failure().error, Error::kInvalidData) << "no trace";
  const auto tracer = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<SteadyClock>());
  TraceDrain drain(tracer, trace_path(run, "spawner"), "spawner");
  TraceEvent mark;
  mark.kind = TraceKind::kMark;
  mark.subject = mark.bytes = 10;
  ActorTrace(tracer, "router").record(mark);
  ASSERT_TRUE(drain.flush().ok());
  EXPECT_EQ(*run_trace_check({run, {}}), 0);
  ++mark.bytes;
  ActorTrace(tracer, "router").record(mark);
  ASSERT_TRUE(drain.flush().ok());
  EXPECT_EQ(*run_trace_check({run, {}}), 1) << "a queue beyond its bound";
}

// A run directory with these final lines.
std::string run_with(const Scratch& scratch, const std::string& name, const std::string& lines) {
  std::filesystem::create_directories(scratch.path() / name);
  (void)scratch.file(name + "/metrics.jsonl", lines);
  return (scratch.path() / name).string();
}

std::string final_line(int steps, const std::string& weights) {
  return R"({"event":"finished","steps":)" + std::to_string(steps) + R"(,"weights_sha256":")" + weights + "\"}\n";
}

TEST(RunWeights, AreComparedWhereBothRunsHaveThem) {
  const Scratch scratch;
  const std::string one = run_with(scratch, "one", final_line(10, "aa") + "{\"torn\n" + final_line(20, "bb"));
  const std::string same = run_with(scratch, "same", final_line(20, "bb") + final_line(30, "cc"));
  const std::string other = run_with(scratch, "other", final_line(10, "aa") + final_line(20, "b0"));
  const auto equal = compare_weights(one, same);
  ASSERT_TRUE(equal.ok());
  EXPECT_EQ(equal->steps, 20U);
  EXPECT_EQ(equal->difference, "");
  EXPECT_EQ(compare_weights(one, other)->difference, "after 20 steps: bb here, b0 there");
}

TEST(RunWeights, ThatCannotBeComparedAreAnError) {
  const Scratch scratch;
  const std::string one = run_with(scratch, "one", final_line(10, "aa"));
  const std::string later = run_with(scratch, "later", final_line(20, "aa"));
  EXPECT_EQ(compare_weights(one, later).failure().error, Error::kInvalidData);
  EXPECT_FALSE(compare_weights(one, run_with(scratch, "empty", "")).ok());
  EXPECT_EQ(compare_weights(one, (scratch.path() / "nowhere").string()).failure().error, Error::kUsage);
}

}  // namespace
}  // namespace shoal::trace_test
