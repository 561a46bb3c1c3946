// Tests what `shoal logs` says of names and runs that are not there, and of actors that have written nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/commands/inspect/inspect.h"
#include "runtime/base/config_file.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::logs_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A run of two stages and two replicas, in which stage 1 has written a line.
class LogsCommand : public testing::Test {
 protected:
  LogsCommand() {
    (void)scratch.file("config.toml", write_config(*load_config({})));
    std::filesystem::create_directories(scratch.path() / "logs");
    (void)scratch.file("logs/node1.log", "2026-01-01T00:00:00.000Z info stage/1/0: loads step 5\n");
    (void)scratch.file("logs/spawner.log", "");
  }
  struct Said {
    Result<int> code;
    std::string out;
    std::string err;
  };
  [[nodiscard]] Said logs(const std::string& name) const {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    auto code = run_logs({scratch.path().string(), name, false});
    return {std::move(code), testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }

  Scratch scratch;
};

TEST_F(LogsCommand, PrintsTheLinesOfAnActor) {
  const auto said = logs("stage/1/0");
  ASSERT_TRUE(said.code.ok()) << said.code.failure().message;
  EXPECT_THAT(said.out, HasSubstr("loads step 5"));
  EXPECT_EQ(said.err, "");
}

TEST_F(LogsCommand, RefusesAnActorThatNeverWas) {
  for (const std::string name : {"stage/9/9", "sync_group/7", "cook/node1", "node7"}) {
    const auto said = logs(name);
    ASSERT_FALSE(said.code.ok()) << name;
    EXPECT_EQ(said.code.failure().error, Error::kUsage);
    EXPECT_THAT(said.code.failure().message, AllOf(HasSubstr(name), HasSubstr("there are logs of: node1 spawner")));
  }
}

// The keeper's log has the lines of other workers.
TEST_F(LogsCommand, RefusesAWorkerThatItsKeeperNeverHad) {
  (void)scratch.file("metrics.jsonl", R"({"event":"joined","subject":"node1:1","reason":"","step":0})"
                                      "\n");
  for (const std::string name : {"node1:7", "router/node1:7"}) {
    const auto said = logs(name);
    ASSERT_FALSE(said.code.ok()) << name;
    EXPECT_EQ(said.code.failure().error, Error::kUsage);
    EXPECT_THAT(said.code.failure().message, AllOf(HasSubstr("no worker node1:7"), HasSubstr("the log of node1")));
    EXPECT_EQ(said.out, "");
  }
  for (const std::string name : {"node1:1", "node1:0", "node1"}) {
    const auto said = logs(name);
    ASSERT_TRUE(said.code.ok()) << name;
    EXPECT_THAT(said.out, HasSubstr("loads step 5"));
  }
}

TEST_F(LogsCommand, SaysThatAnActorHasWrittenNothing) {
  for (const std::string name : {"stage/0/1", "data_loader", "tracer/node1"}) {
    const auto said = logs(name);
    ASSERT_TRUE(said.code.ok()) << said.code.failure().message;
    EXPECT_EQ(said.out, "");
    EXPECT_THAT(said.err, HasSubstr(name + " has written nothing"));
  }
}

TEST(LogsOfNoRun, AreRefused) {
  const Scratch scratch;
  for (const std::string& directory : {scratch.path().string(), (scratch.path() / "nowhere").string()}) {
    const auto code = run_logs({directory, "metrics", false});
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.failure().error, Error::kUsage);
    EXPECT_THAT(code.failure().message, AllOf(HasSubstr(directory), HasSubstr("no run there")));
  }
}

}  // namespace
}  // namespace shoal::logs_test
