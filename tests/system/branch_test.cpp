// A branch of a run has the bits of a run that was started like it, from any checkpoint and in any wiring.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "runtime/base/file.h"
#include "runtime/journal/store.h"
#include "runtime/storage/checkpoint_reader.h"
#include "runtime/trace/metrics/branches/branch_record.h"
#include "tests/support/process_scene.h"

namespace shoal::branch_test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// The rate rises for ten steps whatever comes later: two schedules that differ after it have the first ten in common.
SmallRun warming_run(int steps, Words sets = {}) {
  SmallRun small{2, 2, steps, {"sync.reduction=exact", "optim.warmup_steps=10", "checkpoint.keep=0"}};
  small.sets.insert(small.sets.end(), sets.begin(), sets.end());
  return small;
}

Words resumed(const ProcessScene& scene, const Words& words, const std::string& name = "run") {
  Words arguments = {"train", "--resume", scene.run(name).string()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  return arguments;
}

// Trains in one process with these settings, and returns its weights.
std::string weights_of(ProcessScene& scene, const SmallRun& small, const std::string& name = "whole") {
  EXPECT_EQ(scene.run_to_end(train(scene, name, small, {"--single"})), 0);
  return scene.records(name).weights();
}

// The rate explodes after the warm-up, and ten steps are skipped.
SmallRun diverging_run() {
  return warming_run(40, {"checkpoint.every=10", "optim.min_lr=1e30", "optim.decay_steps=11"});
}

void expect_a_lower_rate_saves(const Words& how) {
  ProcessScene scene;
  Program& diverged = scene.start(train(scene, "run", diverging_run(), how));
  ASSERT_EQ(diverged.wait(kRunLimit), 5) << diverged.err();
  EXPECT_NE(diverged.err().find("go on from the checkpoint after 10 steps with optim.min_lr = 3e-04 instead of 1e+30"),
            std::string::npos)
      << diverged.err();
  EXPECT_NE(diverged.err().find("--branch NAME --from 10 --set optim.min_lr=3e-04"), std::string::npos);
  Words words = {"--branch", "lower", "--from", "10", "--set", "optim.min_lr=1e-4"};
  words.insert(words.end(), how.begin(), how.end());
  ASSERT_EQ(scene.run_to_end(resumed(scene, words)), 0);
  SmallRun lower = diverging_run();
  lower.sets.emplace_back("optim.min_lr=1e-4");
  EXPECT_EQ(scene.records().finals.back().steps, 40U);
  EXPECT_EQ(scene.records().weights(), weights_of(scene, lower));
}

TEST(Branch, OfADivergedRunTrainsOnWithTheBitsOfALowerRate) { expect_a_lower_rate_saves({}); }

TEST(Branch, OfADivergedRunOfOneProcessTrainsOnWithTheBitsOfALowerRate) { expect_a_lower_rate_saves({"--single"}); }

TEST(Branch, OfARunThatIsLengthenedHasTheScheduleOfALongerOne) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", warming_run(20), {"--steps", "10"})), 0);
  const Words longer = {"--branch", "longer", "--set", "run.steps=30"};
  ASSERT_EQ(scene.run_to_end(resumed(scene, longer)), 0);
  const RunRecords records = scene.records();
  EXPECT_EQ(records.weights(), weights_of(scene, warming_run(30)));
  EXPECT_NE(records.weights(), weights_of(scene, warming_run(30, {"optim.decay_steps=20"}), "other"));
  const auto told = branches_told_by((scene.run() / "metrics.jsonl").string());
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].name, "longer");
  EXPECT_EQ(told[0].branch, Branch{1});
  EXPECT_EQ(told[0].step, 10U);
  EXPECT_EQ(told[0].changes, (std::vector<KeyChange>{{"run.steps", "20", "30"}, {"optim.decay_steps", "20", "30"}}));
  const auto rows = named_branches(scene.run() / "journal.db");
  ASSERT_TRUE(rows.ok()) << rows.failure().message;
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front(), (NamedBranch{"longer", Branch{1}, 10, text_of(told[0].changes)}));
  EXPECT_NE(read_file((scene.run() / "config.before-longer.toml").string())->find("steps = 20\n"), std::string::npos);
  EXPECT_NE(read_file((scene.run() / "config.toml").string())->find("steps = 30\n"), std::string::npos);
  EXPECT_NE(records.steps.back().text.find("{\"branch\":1,\"step\":29,"), std::string::npos);
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
  EXPECT_EQ(scene.run_to_end(resumed(scene, longer)), 2) << "the name is taken";
}

// Newer checkpoints are of the line that is abandoned.
TEST(Branch, FromAnOlderCheckpointLeavesTheNewerOnesBehind) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", warming_run(20, {"checkpoint.every=5"}))), 0);
  const Words words = {"--branch", "again", "--from", "5", "--set", "run.steps=30", "--steps", "8"};
  ASSERT_EQ(scene.run_to_end(resumed(scene, words)), 0);
  const fs::path kept = scene.run() / "checkpoints";
  EXPECT_EQ(list_checkpoints(kept), (std::vector<std::uint64_t>{8, 5}));
  EXPECT_EQ(list_checkpoints(kept / "before-again"), (std::vector<std::uint64_t>{20, 15, 10}));
  const auto lines = read_file((scene.run() / "metrics.jsonl").string());
  EXPECT_EQ(lines->find("\"event\":\"rolled_back\""), std::string::npos) << "a person wanted it";
  EXPECT_NE(lines->find("\"event\":\"resumed\""), std::string::npos);
  ASSERT_EQ(scene.run_to_end(resumed(scene, {})), 0) << "what is on a branch goes on on it";
  EXPECT_EQ(scene.records().weights(), weights_of(scene, warming_run(30)));
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
}

// There is no checkpoint of the branch yet, and those of the line before it are not its own.
TEST(Branch, ThatIsKilledBeforeItsFirstCheckpointBeginsAgain) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", warming_run(20, {"checkpoint.every=5"}))), 0);
  Program& killed = scene.start(resumed(
      scene, {"--branch", "again", "--from", "10", "--set", "run.steps=1000000", "--set", "checkpoint.every=0"}));
  ASSERT_TRUE(scene.wait_for_steps(20 + 4));
  Program& asked = scene.start({"status", "--run", scene.run().string()});
  ASSERT_EQ(asked.wait(kRunLimit), 0) << asked.err();
  EXPECT_NE(asked.out().find("branch 1 (again, from step 10)"), std::string::npos) << asked.out();
  killed.signal(SIGKILL);
  (void)killed.wait(kRunLimit);
  ASSERT_TRUE(scene.wait_until_all_gone(kRunLimit));
  ASSERT_EQ(scene.run_to_end(resumed(scene, {"--steps", "25"})), 0);
  SmallRun endless = warming_run(1000000);
  EXPECT_EQ(scene.run_to_end(train(scene, "whole", endless, {"--single", "--steps", "25"})), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("whole").weights());
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
}

// An older checkpoint is not taken in its place unless a person says so.
TEST(Branch, FromADamagedCheckpointIsRefusedBeforeAnythingIsWritten) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", warming_run(20, {"checkpoint.every=5"}))), 0);
  const std::string metrics = (scene.run() / "metrics.jsonl").string();
  const std::string config = (scene.run() / "config.toml").string();
  const auto lines = read_file(metrics), set = read_file(config);
  fs::resize_file(scene.run() / "checkpoints" / "step_20" / "stage_1.safetensors", 1000);
  Words words = {"--branch", "b", "--set", "run.steps=30"};
  for (const Words& from : {Words{}, Words{"--from", "20"}}) {
    Words all = words;
    all.insert(all.end(), from.begin(), from.end());
    Program& refused = scene.start(resumed(scene, all));
    EXPECT_EQ(refused.wait(kRunLimit), 3);
    for (const char* text : {"step_20", "stage_1.safetensors", "--from 15"}) {
      EXPECT_NE(refused.err().find(text), std::string::npos) << refused.err();
    }
    EXPECT_EQ(*read_file(metrics), *lines);
    EXPECT_EQ(*read_file(config), *set);
  }
  words.insert(words.end(), {"--from", "10"});  // the first ten steps of a longer run are the same
  ASSERT_EQ(scene.run_to_end(resumed(scene, words)), 0);
  EXPECT_EQ(scene.records().weights(), weights_of(scene, warming_run(30)));
}

// The command was killed after the line: whatever goes on with the run finishes the branch, and has the bits of one
// that was made at once.
TEST(Branch, ThatStandsHalfMadeIsFinishedByWhatComesNext) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "run", warming_run(20, {"checkpoint.every=5"}))), 0);
  fs::copy(scene.run(), scene.run("whole"), fs::copy_options::recursive);
  const Words branch = {"--branch", "b", "--from", "5", "--set", "optim.weight_decay=0.5"};
  Words at_once = branch;
  at_once.insert(at_once.end(), {"--steps", "8", "--single"});
  ASSERT_EQ(scene.run_to_end(resumed(scene, at_once, "whole")), 0);
  const fs::path next = scene.run() / "config.next-b.toml";
  fs::copy_file(scene.run("whole") / "config.toml", next);
  const auto told = branches_told_by((scene.run("whole") / "metrics.jsonl").string());
  ASSERT_EQ(told.size(), 1U);
  const BranchRecord record{"b", Branch{1}, 5, {{"optim.weight_decay", "0.1", "0.5"}}, told.front().corpus_sha256};
  std::ofstream(scene.run() / "metrics.jsonl", std::ios::app) << to_json_line(record) << '\n';
  fs::copy(scene.run(), scene.run("again"), fs::copy_options::recursive);
  Program& other = scene.start(resumed(scene, {"--branch", "c", "--set", "optim.lr=1e-4"}));
  EXPECT_EQ(other.wait(kRunLimit), 2);
  EXPECT_NE(other.err().find("branch b stands half-made"), std::string::npos) << other.err();
  ASSERT_TRUE(fs::exists(next));
  ASSERT_EQ(scene.run_to_end(resumed(scene, {"--steps", "8"})), 0);
  Words again = branch;
  again.insert(again.end(), {"--steps", "8"});
  ASSERT_EQ(scene.run_to_end(resumed(scene, again, "again")), 0);
  for (const char* name : {"run", "again"}) {
    EXPECT_EQ(scene.records(name).weights(), scene.records("whole").weights()) << name;
    EXPECT_EQ(branches_told_by((scene.run(name) / "metrics.jsonl").string()).size(), 1U);
    EXPECT_FALSE(fs::exists(scene.run(name) / "config.next-b.toml"));
  }
}

// They have newer states of the line that is abandoned, and optimisers with its settings.
TEST(Branch, IsTakenUpByNodesThatLiveThroughIt) {
  ProcessScene scene;
  SmallRun endless = warming_run(kEndless, {"checkpoint.every=5"});
  endless.replicas = 1;
  Words words = train(scene, "run", endless);
  words.front() = "spawner";
  Program& boss = scene.start(words);
  const Words join = wait_for_join_words(boss);
  ASSERT_GE(join.size(), 5U);
  std::vector<Program*> nodes;
  for (const std::string name : {"one", "other"}) {
    Words node = join;
    node.insert(node.end(), {"--name", name});
    nodes.push_back(&scene.start(node));
  }
  ASSERT_TRUE(scene.wait_for_steps(14));
  boss.signal(SIGKILL);
  ASSERT_EQ(boss.wait(kRunLimit), 128 + SIGKILL);
  const auto are_gone = [&scene] { return named_like(scene.processes(), "internal-").empty(); };
  ASSERT_TRUE(wait_until(are_gone, kRunLimit));
  fs::copy(scene.run(), scene.run("copy"), fs::copy_options::recursive);
  const Words branch = {"--branch", "b", "--from", "10", "--set", "optim.weight_decay=0.5", "--set", "run.steps=30"};
  Words again = {"spawner", "--resume", scene.run().string()};
  again.insert(again.end(), branch.begin(), branch.end());
  ASSERT_EQ(scene.run_to_end(again), 0);
  for (Program* node : nodes) EXPECT_EQ(node->wait(kRunLimit), 0) << node->err();
  Words single = branch;
  single.emplace_back("--single");
  ASSERT_EQ(scene.run_to_end(resumed(scene, single, "copy")), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("copy").weights());
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
}

// The state is of the text before; a run that goes on on the branch, and a copy of it in one process, read the new one.
TEST(Branch, MayReadAnotherText) {
  ProcessScene scene;
  const auto text = read_file(scene.text().string());
  ASSERT_TRUE(text.ok());
  const std::string other = (scene.folder() / "other.txt").string();
  std::ofstream(other, std::ios::binary) << std::string(text->rbegin(), text->rend());
  ASSERT_EQ(scene.run_to_end(train(scene, "run", warming_run(20), {"--steps", "10"})), 0);
  fs::copy(scene.run(), scene.run("copy"), fs::copy_options::recursive);
  const Words words = {"--branch", "other", "--set", "data.corpus=" + other};
  ASSERT_EQ(scene.run_to_end(resumed(scene, words)), 0);
  Words single = words;
  single.emplace_back("--single");
  ASSERT_EQ(scene.run_to_end(resumed(scene, single, "copy")), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("copy").weights());
  EXPECT_NE(scene.records().weights(), weights_of(scene, warming_run(20)));
  ASSERT_EQ(scene.run_to_end(resumed(scene, {"--branch", "anew", "--from", "0"})), 0);
  ASSERT_EQ(scene.run_to_end(train(scene, "fresh", warming_run(20, {"data.corpus=" + other}), {"--single"})), 0);
  EXPECT_EQ(scene.records().weights(), scene.records("fresh").weights());
}

TEST(Branch, OfRoundsBeginsWhereOneEnds) {
  ProcessScene scene;
  const SmallRun rounds{2, 2, 20, {"sync.mode=diloco", "sync.H=5", "checkpoint.every=0"}};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", rounds, {"--steps", "12"})), 0);
  Program& refused = scene.start(resumed(scene, {"--branch", "b", "--set", "sync.outer_lr=0.5"}));
  EXPECT_EQ(refused.wait(kRunLimit), 2);
  EXPECT_NE(refused.err().find("ends are after 10 and 15 steps"), std::string::npos) << refused.err();
  ASSERT_EQ(scene.run_to_end(resumed(scene, {"--steps", "15"})), 0);
  ASSERT_EQ(scene.run_to_end(resumed(
                scene, {"--branch", "b", "--set", "sync.outer_lr=0.5", "--set", "sync.H=3", "--set", "run.steps=21"})),
            0);
  EXPECT_EQ(scene.records().finals.back().steps, 21U);
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
}

// The state after 12 steps was made with rounds of five, whatever rounds a branch from a later state has. Four
// checkpoints may be on their way at a time: the fourth is never left out.
TEST(Branch, FromBehindAChangeOfRoundsIsHeldToTheRoundsOfItsState) {
  ProcessScene scene;
  const SmallRun rounds{2, 2, 30, {"sync.mode=diloco", "sync.H=5", "checkpoint.every=3", "checkpoint.keep=0"}};
  ASSERT_EQ(scene.run_to_end(train(scene, "run", rounds, {"--steps", "15"})), 0);
  const Words shorter = {"--branch", "shorter", "--set", "sync.H=3", "--steps", "18"};
  ASSERT_EQ(scene.run_to_end(resumed(scene, shorter)), 0);
  EXPECT_NE(scene.records().last_line.find("\"lost_tokens\":0,"), std::string::npos) << scene.records().last_line;
  Program& refused = scene.start(resumed(scene, {"--branch", "b", "--from", "12", "--set", "optim.lr=1e-4"}));
  EXPECT_EQ(refused.wait(kRunLimit), 2);
  EXPECT_NE(refused.err().find("sync.H = 3 (was 5)"), std::string::npos) << refused.err();
  EXPECT_NE(refused.err().find("ends are after 10 and 15 steps"), std::string::npos) << refused.err();
  const Words kept = {"--branch", "b", "--from", "12", "--set", "optim.lr=1e-4", "--set", "sync.H=5", "--steps", "20"};
  ASSERT_EQ(scene.run_to_end(resumed(scene, kept)), 0);
  EXPECT_EQ(scene.records().finals.back().steps, 20U);
  EXPECT_EQ(scene.run_to_end({"trace", "check", scene.run().string()}), 0);
}

// The run's directory was written by the version before branches (fixtures/README.md).
TEST(Branch, ARunOfTheVersionBeforeGoesOnWithTheSameBits) {
  ProcessScene scene;
  fs::copy(fs::path(SHOAL_SOURCE_DIR) / "tests/system/fixtures/run_before_branches", scene.run(),
           fs::copy_options::recursive);
  const std::string config_path = (scene.run() / "config.toml").string();
  std::string config = *read_file(config_path);
  config.replace(config.find("TEXT"), 4, (scene.run() / "text.txt").string());
  ASSERT_TRUE(replace_file(config_path, config).ok());
  const std::string whole_config = (scene.folder() / "whole.toml").string();
  ASSERT_TRUE(replace_file(whole_config, config).ok());
  const auto whole = [&](const std::string& name, const Words& words) {
    Words arguments = {"train", whole_config, "--single", "--out", scene.run(name).string()};
    arguments.insert(arguments.end(), words.begin(), words.end());
    EXPECT_EQ(scene.run_to_end(arguments), 0);
    return scene.records(name).weights();
  };
  const bool has_its_kernels = scene.records().weights() == whole("half", {"--steps", "10"});
  ASSERT_EQ(scene.run_to_end(resumed(scene, {})), 0);
  EXPECT_EQ(scene.records().steps.size(), 20U);
  EXPECT_EQ(scene.records().finals.back().steps, 20U);
  ASSERT_EQ(scene.run_to_end(resumed(scene, {"--branch", "anew", "--from", "0"})), 0);
  EXPECT_EQ(scene.records().weights(), whole("whole", {}));
  if (!has_its_kernels) GTEST_SKIP() << "this machine's kernels give other bits than those that made the fixture";
  EXPECT_EQ(scene.records().finals[1].weights_sha256, scene.records("whole").weights());
}

}  // namespace
}  // namespace shoal::branch_test
