// Whole runs on shards: the bits of one process, a shard that goes away and comes back, processes that are killed
// meanwhile, and what a resume refuses.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "tests/support/process_scene.h"

namespace shoal::shards_test {
namespace {

namespace fs = std::filesystem;

void append(std::string& bytes, std::uint32_t value, int width) {
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
}

class Shards : public testing::Test {
 protected:
  // Cuts the scene's text into shards of unequal lengths.
  Shards() {
    fs::create_directory(folder());
    std::ifstream file(scene_.text(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t third = text.size() / 3;
    write("part_01.bin", text.substr(0, third + 11));
    write("part_02.bin", text.substr(third + 11, third));
    write("part_03.bin", text.substr(2 * third + 11));
  }
  void write(const std::string& name, const std::string& text) const {
    std::string bytes;
    for (const std::uint32_t value : {20240520U, 1U, static_cast<std::uint32_t>(text.size())}) append(bytes, value, 4);
    bytes.resize(1024, '\0');
    for (const char letter : text) append(bytes, static_cast<unsigned char>(letter), 2);
    std::ofstream(folder() / name, std::ios::binary) << bytes;
  }
  [[nodiscard]] fs::path folder() const { return scene_.folder() / "shards"; }
  [[nodiscard]] SmallRun small(int steps) const {
    return {2, 2, steps, {"sync.reduction=exact", "data.corpus=" + folder().string()}};
  }
  [[nodiscard]] bool has_event(const std::string& name, const std::string& reason, const std::string& run) const {
    const auto events = scene_.records(run).events;
    return std::any_of(events.begin(), events.end(), [&](const EventLine& line) {
      return line.event == name && line.reason.find(reason) != std::string::npos;
    });
  }

  // Kills the run's process of this name, which its keeper starts again.
  void kill_like(const std::string& process) const {
    const auto found = named_like(scene_.processes(), process);
    ASSERT_EQ(found.size(), 1U) << describe(found);
    ASSERT_EQ(::kill(found.front().pid, SIGKILL), 0);
  }
  // Stops the run, and compares it with one that nothing happened to.
  void expect_undisturbed(Program& program, const SmallRun& run) {
    ASSERT_TRUE(scene_.stop_and_repeat_single(program, run));
    EXPECT_EQ(scene_.records().weights(), scene_.records("single").weights());
    EXPECT_EQ(scene_.run_to_end({"trace", "check", scene_.run().string()}), 0);
  }
  [[nodiscard]] bool goes_on_for(std::size_t steps) const {
    return scene_.wait_for_steps(scene_.records().steps.size() + steps);
  }

  ProcessScene scene_;
};

TEST_F(Shards, GiveTheBitsOfTheSameTextAndOfASingleProcess) {
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", small(10))), 0);
  ASSERT_EQ(scene_.run_to_end(train(scene_, "single", small(10), {"--single"})), 0);
  SmallRun text = small(10);
  text.sets.pop_back();
  ASSERT_EQ(scene_.run_to_end(train(scene_, "text", text, {"--single"})), 0);
  EXPECT_EQ(scene_.records().weights(), scene_.records("single").weights());
  EXPECT_EQ(scene_.records().weights(), scene_.records("text").weights());
}

TEST_F(Shards, ThatGoAwayAreWaitedFor) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--single"}}) {
    const std::string name = words.empty() ? "run" : "one";
    Program& program = scene_.start(train(scene_, name, small(kEndless), words));
    ASSERT_TRUE(scene_.wait_for_steps(3, name));
    fs::rename(folder() / "part_02.bin", scene_.folder() / "away");
    ASSERT_TRUE(wait_until([&] { return has_event("data_unreadable", "part_02.bin", name); }, kRunLimit));
    if (words.empty()) {
      Program& status = scene_.start({"status", "--run", scene_.run(name).string()});
      ASSERT_EQ(status.wait(kRunLimit), 0) << status.err();
      EXPECT_NE(status.out().find("the data loader waits: the shard"), std::string::npos) << status.out();
    }
    const std::size_t steps = scene_.records(name).steps.size();
    fs::rename(scene_.folder() / "away", folder() / "part_02.bin");
    ASSERT_TRUE(scene_.wait_for_steps(steps + 3, name));
    EXPECT_TRUE(has_event("data_read_again", "", name));
    const auto as_far = scene_.stop(program, name);
    ASSERT_EQ(scene_.run_to_end(
                  train(scene_, name + "-undisturbed", small(kEndless), {"--single", as_far.at(0), as_far.at(1)})),
              0);
    EXPECT_EQ(scene_.records(name).weights(), scene_.records(name + "-undisturbed").weights());
  }
}

TEST_F(Shards, ThatAreAwayDoNotKeepAStoppedRun) {
  for (const auto& [signal, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 75}}) {
    const std::string name = "run" + std::to_string(status);
    Program& program = scene_.start(train(scene_, name, small(kEndless)));
    ASSERT_TRUE(scene_.wait_for_steps(3, name));
    fs::rename(folder(), scene_.folder() / "away");
    ASSERT_TRUE(wait_until([&] { return has_event("data_unreadable", ".bin", name); }, kRunLimit));
    program.signal(signal);
    EXPECT_EQ(program.wait(kRunLimit), status) << program.err();
    EXPECT_NE(program.err().find("its text cannot be read"), std::string::npos) << program.err();
    fs::rename(scene_.folder() / "away", folder());
    const RunRecords records = scene_.records(name);
    ASSERT_EQ(records.finals.size(), 1U);
    EXPECT_EQ(records.finals[0].event, "stopped");
    EXPECT_EQ(records.finals[0].steps, records.steps.size()) << "nothing that was committed is lost";
    EXPECT_EQ(scene_.run_to_end({"trace", "check", scene_.run(name).string()}), 0);
    const std::string steps = std::to_string(records.steps.size() + 3);
    ASSERT_EQ(scene_.run_to_end({"train", "--resume", scene_.run(name).string(), "--steps", steps}), 0);
    ASSERT_EQ(scene_.run_to_end(train(scene_, name + "-one", small(kEndless), {"--single", "--steps", steps})), 0);
    EXPECT_EQ(scene_.records(name).weights(), scene_.records(name + "-one").weights());
  }
}

// A download that has not ended, which neither the spawner nor storage takes for the run's when it comes back.
TEST_F(Shards, ThatComeMeanwhileAreNotOfTheRun) {
  Program& program = scene_.start(train(scene_, "run", small(kEndless)));
  ASSERT_TRUE(scene_.wait_for_steps(3));
  write("part_04.bin", std::string(60000, 'x'));
  std::ofstream(folder() / "part_06.bin") << "half of it";
  ASSERT_NO_FATAL_FAILURE(kill_like("internal-spawner"));
  ASSERT_NO_FATAL_FAILURE(kill_like("internal-storage"));
  ASSERT_TRUE(goes_on_for(20)) << program.err();
  for (const char* const name : {"part_04.bin", "part_06.bin"}) fs::remove(folder() / name);
  expect_undisturbed(program, small(kEndless));
  const std::string steps = std::to_string(scene_.records().finals.back().steps);
  EXPECT_EQ(scene_.run_to_end({"train", "--resume", scene_.run().string(), "--single", "--steps", steps}), 0)
      << "the checkpoint is of the run's text";
}

TEST_F(Shards, ThatAreAwayWhenTheSpawnerComesBackAreWaitedFor) {
  Program& program = scene_.start(train(scene_, "run", small(kEndless)));
  ASSERT_TRUE(scene_.wait_for_steps(3));
  for (const std::string name : {"part_02.bin", "part_03.bin"}) {
    fs::rename(folder() / name, scene_.folder() / "away");
    ASSERT_NO_FATAL_FAILURE(kill_like("internal-spawner"));
    ASSERT_TRUE(wait_until([&] { return has_event("data_unreadable", name, "run"); }, kRunLimit)) << program.err();
    fs::rename(scene_.folder() / "away", folder() / name);
    ASSERT_TRUE(goes_on_for(3)) << program.err();
  }
  EXPECT_TRUE(has_event("data_read_again", "", "run"));
  expect_undisturbed(program, small(kEndless));
}

// An editor replaces a text as a whole, and not one line of a run is of the new one.
TEST_F(Shards, OrATextThatIsAnotherWhenTheSpawnerComesBackIsWaitedFor) {
  SmallRun text = small(kEndless);
  text.sets.pop_back();
  Program& program = scene_.start(train(scene_, "run", text));
  ASSERT_TRUE(scene_.wait_for_steps(3));
  fs::rename(scene_.text(), scene_.folder() / "away");
  std::ofstream(scene_.text()) << std::string(60000, 'x');
  ASSERT_NO_FATAL_FAILURE(kill_like("internal-spawner"));
  ASSERT_TRUE(wait_until([&] { return has_event("data_unreadable", "holds other tokens", "run"); }, kRunLimit))
      << program.err();
  fs::rename(scene_.folder() / "away", scene_.text());
  ASSERT_TRUE(goes_on_for(3)) << program.err();
  expect_undisturbed(program, text);
}

TEST_F(Shards, AreNamedWhenARunGoesOnWithOthers) {
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", small(6), {"--steps", "3"})), 0);
  fs::rename(folder() / "part_03.bin", scene_.folder() / "away");
  Program& lacking = scene_.start({"train", "--resume", scene_.run().string()});
  EXPECT_EQ(lacking.wait(kRunLimit), 3);
  EXPECT_NE(lacking.err().find("the shard part_03.bin is missing"), std::string::npos) << lacking.err();
  write("part_03.bin", std::string(60000, 'x'));
  Program& other = scene_.start({"train", "--resume", scene_.run().string()});
  EXPECT_EQ(other.wait(kRunLimit), 3);
  EXPECT_NE(other.err().find("the shard part_03.bin holds other tokens"), std::string::npos) << other.err();
  fs::rename(scene_.folder() / "away", folder() / "part_03.bin");
  EXPECT_EQ(scene_.run_to_end({"train", "--resume", scene_.run().string()}), 0);
}

// A split over more shards has other validation windows.
TEST_F(Shards, ThatComeLaterDoNotChangeWhatEvalSays) {
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", small(3), {"--single"})), 0);
  std::string before;
  for (const bool has_grown : {false, true}) {
    if (has_grown) write("part_04.bin", std::string(60000, 'x'));
    Program& eval = scene_.start({"eval", scene_.run().string(), "--batches", "1"});
    ASSERT_EQ(eval.wait(kRunLimit), 0) << eval.err();
    const std::string said = std::exchange(before, eval.out());
    EXPECT_TRUE(!has_grown || before == said) << said << before;
  }
}

TEST_F(Shards, AreTakenOnceAnEpoch) {
  Program& order =
      scene_.start({"data", "order", "--set", "data.corpus=" + folder().string(), "--set", "model.context=32", "--set",
                    "batch.sequences=16", "--set", "batch.microbatch=16", "--steps", "400"});
  ASSERT_EQ(order.wait(kRunLimit), 0) << order.err();
  std::istringstream lines(order.out());
  std::vector<std::uint64_t> offsets;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::uint64_t step = 0;
    std::uint64_t microbatch = 0;
    words >> step >> microbatch;
    for (std::uint64_t offset = 0; words >> offset;) offsets.push_back(offset);
  }
  const std::uint64_t bytes = fs::file_size(scene_.text());
  const std::uint64_t train_tokens = bytes - bytes / 10;
  const std::uint64_t windows = (train_tokens - 32) / 32;
  ASSERT_GT(offsets.size(), windows) << "more than an epoch";
  std::map<std::uint64_t, int> taken;
  for (std::uint64_t i = 0; i < windows; ++i) ++taken[offsets[i]];
  EXPECT_EQ(taken.size(), windows);
  EXPECT_LE(taken.rbegin()->first + 33, train_tokens);
}

}  // namespace
}  // namespace shoal::shards_test
