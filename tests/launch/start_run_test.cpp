// Tests which run a command starts or goes on with.
#include "launch/start_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/base/config_file.h"
#include "runtime/base/file.h"

namespace shoal::start_run_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class StartRun : public testing::Test {
 protected:
  StartRun() {
    here_.folder = testing::TempDir() + "start_run." + std::to_string(::getpid());
    here_.now = std::chrono::sys_days(std::chrono::year(2026) / 2 / 3) + std::chrono::hours(4);
    fs::remove_all(here_.folder);
    fs::create_directories(here_.folder);
  }
  ~StartRun() override { fs::remove_all(here_.folder); }

  // A run directory as an earlier command left it.
  std::string leave_run(const std::string& name, const std::vector<std::string>& sets) {
    const std::string directory = here_.folder + "/" + name;
    fs::create_directories(directory);
    const auto config = load_config({{}, {}, sets});
    EXPECT_TRUE(replace_file(directory + "/config.toml", write_config(*config)).ok());
    return directory;
  }

  std::string refusal(const RunChoice& choice) {
    const auto chosen = choose_run(choice, here_);
    EXPECT_FALSE(chosen.ok());
    if (chosen.ok()) return "";
    EXPECT_EQ(chosen.failure().error, Error::kUsage);
    return chosen.failure().message;
  }

  static RunChoice resumed(std::optional<std::string> directory, std::vector<std::string> sets = {}) {
    return {std::nullopt, std::move(sets), std::nullopt, true, std::move(directory)};
  }

  Surroundings here_;
};

TEST_F(StartRun, ANewRunIsNamedByTimeAndCorpus) {
  const auto chosen = choose_run({}, here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  EXPECT_EQ(chosen->directory, here_.folder + "/runs/20260203T040000Z-austen");
  EXPECT_FALSE(chosen->is_resumed);
  fs::create_directories(chosen->directory);
  EXPECT_EQ(choose_run({}, here_)->directory, here_.folder + "/runs/20260203T040000Z-austen-2");
}

TEST_F(StartRun, PathsOfTheResolvedConfigurationAreAbsolute) {
  const auto chosen =
      choose_run({{}, {"data.corpus=texts/my book.txt", "checkpoint.dir=kept", "run.out=here"}, {}, false, {}}, here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  EXPECT_EQ(chosen->directory, here_.folder + "/here");
  EXPECT_EQ(chosen->config.data.corpus, here_.folder + "/texts/my book.txt");
  EXPECT_EQ(chosen->config.checkpoint.dir, here_.folder + "/kept");
  EXPECT_EQ(chosen->config.run.out, "");
}

// Every byte is a token, and nothing else.
void write_ranks(const std::string& path) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text += kDigits[static_cast<std::size_t>(byte) >> 2U];
    text += kDigits[static_cast<std::size_t>(byte & 3) << 4U];
    text += "== " + std::to_string(byte) + "\n";
  }
  ASSERT_TRUE(replace_file(path, text).ok());
}

TEST_F(StartRun, ATokenizerThatIsAFileSaysTheVocabulary) {
  write_ranks(here_.folder + "/own.tiktoken");
  const auto chosen = choose_run({{}, {"data.tokenizer=own.tiktoken"}, {}, false, {}}, here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  EXPECT_EQ(chosen->config.data.tokenizer, here_.folder + "/own.tiktoken");
  EXPECT_EQ(chosen->config.model.vocabulary, 257);
  EXPECT_EQ(choose_run({{}, {"data.tokenizer=gpt2"}, {}, false, {}}, here_)->config.data.tokenizer, "gpt2");
  EXPECT_THAT(refusal({{}, {"data.tokenizer=absent"}, {}, false, {}}), HasSubstr(here_.folder + "/absent"));
}

TEST_F(StartRun, AResumedRunKeepsItsTokenizer) {
  leave_run("old", {});
  EXPECT_THAT(refusal(resumed("old", {"data.tokenizer=gpt2"})), HasSubstr("data.tokenizer"));
  write_ranks(here_.folder + "/own.tiktoken");
  leave_run("own", {"data.tokenizer=" + here_.folder + "/own.tiktoken", "model.vocabulary=257"});
  EXPECT_TRUE(choose_run(resumed("own"), here_).ok());
  EXPECT_TRUE(choose_run(resumed("own", {"data.tokenizer=own.tiktoken"}), here_).ok()) << "the same file";
  write_ranks(here_.folder + "/moved.tiktoken");
  EXPECT_TRUE(choose_run(resumed("own", {"data.tokenizer=moved.tiktoken"}), here_).ok()) << "at another place";
  EXPECT_THAT(refusal(resumed("own", {"data.tokenizer=bytes"})), HasSubstr("data.tokenizer"));
  leave_run("other", {"data.tokenizer=" + here_.folder + "/own.tiktoken", "model.vocabulary=300"});
  const auto changed = choose_run(resumed("other"), here_);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.failure().error, Error::kInvalidData);
}

TEST_F(StartRun, OutMustBeNewOrEmpty) {
  const std::string directory = leave_run("old", {});
  EXPECT_THAT(refusal({{}, {}, "old", false, {}}), AllOf(HasSubstr(directory), HasSubstr("--resume")));
  fs::create_directories(here_.folder + "/empty");
  EXPECT_TRUE(choose_run({{}, {}, "empty", false, {}}, here_).ok());
}

// A start that is killed in its first moment leaves a part of its configuration, which no --resume goes on with.
TEST_F(StartRun, ADirectoryWithAPartOfAConfigurationIsFree) {
  const std::string directory = here_.folder + "/begun";
  fs::create_directories(directory);
  ASSERT_TRUE(replace_file(directory + "/config.toml.new.17573.0", "[run]").ok());
  EXPECT_TRUE(choose_run({{}, {}, "begun", false, {}}, here_).ok());
  EXPECT_TRUE(choose_run({{}, {}, "begun/", false, {}}, here_).ok());
  ASSERT_TRUE(replace_file(directory + "/config.toml.new.bak", "a person's").ok());
  EXPECT_THAT(refusal({{}, {}, "begun", false, {}}), HasSubstr("is not empty"));
}

TEST_F(StartRun, ALinkThatLeadsNowhereIsNoDirectory) {
  fs::create_symlink("absent", here_.folder + "/link");
  EXPECT_THAT(refusal({{}, {}, "link", false, {}}), HasSubstr("/link is a link to absent, which is not there"));
  fs::create_directories(here_.folder + "/absent");
  EXPECT_TRUE(choose_run({{}, {}, "link", false, {}}, here_).ok()) << "the control";
}

TEST_F(StartRun, ADirectoryThatIsTakenIsNamedAsThePersonNamedIt) {
  const std::string directory = leave_run("old", {});
  RunChoice imported{{}, {}, "old", false, {}};
  imported.out_option = "--to";
  EXPECT_THAT(refusal(imported), AllOf(StartsWith("--to " + directory), Not(HasSubstr("--out"))));
  EXPECT_THAT(refusal({{}, {"run.out=old"}, {}, false, {}}), StartsWith("run.out " + directory));
  ASSERT_TRUE(replace_file(here_.folder + "/file", "").ok());
  imported.out = "file";
  EXPECT_THAT(refusal(imported), StartsWith("--to " + here_.folder + "/file"));
}

// A shell's completion puts a slash behind a folder.
TEST_F(StartRun, ASlashAtTheEndNamesTheSameDirectory) {
  EXPECT_EQ(choose_run({{}, {}, "new/", false, {}}, here_)->directory, here_.folder + "/new");
  const std::string directory = leave_run("old", {});
  EXPECT_EQ(choose_run(resumed("old/"), here_)->directory, directory);
  EXPECT_TRUE(choose_run(resumed("old/", {"run.out=old"}), here_).ok());
  here_.folder = directory;
  EXPECT_EQ(choose_run(resumed("."), here_)->directory, directory);
  here_.folder = fs::path(directory).parent_path().string();
}

// The shell takes it so, too: "..", and what follows, is looked up where the link leads.
TEST_F(StartRun, TheFolderAboveALinkIsThatOfWhatItLeadsTo) {
  const std::string outside = here_.folder;
  const std::string kept = outside + "/kept";
  here_.folder = outside + "/here";
  fs::create_directories(kept + "/sets/v2");
  fs::create_directories(here_.folder + "/sub");
  fs::create_directory_symlink(kept + "/sets/v2", here_.folder + "/sets");
  leave_run("../kept/sets/old", {});
  const auto chosen =
      choose_run({{}, {"data.corpus=sets/../v1.txt", "checkpoint.dir=sets/./../c/"}, "sets/../new", false, {}}, here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  const std::string sets = fs::canonical(kept).string() + "/sets";
  EXPECT_EQ(chosen->config.data.corpus, sets + "/v1.txt");
  EXPECT_EQ(chosen->config.checkpoint.dir, sets + "/c");
  EXPECT_EQ(chosen->directory, sets + "/new");
  EXPECT_EQ(choose_run(resumed("sets/../old"), here_)->directory, sets + "/old");
  EXPECT_EQ(choose_run(resumed("sets/../old/../../../here/sub/../sets/../old"), here_)->directory, sets + "/old");
  for (const char* plain : {"sub/../new", "absent/../new", "./new/", "sub/.././new/."}) {
    EXPECT_EQ(choose_run({{}, {}, plain, false, {}}, here_)->directory, here_.folder + "/new") << "the control";
  }
  EXPECT_EQ(choose_run({{}, {}, "sets/v1", false, {}}, here_)->directory, here_.folder + "/sets/v1");
  here_.folder = outside;
}

// A variable of a script that is not set leaves nothing behind the equals sign.
TEST_F(StartRun, AnEmptyPathIsNotTheWorkingDirectory) {
  leave_run("old", {});
  for (const std::string key : {"data.corpus", "data.tokenizer"}) {
    EXPECT_THAT(refusal({{}, {key + "="}, {}, false, {}}), HasSubstr(key + " is empty"));
    EXPECT_THAT(refusal(resumed("old", {key + "="})), HasSubstr(key + " is empty"));
  }
  here_.environment = {{"SHOAL_DATA_CORPUS", ""}};
  EXPECT_THAT(refusal({}), HasSubstr("data.corpus is empty"));
  here_.environment = {};
  const auto chosen = choose_run({{}, {"checkpoint.dir=", "run.out="}, {}, false, {}}, here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  EXPECT_EQ(chosen->config.checkpoint.dir, "") << "the run directory's own";
  EXPECT_THAT(chosen->directory, StartsWith(here_.folder + "/runs/"));
}

TEST_F(StartRun, NamesThatTheSystemRefusesAreAMatterOfUsage) {
  const std::string endless(300, 'x');
  EXPECT_THAT(refusal(resumed(endless)), HasSubstr("File name too long"));
  EXPECT_TRUE(choose_run({{}, {"data.corpus=" + std::string(250, 'c') + ".txt"}, {}, false, {}}, here_).ok());
  EXPECT_THAT(refusal({{}, {"data.corpus=caf\xe9.txt"}, {}, false, {}}), HasSubstr("cannot hold other bytes"));
  EXPECT_TRUE(choose_run({{}, {"data.corpus=caf\u00e9.txt"}, {}, false, {}}, here_).ok()) << "the control";
}

TEST_F(StartRun, KeysWithoutEffectAreToldInOneSentence) {
  EXPECT_EQ(choose_run({}, here_)->warning, "");
  const std::vector<std::string> sets = {"sync.H=20", "optim.kind=sgd", "sync.mix=0.5", "optim.eps=1e-6"};
  EXPECT_EQ(choose_run({{}, sets, {}, false, {}}, here_)->warning,
            "optim.eps has no effect while optim.kind = \"sgd\"; sync.H, sync.mix have no effect while sync.mode = "
            "\"every_step\"");
  leave_run("old", {"sync.H=20"});
  EXPECT_EQ(choose_run(resumed("old"), here_)->warning, "") << "it was told when the run began";
  leave_run("wide", {"pipeline.stages=1"});
  EXPECT_THAT(choose_run(resumed("wide", {"pipeline.recompute=true"}), here_)->warning,
              StartsWith("pipeline.recompute has no effect"));
}

// Owners sum rounds alone; a ring takes NCCL's place, whatever stood below the order for it.
TEST_F(StartRun, ABackendIsWarnedOfWhereTheSumsOfStepsGoAnotherWay) {
  EXPECT_THAT(choose_run({{}, {"sync.backend=owner"}, {}, false, {}}, here_)->warning,
              HasSubstr("sync.backend has no effect while sync.mode = \"every_step\""));
  EXPECT_EQ(choose_run({{}, {"sync.backend=ring"}, {}, false, {}}, here_)->warning, "");
  const std::vector<std::string> by_nccl = {"sync.backend=nccl", "sync.private_network=127.0.0.0/8"};
  EXPECT_EQ(choose_run({{}, by_nccl, {}, false, {}}, here_)->warning, "");
  leave_run("nccl", by_nccl);
  RunChoice on_branch = resumed("nccl", {"sync.backend=ring"});
  EXPECT_THAT(refusal(on_branch), AllOf(HasSubstr("sync.backend"), HasSubstr("--branch NAME")));
  on_branch.branch = BranchWish{"ring", std::nullopt};
  const auto chosen = choose_run(on_branch, here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  EXPECT_EQ(chosen->warning, "");
}

TEST_F(StartRun, AnExactRunGoesOnOverTheRingWithoutABranch) {
  leave_run("nccl", {"sync.backend=nccl", "sync.private_network=127.0.0.0/8", "sync.reduction=exact"});
  const auto chosen = choose_run(resumed("nccl", {"sync.backend=ring"}), here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  EXPECT_EQ(chosen->config.sync.backend, SyncBackend::kRing);
  EXPECT_FALSE(chosen->branch);
  EXPECT_THAT(refusal(resumed("nccl", {"sync.backend=ring", "sync.reduction=fast"})),
              AllOf(HasSubstr("sync.reduction"), HasSubstr("--branch NAME")))
      << "control";
}

TEST_F(StartRun, WhatOneProcessLeavesOutIsWarnedOf) {
  RunChoice choice{{}, {"pipeline.activations=bf16"}, {}, false, {}};
  EXPECT_EQ(choose_run(choice, here_)->warning, "");
  choice.is_single = true;
  EXPECT_EQ(choose_run(choice, here_)->warning,
            "pipeline.activations has no effect while one process trains alone (--single)");
}

TEST_F(StartRun, StepsThatNoRoundTakesAreWarnedOf) {
  const auto warning = [&](const std::string& steps) {
    return choose_run({{}, {"sync.mode=diloco", "sync.H=20", "run.steps=" + steps}, {}, false, {}}, here_)->warning;
  };
  EXPECT_EQ(warning("40"), "");
  EXPECT_THAT(warning("50"), HasSubstr("the last 10 of run.steps = 50 come after the last round (sync.H = 20)"));
  EXPECT_THAT(warning("10"), HasSubstr("the last 10 of run.steps = 10"));
}

TEST_F(StartRun, AQuorumWithoutGraceIsWarnedOf) {
  const auto sets = [](const std::string& quorum, const std::string& grace_s, const std::string& mode = "diloco") {
    return std::vector<std::string>{"sync.mode=" + mode, "sync.H=10", "sync.quorum=" + quorum,
                                    "sync.grace_s=" + grace_s, "pipeline.replicas=3"};
  };
  const auto warning = [&](const std::vector<std::string>& given) {
    return choose_run({{}, given, {}, false, {}}, here_)->warning;
  };
  EXPECT_EQ(warning(sets("2", "0")),
            "with sync.quorum = 2, sync.grace_s = 0 and pipeline.replicas = 3 every round is closed as soon as 2 "
            "replicas have contributed, and what the others trained for it is lost; set sync.grace_s to wait for them");
  EXPECT_THAT(warning(sets("1", "0")), HasSubstr("as soon as 1 replica has"));
  EXPECT_EQ(warning(sets("2", "0.5")), "");
  EXPECT_EQ(warning(sets("3", "0")), "") << "all there are";
  EXPECT_THAT(warning(sets("0", "0")), Not(HasSubstr("is lost"))) << "all there are";
  EXPECT_THAT(warning(sets("2", "0", "every_step")), AllOf(HasSubstr("no effect"), Not(HasSubstr("is lost"))));
  leave_run("old", sets("2", "0"));
  EXPECT_EQ(choose_run(resumed("old"), here_)->warning, "") << "it was told when the run began";
  EXPECT_THAT(choose_run(resumed("old", {"sync.quorum=1"}), here_)->warning, HasSubstr("sync.quorum = 1"));
  leave_run("patient", sets("2", "5"));
  EXPECT_THAT(choose_run(resumed("patient", {"sync.grace_s=0"}), here_)->warning, HasSubstr("sync.quorum = 2"));
}

TEST_F(StartRun, OtherThreadsOfAnExactRunAreWarnedOf) {
  leave_run("exact", {"sync.reduction=exact", "run.threads=2"});
  EXPECT_EQ(choose_run(resumed("exact"), here_)->warning, "");
  EXPECT_EQ(choose_run(resumed("exact", {"run.threads=2"}), here_)->warning, "");
  EXPECT_THAT(choose_run(resumed("exact", {"run.threads=1"}), here_)->warning,
              AllOf(StartsWith("run.threads = 1 where it was 2"), HasSubstr("other bits")));
  leave_run("fast", {"run.threads=2"});
  EXPECT_EQ(choose_run(resumed("fast", {"run.threads=1"}), here_)->warning, "");
}

TEST_F(StartRun, AResumedRunKeepsTheFormOfItsRounds) {
  leave_run("rounds", {"sync.mode=diloco", "sync.H=10", "sync.wire=int8", "run.steps=20"});
  for (const std::string set : {"sync.wire=fp32", "sync.error_feedback=true", "sync.backend=owner"}) {
    EXPECT_THAT(refusal(resumed("rounds", {set})), HasSubstr(set.substr(0, set.find('=')))) << set;
  }
}

TEST_F(StartRun, AResumedRunKeepsItsOwnConfiguration) {
  const std::string directory = leave_run("old", {"model.layers=6", "run.steps=20"});
  const auto chosen = choose_run(resumed("old", {"pipeline.stages=3", "run.steps=40"}), here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  EXPECT_TRUE(chosen->is_resumed);
  EXPECT_EQ(chosen->directory, directory);
  EXPECT_EQ(chosen->config.model.layers, 6);
  EXPECT_EQ(chosen->config.pipeline.stages, 3);
  EXPECT_EQ(chosen->config.run.steps, 40u);
  EXPECT_EQ(chosen->config.optim.decay_steps, 20u);
}

TEST_F(StartRun, WhatAResumedRunComputesMayNotChange) {
  leave_run("old", {});
  EXPECT_THAT(refusal(resumed("old", {"model.layers=6", "optim.lr=0.5"})),
              AllOf(HasSubstr("model.layers"), HasSubstr("optim.lr")));
  EXPECT_THAT(refusal({"other.toml", {}, {}, true, "old"}), HasSubstr("other.toml"));
  EXPECT_THAT(refusal({{}, {}, "other", true, "old"}), HasSubstr("two directories"));
  EXPECT_THAT(refusal(resumed("nothing")), HasSubstr("no run there"));
  EXPECT_THAT(refusal(resumed("old", {"run.out=elsewhere"})), HasSubstr("run.out"));
  EXPECT_TRUE(choose_run(resumed("old", {"run.out=old"}), here_).ok()) << "where it is";
}

TEST_F(StartRun, ARunWithAListedCutGoesOnWithOtherStages) {
  leave_run("old", {"pipeline.cut=[1, 3]"});
  EXPECT_THAT(refusal(resumed("old", {"pipeline.stages=4"})), HasSubstr("pipeline.cut=auto")) << "says how";
  const auto chosen = choose_run(resumed("old", {"pipeline.stages=4", "pipeline.cut=auto"}), here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  EXPECT_EQ(chosen->config.pipeline.cut, Cut::kAuto);
  EXPECT_FALSE(chosen->branch);
  EXPECT_TRUE(choose_run(resumed("old", {"pipeline.cut=[2, 2]"}), here_).ok()) << "another list";
}

RunChoice branched(RunChoice choice, const std::string& name) {
  choice.branch = BranchWish{name, std::nullopt};
  return choice;
}

TEST_F(StartRun, ATextThatThisVersionDoesNotReadIsRefused) {
  fs::create_directories(here_.folder + "/texts");
  ASSERT_TRUE(replace_file(here_.folder + "/texts/a.txt", "text").ok());
  leave_run("old", {});
  for (const std::string corpus : {"a.jsonl", "https://host/a.txt", "texts"}) {
    const auto is_refused = AllOf(HasSubstr("data.corpus = \"" + corpus + "\""), HasSubstr("not in this version"));
    EXPECT_THAT(refusal({{}, {"data.corpus=" + corpus}, {}, false, {}}), is_refused);
    EXPECT_THAT(refusal(branched(resumed("old", {"data.corpus=" + corpus}), "b")), is_refused);
  }
  EXPECT_TRUE(choose_run({{}, {"data.corpus=texts/a.txt"}, {}, false, {}}, here_).ok()) << "the control";
}

// Lines of JSON were read as plain text when the run began, and are known by their digest.
TEST_F(StartRun, ARunThatHasSuchATextGoesOn) {
  leave_run("old", {"data.corpus=" + here_.folder + "/a.jsonl"});
  EXPECT_TRUE(choose_run(resumed("old"), here_).ok());
  EXPECT_TRUE(choose_run(resumed("old", {"data.corpus=a.jsonl"}), here_).ok()) << "the same file";
  EXPECT_THAT(refusal(branched(resumed("old", {"data.corpus=b.jsonl"}), "b")), HasSubstr("not in this version"));
}

TEST_F(StartRun, ABranchOfAResumedRunMayComputeSomethingElse) {
  leave_run("old", {"run.steps=20", "optim.warmup_steps=5"});
  const auto chosen = choose_run(branched(resumed("old", {"optim.lr=0.5", "run.steps=40"}), "b"), here_);
  ASSERT_TRUE(chosen.ok()) << chosen.failure().message;
  EXPECT_EQ(chosen->config.optim.lr, 0.5);
  EXPECT_EQ(chosen->config.optim.decay_steps, 40U) << "the schedule goes with the steps";
  ASSERT_TRUE(chosen->branch);
  EXPECT_EQ(chosen->branch->wish.name, "b");
  EXPECT_EQ(chosen->branch->was.optim.decay_steps, 20U);
  ASSERT_EQ(chosen->branch->changes.size(), 3U);
  EXPECT_EQ(chosen->branch->changes[0].key, "run.steps");
  EXPECT_FALSE(choose_run(resumed("old"), here_)->branch) << "the control";
}

TEST_F(StartRun, ABranchKeepsWhatItsStateIsMadeOf) {
  leave_run("old", {});
  EXPECT_THAT(refusal(resumed("old", {"optim.lr=0.5"})), HasSubstr("--branch NAME"));
  EXPECT_THAT(refusal(branched(resumed("old", {"model.layers=6"}), "b")),
              AllOf(HasSubstr("model.layers (the saved weights"), Not(HasSubstr("--branch NAME"))));
  EXPECT_THAT(refusal(branched({}, "b")), HasSubstr("--resume DIR"));
}

// A branch whose beginning was cut short rules, also before it is finished.
TEST_F(StartRun, ABranchThatWasCutShortRules) {
  const std::string directory = leave_run("old", {});
  const auto lower = load_config({{}, {}, {"optim.lr=0.5"}});
  ASSERT_TRUE(replace_file(directory + "/config.next-b.toml", write_config(*lower)).ok());
  EXPECT_EQ(choose_run(resumed("old"), here_)->config.optim.lr, 0.001) << "it has no line yet";
  const BranchRecord record{"b", Branch{1}, 0, {}, ""};
  ASSERT_TRUE(replace_file(directory + "/metrics.jsonl", to_json_line(record) + "\n").ok());
  EXPECT_EQ(choose_run(resumed("old"), here_)->config.optim.lr, 0.5);
}

TEST_F(StartRun, WithoutANameTheRunStartedLastIsResumed) {
  EXPECT_THAT(refusal(resumed({})), HasSubstr("no run under"));
  const std::string first = leave_run("runs/b", {});
  const std::string second = leave_run("runs/a", {});
  const auto time = fs::last_write_time(first + "/config.toml");
  fs::last_write_time(second + "/config.toml", time + std::chrono::seconds(5));
  fs::create_directories(here_.folder + "/runs/not-a-run");
  EXPECT_EQ(*newest_run(here_.folder), second);
  EXPECT_EQ(choose_run(resumed({}), here_)->directory, second);
  EXPECT_EQ(choose_run({{}, {}, "runs/b", true, {}}, here_)->directory, first);
}

}  // namespace
}  // namespace shoal::start_run_test
