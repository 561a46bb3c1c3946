// Tests how options become what commands take: defaults, and what goes together.
#include "launch/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/commands/run/node_name.h"
#include "launch/interface.h"
#include "launch/subcommands.h"
#include "runtime/transport/identity.h"

namespace shoal::arguments_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Options given(const CommandSpec& command, const std::vector<std::string>& words) {
  auto options = parse_options(command, words);
  EXPECT_TRUE(options.ok()) << (options.ok() ? "" : options.failure().message);
  return *options;
}

std::string node_refusal(const std::vector<std::string>& words) {
  const auto node = node_options(given(command_named("node"), words));
  EXPECT_FALSE(node.ok());
  return node.ok() ? "" : node.failure().message;
}

TEST(Arguments, ANodeHasACpuAndANameOfItsOwn) {
  const auto node = node_options(given(command_named("node"), {"--join", "a:1", "--token", "t"}));
  ASSERT_TRUE(node.ok()) << node.failure().message;
  EXPECT_THAT(node->devices, ElementsAre("cpu"));
  EXPECT_FALSE(node->name.empty());
  EXPECT_EQ(node->grace_s, 30);
}

// How a command about a run is refused; nothing: it is not.
template <class Checked>
std::optional<Failure> refusal_of(Result<Checked> (*check)(const Options&), const char* command,
                                  std::vector<std::string> words, const std::string& directory) {
  words.insert(words.end(), {"--run", directory});
  const auto checked = check(given(command_named(command), words));
  return checked ? std::nullopt : std::optional(checked.failure());
}

std::vector<std::optional<Failure>> refusals_in(const std::string& directory) {
  return {refusal_of(status_options, "status", {}, directory),
          refusal_of(ps_options, "ps", {}, directory),
          refusal_of(kill_options, "kill", {"node1"}, directory),
          refusal_of(drain_options, "drain", {"node1"}, directory),
          refusal_of(evict_options, "evict", {"node1"}, directory),
          refusal_of(checkpoint_options, "checkpoint", {}, directory),
          refusal_of(new_token_options, "token new", {}, directory),
          refusal_of(list_tokens_options, "token ls", {}, directory),
          refusal_of(revoke_token_options, "token revoke", {"1a2b3c4d"}, directory),
          refusal_of(chaos_options, "chaos", {}, directory)};
}

TEST(Arguments, ARunDirectoryThatIsNotThereIsAMistakeOfWhoTypedIt) {
  for (const auto& refusal : refusals_in("/nowhere/run")) {
    ASSERT_TRUE(refusal.has_value());
    EXPECT_EQ(exit_code(refusal->error), 2);
    EXPECT_EQ(refusal->message, "/nowhere/run: there is no such directory; name a run directory");
  }
  for (const auto& refusal : refusals_in(testing::TempDir())) EXPECT_FALSE(refusal.has_value());
}

TEST(Arguments, AFolderOfCertificatesThatIsNotThereIsOneToo) {
  const auto with = [](const std::string& certs) {
    return ps_options(given(command_named("ps"), {"--spawner", "a:1", "--certs", certs}));
  };
  ASSERT_FALSE(with("/nowhere/certs").ok());
  EXPECT_EQ(with("/nowhere/certs").failure().error, Error::kUsage);
  EXPECT_THAT(with("/nowhere/certs").failure().message, HasSubstr("--certs /nowhere/certs: there is no such folder"));
  EXPECT_EQ(with(testing::TempDir())->where.certs, testing::TempDir()) << "the control";
}

TEST(Arguments, ANodeNeedsAnAddressAndOneAdmission) {
  EXPECT_THAT(node_refusal({"--token", "t"}), HasSubstr("--join"));
  EXPECT_THAT(node_refusal({"--join", "a:1"}), HasSubstr("--token T or --certs DIR"));
  EXPECT_THAT(node_refusal({"--join", "a", "--token", "t"}), HasSubstr("'a'"));
}

TEST(Arguments, ANodeListensAnywhereUnlessTold) {
  const std::vector<std::string> usual = {"--join", "a:1", "--token", "t"};
  EXPECT_EQ(node_options(given(command_named("node"), usual))->listen, std::nullopt);
  std::vector<std::string> told = usual;
  told.insert(told.end(), {"--listen", "10.0.0.2:7100"});
  EXPECT_EQ(node_options(given(command_named("node"), told))->listen, (HostPort{"10.0.0.2", 7100}));
  EXPECT_THAT(node_refusal({"--join", "a:1", "--token", "t", "--listen", "7100"}), HasSubstr("'7100'"));
  EXPECT_THAT(
      node_refusal({"--join", "a:1", "--token", "t", "--listen", "h:65535", "--device", "cpu", "--device", "cpu"}),
      HasSubstr("no port 65536"));
}

TEST(Arguments, DevicesAreCheckedBeforeAWorkerStarts) {
  const std::vector<std::string> rest = {"--join", "a:1", "--token", "t", "--device"};
  for (const std::string device :
       {"gpu", "paced", "paced:", "paced:x", "paced:1.2.3", "cuda:", "cuda:x", "cuda:-1", "cudas"}) {
    auto words = rest;
    words.push_back(device);
    EXPECT_THAT(node_refusal(words), HasSubstr(device));
  }
  auto words = rest;
  words.insert(words.end(), {"paced:2.5", "cpu", "cuda:3", "cuda"});
  EXPECT_TRUE(node_options(given(command_named("node"), words)).ok());
}

TEST(Arguments, ANodeBoundsWhatItGives) {
  const std::vector<std::string> rest = {"--join", "a:1", "--token", "t"};
  EXPECT_EQ(node_options(given(command_named("node"), rest))->limits.memory_bytes, std::nullopt);
  auto words = rest;
  words.insert(words.end(), {"--memory", "24G", "--limit-up", "50M", "--limit-down", "1.5G"});
  const auto node = node_options(given(command_named("node"), words));
  ASSERT_TRUE(node.ok()) << node.failure().message;
  EXPECT_EQ(node->limits.memory_bytes, 24'000'000'000U);
  EXPECT_EQ(node->limits.up_bit_s, 50'000'000U);
  EXPECT_EQ(node->limits.down_bit_s, 1'500'000'000U);
  const auto with = [&](const std::string& option, const std::string& value) {
    auto more = rest;
    more.insert(more.end(), {option, value});
    return node_refusal(more);
  };
  EXPECT_THAT(with("--memory", "much"), HasSubstr("--memory much: expected bytes"));
  EXPECT_THAT(with("--memory", "1"), HasSubstr("at least 1M"));
  EXPECT_THAT(with("--memory", "0"), HasSubstr("at least 1M")) << "a node that gives none is of no use";
  for (const std::string rate : {"-5M", "500K", "5MB", "fast", "1e30", "0X", "0.1"}) {
    EXPECT_THAT(with("--limit-up", rate), HasSubstr("--limit-up")) << rate;
  }
  EXPECT_THAT(with("--limit-down", "5 M"), HasSubstr("expected bit/s"));
  words.insert(words.end(), {"--device", "cpu", "--device", "cpu", "--limit-up", "1M"});
  EXPECT_THAT(node_refusal(words), HasSubstr("for each --device"));
}

// Zero means off for every limit.
TEST(Arguments, ALimitOfZeroIsNone) {
  for (const std::string zero : {"0", "0M", "0.0"}) {
    const auto node = node_options(given(command_named("node"), {"--join", "a:1", "--token", "t", "--limit-up", zero,
                                                                 "--limit-down", "1G", "--limit-down", zero}));
    ASSERT_TRUE(node.ok()) << node.failure().message;
    EXPECT_EQ(node->limits.up_bit_s, std::nullopt);
    EXPECT_EQ(node->limits.down_bit_s, std::nullopt) << "the last of several wins";
  }
}

TEST(Arguments, ANodesNameIsCheckedBeforeAWorkerStarts) {
  const std::vector<std::string> rest = {"--join", "a:1", "--token", "t"};
  for (const std::string& name : {std::string(65, 'x'), std::string("a b"), std::string("../a"), std::string(".a")}) {
    auto words = rest;
    words.insert(words.end(), {"--name", name});
    EXPECT_THAT(node_refusal(words), AllOf(HasSubstr("--name"), HasSubstr("1 to 64 letters")));
  }
  auto words = rest;
  words.insert(words.end(), {"--name", std::string(64, 'x')});
  EXPECT_TRUE(node_options(given(command_named("node"), words)).ok());
}

TEST(NodeName, TellsProcessesOfContainersWithOneHostsNameApart) {
  constexpr std::uint64_t kNoContainer = 0xEFFFFFFC;
  EXPECT_EQ(node_name_of("gpu7.example.org", 41, kNoContainer), "gpu7-41");
  EXPECT_EQ(node_name_of("gpu7", 41, std::nullopt), "gpu7-41");
  EXPECT_EQ(node_name_of("gpu7", 1, 4026532300), "gpu7-1-4026532300");
  EXPECT_NE(node_name_of("gpu7", 1, 4026532300), node_name_of("gpu7", 1, 4026532517));
  EXPECT_EQ(node_name_of("_a b", 3, kNoContainer), "node-a-b-3");
  EXPECT_TRUE(is_valid_name(node_name_of(std::string(200, 'x'), 4194304, 4294967295)));
}

// One that has a certificate needs no token, and the file may be gone by then.
TEST(Arguments, AFileOfATokenIsReadOnlyWhenItIsNeeded) {
  const auto worker =
      worker_node_options(given(worker_node_command(), {"--join", "a:1", "--token", "@/nowhere", "--keep", "k"}));
  ASSERT_TRUE(worker.ok());
  EXPECT_EQ(worker->token, "@/nowhere");
}

TEST(Arguments, AWorkerIsOnTheMachineThatItsKeeperNames) {
  const auto of_words = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--join", "a:1", "--certs", "c"});
    return worker_node_options(given(worker_node_command(), words));
  };
  EXPECT_EQ(of_words({"--machine", "18446744073709551615"})->machine, 18'446'744'073'709'551'615U);
  EXPECT_EQ(of_words({})->machine, 0U) << "nobody knows";
  EXPECT_FALSE(of_words({"--machine", "18446744073709551616"}).ok());
}

TEST(Arguments, ASingleRunHasNoNodes) {
  EXPECT_FALSE(train_options(given(command_named("train"), {"--single", "--nodes", "2"})).ok());
  EXPECT_FALSE(train_options(given(command_named("train"), {"--nodes", "1000000"})).ok());
  const auto train = train_options(given(command_named("train"), {"c.toml", "--steps=3", "--resume", "--nodes", "5"}));
  ASSERT_TRUE(train.ok());
  EXPECT_EQ(train->run.config, "c.toml");
  EXPECT_TRUE(train->run.is_resumed);
  EXPECT_EQ(train->run.resume_directory, std::nullopt);
  EXPECT_EQ(train->stop_at_step, 3u);
  EXPECT_EQ(train->nodes, 5u);
}

TEST(Arguments, ABranchHasANameAndMayHaveABeginning) {
  const auto train = train_options(given(command_named("train"), {"--resume", "d", "--branch", "b", "--from", "0"}));
  ASSERT_TRUE(train.ok()) << train.failure().message;
  ASSERT_TRUE(train->run.branch);
  EXPECT_EQ(train->run.branch->name, "b");
  EXPECT_EQ(train->run.branch->from, 0U);
  EXPECT_FALSE(train_options(given(command_named("train"), {"--resume"}))->run.branch);
  EXPECT_EQ(spawner_options(given(command_named("spawner"), {"--resume", "--branch", "b"}))->run.branch->from,
            std::nullopt);
  EXPECT_FALSE(train_options(given(command_named("train"), {"--resume", "--from", "10"})).ok());
  EXPECT_FALSE(train_options(given(command_named("train"), {"--resume", "--branch", "a/b"})).ok());
}

TEST(Arguments, TheSpawnerListensOnLoopbackUnlessTold) {
  const auto usual = spawner_options(given(command_named("spawner"), {}));
  EXPECT_EQ(usual->listen, (HostPort{"127.0.0.1", 0}));
  const auto told =
      spawner_options(given(command_named("spawner"), {"--listen", "[::]:7800", "--wait-timeout", "1.5"}));
  EXPECT_EQ(told->listen.port, 7800);
  EXPECT_EQ(told->wait_timeout_s, 1.5);
  EXPECT_FALSE(spawner_options(given(command_named("spawner"), {"--listen", "7800"})).ok());
}

TEST(Arguments, TheDoctorMayTryToJoin) {
  EXPECT_EQ(doctor_options(given(command_named("doctor"), {}))->join, std::nullopt);
  EXPECT_EQ(doctor_options(given(command_named("doctor"), {"--join", "a:7000"}))->join, (HostPort{"a", 7000}));
  EXPECT_FALSE(doctor_options(given(command_named("doctor"), {"--join", "7000"})).ok());
}

TEST(Arguments, SampleHasDefaultsAndChecksNumbers) {
  const auto sample = sample_options(given(command_named("sample"), {"runs/a"}));
  EXPECT_EQ(sample->tokens, 200u);
  EXPECT_EQ(sample->prompt, "\n");
  EXPECT_FALSE(sample_options(given(command_named("sample"), {"runs/a", "--temperature=-1"})).ok());
  EXPECT_EQ(sample_options(given(command_named("sample"), {"runs/a", "--prompt=-x"}))->prompt, "-x");
  const auto empty = sample_options(given(command_named("sample"), {"runs/a", "--prompt", ""}));
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.failure().error, Error::kUsage);
  EXPECT_THAT(empty.failure().message, HasSubstr("--prompt is empty, and a model goes on from one token at least"));
}

TEST(Arguments, AnEvaluationReadsWhatThisVersionReads) {
  for (const std::string data : {"a.jsonl", "https://host/a.txt"}) {
    const auto eval = eval_options(given(command_named("eval"), {"runs/a", "--data", data}));
    ASSERT_FALSE(eval.ok()) << data;
    EXPECT_EQ(eval.failure().error, Error::kUsage);
    EXPECT_THAT(eval.failure().message, AllOf(HasSubstr("--data " + data), HasSubstr("not in this version")));
  }
  EXPECT_EQ(eval_options(given(command_named("eval"), {"runs/a", "--data", "a.txt"}))->data, "a.txt");
}

// The worker says it: the command before it only checks.
TEST(Arguments, KeysWithoutEffectAreToldWithTheInitialWeights) {
  const auto init = init_options(given(command_named("init"), {"--out", "w", "--set", "sync.H=20"}));
  ASSERT_TRUE(init.ok()) << init.failure().message;
  EXPECT_EQ(init->warning, "sync.H has no effect while sync.mode = \"every_step\"");
  EXPECT_EQ(init_options(given(command_named("init"), {"--out", "w"}))->warning, "");
}

TEST(Arguments, AnImportHasASourceAndADirectoryToMake) {
  const auto import =
      import_options(given(command_named("import"), {"gpt2", "more.toml", "--to", "run", "--set", "a=b"}));
  ASSERT_TRUE(import.ok()) << import.failure().message;
  EXPECT_EQ(import->from, "gpt2");
  EXPECT_EQ(import->run.config, "more.toml");
  EXPECT_EQ(import->run.out, "run");
  EXPECT_EQ(import->run.out_option, "--to");
  EXPECT_THAT(import->run.sets, ElementsAre("a=b"));
  EXPECT_FALSE(import->run.is_resumed);
  const auto nowhere = parse_options(command_named("import"), {"gpt2"});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_THAT(nowhere.failure().message, HasSubstr("--to"));
}

TEST(Arguments, TwoWordsNameASubcommandBeforeOne) {
  const std::vector<Subcommand> all = {{&command_named("data fetch"), {}}, {&command_named("eval"), {}}};
  std::vector<std::string> words = {"data", "fetch", "kjv"};
  EXPECT_EQ(take_subcommand(all, words), &all[0]);
  EXPECT_THAT(words, ElementsAre("kjv"));
  words = {"eval", "fetch"};
  EXPECT_EQ(take_subcommand(all, words), &all[1]);
  words = {"data"};
  EXPECT_EQ(take_subcommand(all, words), nullptr);
}

TEST(Arguments, AFailureBecomesItsExitStatusAndABugOne) {
  const auto refuse = [](const Options&) -> Result<int> { return fail(Error::kRefused, "no"); };
  const auto break_down = [](const Options&) -> Result<int> {
    ENSURE(1 + 1 == 3, "arithmetic holds");
    return 0;
  };
  EXPECT_EQ(run_subcommand({&command_named("status"), refuse}, {}), 4);
  EXPECT_EQ(run_subcommand({&command_named("status"), break_down}, {}), 1);
  EXPECT_EQ(run_subcommand({&command_named("status"), refuse}, {"--wrong"}), 2);
  EXPECT_EQ(run_subcommand({&command_named("status"), refuse}, {"--help"}), 0);
}

TEST(Arguments, AnEvictionSaysWhetherItIsForGood) {
  const std::vector<std::string> where = {"--run", testing::TempDir()};
  const auto once = evict_options(given(command_named("evict"), {"node2", "--run", testing::TempDir()}));
  ASSERT_TRUE(once.ok()) << once.failure().message;
  EXPECT_EQ(once->order.name, "node2");
  EXPECT_FALSE(once->order.revoke);
  const auto ever = evict_options(given(command_named("evict"), {"node2", "--revoke", "--run", testing::TempDir()}));
  ASSERT_TRUE(ever.ok());
  EXPECT_TRUE(ever->order.revoke);
  EXPECT_FALSE(parse_options(command_named("evict"), where).ok()) << "nobody is named";
}

TEST(Arguments, ACheckpointIsWaitedForTenMinutesUnlessToldOtherwise) {
  const auto with = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--run", testing::TempDir()});
    return checkpoint_options(given(command_named("checkpoint"), words));
  };
  ASSERT_TRUE(with({}).ok());
  EXPECT_FALSE(with({})->waits);
  EXPECT_TRUE(with({"--wait"})->waits);
  EXPECT_EQ(with({"--wait"})->timeout_s, 600);
  EXPECT_EQ(with({"--wait", "--wait-timeout", "5"})->timeout_s, 5);
  EXPECT_EQ(with({"--wait-timeout", "5"}).failure().error, Error::kUsage);
}

TEST(Arguments, ATokenIsGoodForADayAndAnyNumberUnlessToldOtherwise) {
  const auto with = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--run", testing::TempDir()});
    return new_token_options(given(command_named("token new"), words));
  };
  EXPECT_EQ(with({})->order.lifetime, std::chrono::hours(24));
  EXPECT_EQ(with({})->order.uses, 0U);
  EXPECT_EQ(with({"--uses", "3", "--hours", "0.5"})->order.lifetime, std::chrono::minutes(30));
  EXPECT_EQ(with({"--uses", "3", "--hours", "0.5"})->order.uses, 3U);
  EXPECT_EQ(with({"--hours", "8760"})->order.lifetime, kTokenLifetimeMax);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--uses", "0"},
                                                {"--uses", "4294967296"},
                                                {"--hours", "0"},
                                                {"--hours", "8761"},
                                                {"--hours", "soon"}}) {
    const auto refused = with(words);
    ASSERT_FALSE(refused.ok()) << words[0] << ' ' << words[1];
    EXPECT_EQ(refused.failure().error, Error::kUsage);
    EXPECT_THAT(refused.failure().message, HasSubstr(words[0]));
  }
}

}  // namespace
}  // namespace shoal::arguments_test
