// A run directory that is away for a while, as a mount may be: nothing of the run is thrown away, and it goes on.
#include <gtest/gtest.h>

#include "tests/support/process_scene.h"

namespace shoal::away_test {
namespace {

namespace fs = std::filesystem;

class Away : public testing::Test {
 protected:
  [[nodiscard]] std::size_t count(const std::string& event) const {
    std::size_t found = 0;
    for (const EventLine& line : scene_.records().events) found += line.event == event ? 1 : 0;
    return found;
  }
  [[nodiscard]] bool was_begun_again() const {
    for (const EventLine& line : scene_.records().events) {
      if (line.event == "rolled_back" && line.reason.find("from step 0 of") != std::string::npos) return true;
    }
    return false;
  }

  ProcessScene scene_;
};

// A stage loses its only replica while nothing at the directory's name tells of a checkpoint.
TEST_F(Away, ARunDirectoryIsWaitedForAndNoCheckpointIsLost) {
  const SmallRun small{2, 1, kEndless, {"sync.reduction=exact", "checkpoint.every=10"}};
  Program& program = scene_.start(train(scene_, "run", small));
  ASSERT_TRUE(wait_until([&] { return count("checkpoint") >= 2; }, kRunLimit));
  const fs::path away = scene_.run("away");
  fs::rename(scene_.run(), away);
  ASSERT_EQ(scene_.run_to_end({"kill", "stage/1/0", "--how", "throw", "--run", away.string()}), 0);
  const auto waits = [&] { return program.err().find("bring the folder back") != std::string::npos; };
  EXPECT_TRUE(wait_until(waits, Milliseconds(30'000))) << program.err();
  Program& status = scene_.start({"status", "--run", away.string()});
  ASSERT_EQ(status.wait(kRunLimit), 0) << status.err();
  EXPECT_NE(status.out().find("looking for a checkpoint again"), std::string::npos) << status.out();
  ASSERT_FALSE(fs::exists(scene_.run())) << "nobody has made it again";
  fs::rename(away, scene_.run());
  ASSERT_TRUE(wait_until([&] { return count("rolled_back") == 1; }, kRunLimit)) << program.err();
  EXPECT_FALSE(was_begun_again()) << program.err();
  ASSERT_TRUE(scene_.wait_for_steps(scene_.records().steps.size() + 10));
  ASSERT_TRUE(scene_.stop_and_repeat_single(program, small));
  EXPECT_EQ(scene_.records().weights(), scene_.records("single").weights());
}

}  // namespace
}  // namespace shoal::away_test
