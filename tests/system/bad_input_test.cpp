// Mistakes of a person: a clear sentence on stderr and the exit code of launch/COMMANDS.md, soon, and nothing left
// behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <ostream>

#include "runtime/base/file.h"
#include "tests/support/process_scene.h"
#include "tests/support/taken_port.h"

namespace shoal::bad_input_test {
namespace {

constexpr Milliseconds kSoon{20'000};

struct Mistake {
  const char* name;
  int status;
  std::vector<std::string> sets;
  std::vector<std::string> said;  // all of it, in this order or another
};
std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.name; }

void expect_said(const Program& program, const std::vector<std::string>& words) {
  EXPECT_NE(program.err().find("error"), std::string::npos) << program.err();
  for (const auto& word : words)
    EXPECT_NE(program.err().find(word), std::string::npos) << word << " in " << program.err();
}

class BadInput : public testing::TestWithParam<Mistake> {};

TEST_P(BadInput, IsNamedAndEndsTheCommand) {
  ProcessScene scene;
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--single"}}) {
    const std::string out = words.empty() ? "run" : "single";
    Program& program = scene.start(train(scene, out, {2, 2, 5, GetParam().sets}, words));
    EXPECT_EQ(program.wait(kSoon), GetParam().status) << program.err();
    expect_said(program, GetParam().said);
    EXPECT_FALSE(std::filesystem::exists(scene.run(out) / "metrics.jsonl"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, BadInput,
    testing::Values(
        Mistake{"UnknownKey", 2, {"model.layer=4"}, {"model.layer", "model.layers"}},
        Mistake{"UnknownSection", 2, {"modle.layers=4"}, {"modle", "model"}},
        Mistake{"WrongType", 2, {"model.width=wide"}, {"model.width", "wide"}},
        Mistake{"Fraction", 2, {"model.layers=2.5"}, {"model.layers", "2.5"}},
        Mistake{"OutOfRange", 2, {"optim.betas=[0.9, 1.5]"}, {"optim.betas"}},
        Mistake{"UnknownChoice", 2, {"pipeline.schedule=1f2b"}, {"pipeline.schedule", "1f1b", "afab"}},
        Mistake{"MoreStagesThanLayers", 2, {"pipeline.stages=5"}, {"pipeline.stages", "model.layers"}},
        Mistake{"BatchThatDoesNotDivide", 2, {"batch.microbatch=3"}, {"batch.sequences", "batch.microbatch"}},
        Mistake{"HeadsThatDoNotDivide", 2, {"model.heads=5"}, {"model.heads", "model.width"}},
        Mistake{"NcclWithoutAPrivateNetwork", 2, {"sync.backend=nccl"}, {"sync.private_network"}},
        Mistake{"LinesOfJson", 2, {"data.corpus=/nowhere/a.jsonl"}, {"/nowhere/a.jsonl", "not in this version"}},
        Mistake{"ATextOfTheWeb", 2, {"data.corpus=https://x/a.txt"}, {"https://x/a.txt", "not in this version"}},
        Mistake{"SeveralTexts", 2, {"data.source=a"}, {"data.source", "not in this version"}},
        Mistake{"MissingText", 3, {"data.corpus=/nowhere/text.txt"}, {"/nowhere/text.txt"}}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(TooLarge, TheSumOfAStageCannotBeGivenToAJoiner) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", {2, 2, 5, {"model.width=8192", "model.layers=8"}}));
  EXPECT_EQ(program.wait(kSoon), 2) << program.err();
  expect_said(program, {"the sum of a step over stage 0", "MiB", "pipeline.stages"});
  EXPECT_FALSE(std::filesystem::exists(scene.run()));
}

void expect_refused_text(const std::string& text) {
  ProcessScene scene;
  std::ofstream(scene.text(), std::ios::trunc | std::ios::binary) << text;
  Program& program = scene.start(train(scene, "run", {2, 2, 5, {}}));
  EXPECT_EQ(program.wait(kSoon), 3) << program.err();
  expect_said(program, {scene.text().string()});
}

TEST(BadInput, AnEmptyText) { expect_refused_text(""); }
TEST(BadInput, ATextShorterThanAWindow) { expect_refused_text("too short"); }

TEST(BadInput, AFileThatSaysWhichLineIsWrong) {
  ProcessScene scene;
  const auto config = scene.folder() / "run.toml";
  std::ofstream(config) << "[model]\nlayers = 4\nwidht = 32\n";
  Program& program = scene.start({"train", config.string(), "--out", scene.run().string()});
  EXPECT_EQ(program.wait(kSoon), 2);
  expect_said(program, {"run.toml", "3", "widht", "width"});
}

TEST(BadInput, AnUnknownCommandAndAnUnknownOption) {
  ProcessScene scene;
  Program& command = scene.start({"tarin"});
  EXPECT_EQ(command.wait(kSoon), 2);
  expect_said(command, {"tarin", "train"});
  Program& option = scene.start({"train", "--ouT", "x"});
  EXPECT_EQ(option.wait(kSoon), 2);
  expect_said(option, {"--ouT", "--out"});
}

TEST(BadInput, ACommandThatIsNotInThisVersion) {
  ProcessScene scene;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"dashboard"},
                                                {"top", "--help"},
                                                {"help", "runs"},
                                                {"data", "prepare", "a.txt", "--tokenizer", "bytes", "--out", "b"},
                                                {"data", "prepare"},
                                                {"data", "prepare", "--help"}}) {
    Program& later = scene.start(words);
    EXPECT_EQ(later.wait(kSoon), 2) << later.command_line();
    expect_said(later, {"not in this version"});
    EXPECT_EQ(later.out(), "");
  }
  Program& group = scene.start({"data", "--help"});
  EXPECT_EQ(group.wait(kSoon), 0) << "the control";
  Program& other = scene.start({"data", "prepared"});
  EXPECT_EQ(other.wait(kSoon), 2);
  expect_said(other, {"say `data fetch` or `data order`"});
}

// No machine has as many GPUs.
TEST(BadInput, ADeviceThatIsNotThere) {
  ProcessScene scene;
  const std::vector<std::vector<std::string>> commands = {
      {"train", "--device", "cuda:255", "--out", scene.run("a").string()},
      {"train", "--single", "--device", "cuda:255", "--out", scene.run("b").string()},
      {"node", "--join", "127.0.0.1:1", "--token", "x", "--device", "cuda:255"},
      {"eval", scene.run("c").string(), "--device", "cuda:255"},
      {"sample", scene.run("c").string(), "--device", "cuda:255"}};
  for (const auto& words : commands) {
    Program& program = scene.start(words);
    EXPECT_EQ(program.wait(kSoon), 2) << program.err();
    expect_said(program, {"cuda:255", "driver"});
  }
  EXPECT_FALSE(std::filesystem::exists(scene.run("a")));
  EXPECT_FALSE(std::filesystem::exists(scene.run("b")));
}

TEST(BadInput, APortInUse) {
  ProcessScene scene;
  const TakenPort port;
  const std::string address = "127.0.0.1:" + std::to_string(port.number());
  std::vector<std::string> arguments = {"spawner", "--listen", address, "--out", scene.run().string()};
  const auto settings = settings_of(scene, {});
  arguments.insert(arguments.end(), settings.begin(), settings.end());
  Program& program = scene.start(arguments);
  EXPECT_EQ(program.wait(kSoon), 2);
  expect_said(program, {address});
  EXPECT_FALSE(std::filesystem::exists(scene.run())) << "nothing is left behind";
}

TEST(BadInput, ASpawnerWhoseNameNobodyKnows) {
  ProcessScene scene;
  const std::string name(64, 'x');  // longer than a label may be, so that no server is asked for it
  Program& doctor = scene.start({"doctor", "--join", name + ":7000"});
  EXPECT_EQ(doctor.wait(kSoon), 1) << doctor.err();
  EXPECT_NE(doctor.out().find("Cannot find the address of " + name), std::string::npos) << doctor.out();
  EXPECT_EQ(doctor.out().find("open TCP"), std::string::npos) << "no port helps there: " << doctor.out();
}

TEST(BadInput, ANumberThatIsNone) {
  ProcessScene scene;
  for (const std::string number : {"-1", "0", "1.5", "many"}) {
    Program& program = scene.start({"train", "--steps", number, "--out", scene.run().string()});
    EXPECT_EQ(program.wait(kSoon), 2);
    expect_said(program, {"--steps " + number, "whole number of at least 1"});
    EXPECT_FALSE(std::filesystem::exists(scene.run()));
  }
}

// The command that starts refuses it: its workers would each refuse it, again at every start.
TEST(BadInput, AFaultHookThatCannotBeRead) {
  ProcessScene scene;
  scene.set_environment({{"SHOAL_POISON", "throw:7/3"}});
  auto spawner = train(scene, "run", {2, 2, 5, {}});
  spawner[0] = "spawner";
  for (const auto& words :
       {train(scene, "run", {2, 2, 5, {}}), train(scene, "run", {2, 2, 5, {}}, {"--single"}), spawner,
        std::vector<std::string>{"node", "--join", "127.0.0.1:1", "--certs", scene.run().string()}}) {
    Program& program = scene.start(words);
    EXPECT_EQ(program.wait(kSoon), 2) << program.command_line() << program.err();
    expect_said(program, {"SHOAL_POISON", "throw:7/3", "STEP/MB/STAGE"});
    EXPECT_FALSE(std::filesystem::exists(scene.run())) << "nothing is left behind";
  }
}

TEST(BadInput, AFolderOfCertificatesThatIsNotThere) {
  ProcessScene scene;
  const std::string absent = (scene.folder() / "certs").string();
  Program& node = scene.start({"node", "--join", "127.0.0.1:1", "--certs", absent});
  EXPECT_EQ(node.wait(kSoon), 2) << node.err();
  expect_said(node, {"--certs " + absent, "--token"});
  EXPECT_FALSE(std::filesystem::exists(absent));
}

TEST(BadInput, ASecondCommandInARunThatLives) {
  ProcessScene scene;
  Program& first = scene.start(train(scene, "run", {1, 1, 100'000, {}}));
  ASSERT_TRUE(scene.wait_for_steps(3));
  const auto config = read_file((scene.run() / "config.toml").string());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train"}, {"train", "--single"}, {"spawner"}}) {
    auto arguments = words;
    arguments.insert(arguments.end(), {"--resume", scene.run().string(), "--set", "eval.every=7"});
    Program& second = scene.start(arguments);
    EXPECT_EQ(second.wait(kSoon), 2);
    expect_said(second, {scene.run().string(), "another"});
  }
  EXPECT_EQ(*read_file((scene.run() / "config.toml").string()), *config);
  EXPECT_EQ(scene.run_to_end({"status", "--run", scene.run().string()}), 0);
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(kRunLimit), 75);
}

TEST(BadInput, ARunThatIsNotThere) {
  ProcessScene scene;
  Program& resume = scene.start({"train", "--resume", scene.run("nothing").string()});
  EXPECT_EQ(resume.wait(kSoon), 2);
  expect_said(resume, {"nothing"});
  Program& status = scene.start({"status", "--run", scene.run("nothing").string()});
  EXPECT_EQ(status.wait(kSoon), 2);
  expect_said(status, {"nothing"});
}

}  // namespace
}  // namespace shoal::bad_input_test
