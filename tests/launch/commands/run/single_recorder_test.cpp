// One process records up to the last byte of its disk: there is no journal that would need it.
#include "launch/commands/run/single_recorder.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>

#include "runtime/base/file.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::single_recorder_test {
namespace {

TEST(SingleRecorder, TakesTheLastOfItsDiskWhichAPipelineLeavesToTheJournal) {
  const Scratch scratch;
  if (::mount("shoal", scratch.path().c_str(), "tmpfs", 0, "size=128k") != 0) GTEST_SKIP() << "cannot mount a tmpfs";
  {
    const std::string path = (scratch.path() / "metrics.jsonl").string();
    StepRecord record;
    MetricsOutbox pipeline(path);
    const auto refused = pipeline.write(record, BothClocks{});
    ASSERT_TRUE(refused.has_value()) << "the control";
    EXPECT_NE(refused->find("the journal needs"), std::string::npos) << *refused;
    auto recorder = SingleRecorder::open({path, [](const MetricsOutput&) {}});
    ASSERT_TRUE(recorder.ok()) << recorder.failure().message;
    for (record.step = 0; record.step < 50; ++record.step) recorder->write(record);
    const std::string text = read_file(path).value();
    EXPECT_EQ(std::ranges::count(text, '\n'), 50);
  }
  ::umount(scratch.path().c_str());
}

}  // namespace
}  // namespace shoal::single_recorder_test
