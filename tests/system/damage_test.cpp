// A damaged checkpoint is never loaded: resume falls back to the one before and says so, or ends with 3 when none is
// left. A disk that is full ends a run with 3 where nothing can be recorded any more, and damages nothing.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cctype>
#include <fstream>
#include <iterator>

#include "runtime/base/file.h"
#include "tests/support/process_scene.h"

namespace shoal::damage_test {
namespace {

namespace fs = std::filesystem;

SmallRun with_checkpoints(int steps = 20) {
  return {2, 1, steps, {"sync.reduction=exact", "checkpoint.every=5", "checkpoint.keep=0"}};
}

void flip_byte(const fs::path& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int before = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(before ^ 0x10));
}

fs::path shard(const ProcessScene& scene, int step, int stage = 0) {
  return scene.run() / "checkpoints" / ("step_" + std::to_string(step)) /
         ("stage_" + std::to_string(stage) + ".safetensors");
}

void train_ten_of_twenty(ProcessScene& scene) {
  ASSERT_EQ(scene.run_to_end(train(scene, "whole", with_checkpoints(), {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
}

void expect_resume_falls_back(ProcessScene& scene, const std::string& named = "step_10") {
  Program& program = scene.start({"train", "--resume", scene.run().string()});
  ASSERT_EQ(program.wait(kRunLimit), 0);
  EXPECT_NE(program.err().find(named), std::string::npos) << "the damaged one is named: " << program.err();
  EXPECT_NE(program.err().find("step 5"), std::string::npos) << "and where it goes on: " << program.err();
  EXPECT_EQ(scene.records().finals.back().steps, 20U);
  EXPECT_EQ(scene.records().weights(), scene.records("whole").weights());
}

TEST(Damage, AFlippedByteFallsBackToTheCheckpointBefore) {
  ProcessScene scene;
  train_ten_of_twenty(scene);
  flip_byte(shard(scene, 10, 1), fs::file_size(shard(scene, 10, 1)) / 2);
  expect_resume_falls_back(scene);
}

TEST(Damage, AMissingShardFallsBackToTheCheckpointBefore) {
  ProcessScene scene;
  train_ten_of_twenty(scene);
  fs::remove(shard(scene, 10));
  expect_resume_falls_back(scene);
}

TEST(Damage, ATruncatedShardFallsBackToTheCheckpointBefore) {
  ProcessScene scene;
  train_ten_of_twenty(scene);
  fs::resize_file(shard(scene, 10), fs::file_size(shard(scene, 10)) - 1);
  expect_resume_falls_back(scene);
}

// Neither processes nor a single one: why, is said.
void expect_nobody_resumes(ProcessScene& scene, const std::string& why) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--single"}}) {
    std::vector<std::string> arguments = {"train", "--resume", scene.run().string()};
    arguments.insert(arguments.end(), words.begin(), words.end());
    Program& program = scene.start(arguments);
    EXPECT_EQ(program.wait(kRunLimit), 3) << program.err();
    EXPECT_NE(program.err().find(why), std::string::npos) << program.err();
  }
  EXPECT_EQ(scene.records().steps.size(), 10U);
}

TEST(Damage, NoGoodCheckpointEndsTheResumedRun) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  flip_byte(shard(scene, 10), 3);
  flip_byte(shard(scene, 5), fs::file_size(shard(scene, 5)) - 1);
  expect_nobody_resumes(scene, "checkpoint");
}

// The volume that checkpoint.dir names may not be mounted: months would be thrown away without a word.
TEST(Damage, CheckpointsThatAreGoneEndTheResumedRun) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  fs::rename(scene.run() / "checkpoints", scene.run() / "elsewhere");
  const auto config = read_file((scene.run() / "config.toml").string());
  expect_nobody_resumes(scene, "tells of one after 10 steps");
  fs::rename(scene.run() / "elsewhere", scene.run() / "checkpoints");
  const std::string nowhere = "checkpoint.dir=" + scene.folder().string() + "/nowhere";
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--set", nowhere}, {"--steps", "3", "--set", "log.every=7"}}) {
    std::vector<std::string> arguments = {"train", "--resume", scene.run().string()};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    EXPECT_NE(scene.start(arguments).wait(kRunLimit), 0);
    EXPECT_EQ(*read_file((scene.run() / "config.toml").string()), *config) << "who is refused changes nothing";
  }
}

// Whoever changes the file by hand hears of it before anything is started.
TEST(Damage, AConfigurationOfAnotherModelIsRefusedAtOnce) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  const std::string path = (scene.run() / "config.toml").string();
  const std::string config = *read_file(path);
  const auto at = config.find("width = ");
  ASSERT_NE(at, std::string::npos);
  ASSERT_TRUE(replace_file(path, config.substr(0, at) + "width = 40" + config.substr(config.find('\n', at))).ok());
  for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"--single"}}) {
    std::vector<std::string> arguments = {"train", "--resume", scene.run().string()};
    arguments.insert(arguments.end(), how.begin(), how.end());
    Program& resumed = scene.start(arguments);
    EXPECT_EQ(resumed.wait(kRunLimit), 2);
    EXPECT_NE(resumed.err().find("do not fit the checkpoint after 10 steps"), std::string::npos) << resumed.err();
    EXPECT_EQ(resumed.err().find("run directory"), std::string::npos) << resumed.err();
  }
  ASSERT_TRUE(replace_file(path, config).ok());
  EXPECT_EQ(scene.run_to_end({"train", "--resume", scene.run().string()}), 0) << "the control";
}

TEST(Damage, ACheckpointThatIsGoneIsMissed) {
  ProcessScene scene;
  train_ten_of_twenty(scene);
  fs::remove_all(shard(scene, 10).parent_path());
  expect_resume_falls_back(scene, "after 10 steps");
}

TEST(Damage, ANamedCheckpointThatIsDamagedIsRefused) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  flip_byte(shard(scene, 10), fs::file_size(shard(scene, 10)) / 3);
  Program& named = scene.start({"eval", scene.run().string(), "--step", "10"});
  EXPECT_EQ(named.wait(kRunLimit), 3) << named.err();
  EXPECT_NE(named.err().find("step_10"), std::string::npos) << named.err();
  Program& other = scene.start({"eval", scene.run().string(), "--step", "5"});
  EXPECT_EQ(other.wait(kRunLimit), 0) << other.err();
  Program& absent = scene.start({"eval", scene.run().string(), "--step", "7"});
  EXPECT_EQ(absent.wait(kRunLimit), 3) << absent.err();
}

// One digit of the checksum that stands after the first commit's kind, wherever that is: what has moved to another page
// leaves a copy behind.
void damage_a_commit(const fs::path& journal) {
  std::ifstream file(journal, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto is_digit = [&](std::size_t at) { return at < bytes.size() && std::isxdigit(bytes[at]) != 0; };
  std::size_t found = bytes.find("commit");
  while (found != std::string::npos && !(is_digit(found + 6) && is_digit(found + 69)))
    found = bytes.find("commit", found + 1);
  ASSERT_NE(found, std::string::npos) << "no commit in " << journal;
  const std::string commit = bytes.substr(found, 6 + 64);
  std::fstream damaged(journal, std::ios::in | std::ios::out | std::ios::binary);
  for (; found != std::string::npos; found = bytes.find(commit, found + 1)) {
    damaged.seekp(static_cast<std::streamoff>(found + 6)).put(commit[6] == '0' ? '1' : '0');
  }
}

void expect_resume_refused(ProcessScene& scene, const std::string& what, const std::string& remedy) {
  const std::size_t steps = scene.records().steps.size();
  Program& program = scene.start({"train", "--resume", scene.run().string()});
  EXPECT_EQ(program.wait(kRunLimit), 3) << program.err();
  const auto at = program.err().find("shoal: error: ");
  ASSERT_NE(at, std::string::npos) << program.err();
  const std::string line = program.err().substr(at, program.err().find('\n', at) - at);
  EXPECT_NE(line.find(what), std::string::npos) << line;
  EXPECT_NE(line.find(remedy), std::string::npos) << line;
  EXPECT_EQ(scene.records().steps.size(), steps);
}

TEST(Damage, AJournalEntryIsNamedWithWhatToDo) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  ASSERT_NO_FATAL_FAILURE(damage_a_commit(scene.run() / "journal.db"));
  expect_resume_refused(scene, (scene.run() / "journal.db").string(), "restore it from a copy");
}

TEST(Damage, AJournalThatIsNoneIsNamedWithWhatToDo) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  std::ofstream(scene.run() / "journal.db", std::ios::binary) << "this is no journal, and never was one";
  expect_resume_refused(scene, (scene.run() / "journal.db").string(), "restore it from a copy");
}

TEST(Damage, AJournalThatIsGoneIsNamedWithWhatToDo) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  for (const char* file : {"journal.db", "journal.db-wal", "journal.db-shm"}) fs::remove(scene.run() / file);
  expect_resume_refused(scene, (scene.run() / "journal.db").string(), "restore it from a copy");
  fs::remove(scene.run() / "journal.db");
  fs::remove(scene.run() / "metrics.jsonl");  // whoever wants to go on without it says so
  EXPECT_EQ(scene.run_to_end({"train", "--resume", scene.run().string()}), 0);
}

// A copy lacks the newest entries: their steps and numbers would be given a second time.
TEST(Damage, AJournalThatEndsBeforeTheNewestCheckpointIsNamedWithWhatToDo) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "6"})), 0);
  fs::copy_file(scene.run() / "journal.db", scene.folder() / "early");
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run().string(), "--steps", "10"}), 0);
  fs::rename(scene.run() / "journal.db", scene.folder() / "late");
  fs::copy_file(scene.folder() / "early", scene.run() / "journal.db");
  expect_resume_refused(scene, (scene.run() / "journal.db").string(), "restore it from a copy");
  fs::rename(scene.folder() / "late", scene.run() / "journal.db");
  EXPECT_EQ(scene.run_to_end({"train", "--resume", scene.run().string()}), 0);
}

// The whole directory was restored from a copy; its checkpoints lie elsewhere and went on. Nothing in it tells of them.
TEST(Damage, ADirectoryThatIsOlderThanItsCheckpointsIsNamedWithWhatToDo) {
  ProcessScene scene;
  const fs::path checkpoints = scene.folder() / "checkpoints";
  SmallRun run = with_checkpoints();
  run.sets.push_back("checkpoint.dir=" + checkpoints.string());
  ASSERT_EQ(scene.run_to_end(train(scene, "run", run, {"--steps", "6"})), 0);
  fs::copy(scene.run(), scene.folder() / "early", fs::copy_options::recursive);
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run().string(), "--steps", "10"}), 0);
  fs::rename(scene.run(), scene.folder() / "late");
  fs::copy(scene.folder() / "early", scene.run(), fs::copy_options::recursive);
  expect_resume_refused(scene, "journal.db ends after 6 steps", "move the newer checkpoints out of");
  EXPECT_EQ(scene.run_to_end({"train", "--resume", scene.run().string(), "--branch", "b", "--from", "6"}), 3)
      << "it would take the checkpoints of the other one";
  EXPECT_TRUE(fs::exists(checkpoints / "step_10"));
  fs::remove_all(scene.run());
  fs::rename(scene.folder() / "late", scene.run());
  EXPECT_EQ(scene.run_to_end({"train", "--resume", scene.run().string()}), 0);
}

// The other journal's entries would be taken for this run's: what was lost, left out and counted is in them.
TEST(Damage, AJournalOfAnotherRunIsNamedWithWhatToDo) {
  ProcessScene scene;
  for (const char* run : {"other", "run"}) {
    ASSERT_EQ(scene.run_to_end(train(scene, run, with_checkpoints(), {"--steps", "10"})), 0);
  }
  const fs::path journal = scene.run() / "journal.db";
  fs::rename(journal, scene.folder() / "own");
  fs::copy_file(scene.run("other") / "journal.db", journal);
  expect_resume_refused(scene, journal.string() + " is the journal of run", "from a copy");
  fs::rename(scene.folder() / "own", journal);
  EXPECT_EQ(scene.run_to_end({"train", "--resume", scene.run().string()}), 0);
}

TEST(Damage, CertificatesOfAnotherRunAreNamedAndNotTheCheckpoints) {
  ProcessScene scene;
  for (const char* run : {"other", "run"}) {
    ASSERT_EQ(scene.run_to_end(train(scene, run, with_checkpoints(), {"--steps", "10"})), 0);
  }
  fs::remove_all(scene.run() / "certs");
  fs::copy(scene.run("other") / "certs", scene.run() / "certs", fs::copy_options::recursive);
  expect_resume_refused(scene, "are of run", "from a copy");
  Program& eval = scene.start({"eval", scene.run().string()});
  EXPECT_EQ(eval.wait(kRunLimit), 3);
  EXPECT_NE(eval.err().find("are of run"), std::string::npos) << eval.err();
}

// The certificates are the run's identity: without them, what it left would look like another run's.
// A copy that was made while the run went on, file by file.
TEST(Damage, AJournalThatLacksItsEndIsNamedAndTheRunGoesOn) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "whole", with_checkpoints(10), {"--single"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(10), {"--steps", "5"})), 0);
  fs::copy_file(scene.run() / "journal.db", scene.run() / "older.db");
  ASSERT_EQ(scene.run_to_end({"train", "--resume", scene.run().string(), "--steps", "7"}), 0);
  fs::rename(scene.run() / "older.db", scene.run() / "journal.db");
  fs::remove_all(shard(scene, 7).parent_path());
  Program& program = scene.start({"train", "--resume", scene.run().string()});
  ASSERT_EQ(program.wait(kRunLimit), 0) << program.err();
  EXPECT_NE(program.err().find("journal.db ends with entry"), std::string::npos) << program.err();
  EXPECT_EQ(scene.records().weights(), scene.records("whole").weights());
}

TEST(Damage, MissingCertificatesAreNamedWithWhatToDo) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  fs::rename(scene.run() / "certs", scene.folder() / "kept");
  expect_resume_refused(scene, (scene.run() / "certs").string(), "from a copy");
  EXPECT_FALSE(fs::exists(scene.run() / "certs")) << "no other identity was made";
  fs::rename(scene.folder() / "kept", scene.run() / "certs");
  EXPECT_EQ(scene.run_to_end({"train", "--resume", scene.run().string()}), 0);
}

// A file system of its own and of a given size, at a folder of the scene.
class SmallDisk {
 public:
  SmallDisk(fs::path at, const std::string& size) : at_(std::move(at)) {
    fs::create_directories(at_);
    is_there_ = ::mount("none", at_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (is_there_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool is_there() const { return is_there_; }
  void fill() const {
    std::ofstream file(at_ / "filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }

 private:
  fs::path at_;
  bool is_there_ = false;
};

TEST(FullDisk, AtTheLastCheckpointEndsTheRunWithThree) {
  ProcessScene scene;
  const SmallDisk disk(scene.run(), "2400k");
  if (!disk.is_there()) GTEST_SKIP() << "a small file system needs root and mount()";
  // Two checkpoints of 0.8 MB fit, a third does not; the journal finds room, so training goes on to its end.
  Program& program = scene.start(train(scene, "run", with_checkpoints()));
  EXPECT_EQ(program.wait(kRunLimit), 3) << program.err();
  EXPECT_NE(program.err().find("space"), std::string::npos) << program.err();
  EXPECT_EQ(scene.records().steps.size(), 20U);
  // The folder that is called a checkpoint is a whole one.
  Program& good = scene.start({"eval", scene.run().string()});
  EXPECT_EQ(good.wait(kRunLimit), 0) << good.err();
}

TEST(FullDisk, AtTheJournalHaltsBeforeACommitThatCannotBeRecorded) {
  ProcessScene scene;
  const SmallDisk disk(scene.run(), "3m");
  if (!disk.is_there()) GTEST_SKIP() << "a small file system needs root and mount()";
  Program& program = scene.start(train(scene, "run", {2, 1, 1'000'000, {}}));
  ASSERT_TRUE(scene.wait_for_steps(3));
  disk.fill();
  EXPECT_EQ(program.wait(kRunLimit), 3) << program.err();
  EXPECT_NE(program.err().find("space"), std::string::npos) << program.err();
}

// Rings and traces of a run would take all of such a disk.
TEST(FullDisk, TracesStopBeforeCheckpointsAndTheJournal) {
  ProcessScene scene;
  const SmallDisk disk(scene.run(), "18m");
  if (!disk.is_there()) GTEST_SKIP() << "a small file system needs root and mount()";
  const SmallRun small{2, 1, 400, {"checkpoint.every=20", "trace.level=all"}};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", small)), 0);
  const RunRecords records = scene.records();
  EXPECT_EQ(records.steps.size(), 400U);
  for (const EventLine& line : records.events) EXPECT_NE(line.event, "checkpoint_failed") << line.text;
  Program& check = scene.start({"trace", "check", scene.run().string()});
  ASSERT_TRUE(check.wait(kRunLimit).has_value());
  EXPECT_NE((check.out() + check.err()).find("lack"), std::string::npos) << check.out() << check.err();
}

// Its checkpoints lie elsewhere: what is committed is saved, though no further step can be.
TEST(FullDisk, AtTheJournalSavesWhatIsCommitted) {
  ProcessScene scene;
  const SmallDisk disk(scene.run(), "3m");
  if (!disk.is_there()) GTEST_SKIP() << "a small file system needs root and mount()";
  const std::string folder = "checkpoint.dir=" + (scene.folder() / "elsewhere").string();
  Program& program = scene.start(train(scene, "run", {2, 1, 1'000'000, {folder}}));
  ASSERT_TRUE(scene.wait_for_steps(3));
  disk.fill();
  EXPECT_EQ(program.wait(kRunLimit), 3) << program.err();
  EXPECT_NE(program.err().find("what is committed is saved"), std::string::npos) << program.err();
  EXPECT_EQ(program.err().find("could not be saved"), std::string::npos) << program.err();
  fs::remove(scene.run() / "filler");
  EXPECT_EQ(scene.run_to_end({"eval", scene.run().string(), "--batches", "1"}), 0);
}

// The authority is whole, so whoever begins the run again has new ones made.
TEST(Damage, CertificatesAndKeysOfTheRunsOwnProcessesAreMadeAnew) {
  ProcessScene scene;
  train_ten_of_twenty(scene);
  const fs::path certs = scene.run() / "certs";
  flip_byte(certs / "storage.crt", 300);
  fs::resize_file(certs / "spawner.key", 40);
  fs::copy_file(certs / "spawner.crt", certs / "operator.crt", fs::copy_options::overwrite_existing);
  Program& program = scene.start({"train", "--resume", scene.run().string()});
  ASSERT_EQ(program.wait(kRunLimit), 0) << program.err();
  for (const char* damaged : {"storage.crt", "spawner.key", "operator.key"}) {
    EXPECT_NE(program.err().find((certs / damaged).string() + " "), std::string::npos) << damaged << program.err();
  }
  EXPECT_EQ(scene.records().weights(), scene.records("whole").weights());
  for (int again = 0; again < 2; ++again) {
    Program& whole = scene.start({"train", "--resume", scene.run().string(), "--steps", "20"});
    ASSERT_EQ(whole.wait(kRunLimit), 0) << whole.err();
    EXPECT_EQ(whole.err().find("A new certificate"), std::string::npos) << "once is enough: " << whole.err();
  }
}

TEST(Damage, OfTheAuthorityItselfEndsTheResumedRun) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  fs::resize_file(scene.run() / "certs" / "ca.key", 40);
  expect_nobody_resumes(scene, (scene.run() / "certs").string() + " is damaged");
}

// A run that goes on does not wait for storage without a word.
TEST(Damage, OfStoragesFilesEndsItsProcessWithTheReason) {
  ProcessScene scene;
  const fs::path certs = scene.run() / "certs";
  ASSERT_EQ(scene.run_to_end(train(scene, "run", with_checkpoints(), {"--steps", "10"})), 0);
  fs::resize_file(certs / "storage.key", 40);
  Program& storage = scene.start({"internal-storage", "--run", scene.run().string()});
  EXPECT_EQ(storage.wait(kRunLimit), 3);
  EXPECT_NE(storage.err().find((certs / "storage.key").string() + " is not a private key"), std::string::npos)
      << storage.err();
}

}  // namespace
}  // namespace shoal::damage_test
