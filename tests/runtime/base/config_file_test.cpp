// Tests the way from sources to a valid Config: precedence, refusals with their place, and the way back to text.
#include "runtime/base/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/config_keys.h"
#include "runtime/base/file.h"

namespace shoal::config_file_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal(std::string_view text) {
  const auto config = parse_config(text, "run.toml");
  EXPECT_FALSE(config.ok()) << text;
  if (config.ok()) return "";
  EXPECT_EQ(config.failure().error, Error::kUsage);
  return config.failure().message;
}

std::string set_refusal(const std::string& assignment) {
  const auto config = load_config({{}, {}, {assignment}});
  EXPECT_FALSE(config.ok()) << assignment;
  return config.ok() ? "" : config.failure().message;
}

TEST(ConfigFile, EmptyTextGivesTheDefaultsWithDecayStepsResolved) {
  const auto config = parse_config("", "run.toml");
  ASSERT_TRUE(config.ok());
  Config expected;
  expected.optim.decay_steps = 600;
  EXPECT_EQ(write_config(*config), write_config(expected));
}

TEST(ConfigFile, EveryTypeOfValueIsRead) {
  const auto config = parse_config(
      "[run]\nsteps = 30\nname = \"a \\\"b\\\"\"\n[optim]\nlr = 1\nbetas = [0.5, 0.75]\nkind = \"sgd\"\n"
      "[pipeline]\nrecompute = true\nschedule = \"afab\"\n[model]\ndropout = 0.25\n",
      "run.toml");
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->run.steps, 30u);
  EXPECT_EQ(config->run.name, "a \"b\"");
  EXPECT_EQ(config->optim.lr, 1.0);
  EXPECT_EQ(config->optim.beta1, 0.5);
  EXPECT_EQ(config->optim.beta2, 0.75);
  EXPECT_EQ(config->optim.kind, OptimizerKind::kSgd);
  EXPECT_TRUE(config->pipeline.recompute);
  EXPECT_EQ(config->pipeline.schedule, Schedule::kAfab);
  EXPECT_EQ(config->model.dropout, 0.25);
  EXPECT_EQ(config->optim.decay_steps, 30u);
}

TEST(ConfigFile, FlagsBeatTheEnvironmentBeatsTheFileBeatsTheDefault) {
  const std::string path = testing::TempDir() + "precedence.toml";
  ASSERT_TRUE(replace_file(path, "[run]\nsteps = 1\nseed = 1\nthreads = 3\n").ok());
  ConfigSources sources;
  sources.path = path;
  sources.environment = {{"SHOAL_RUN_STEPS", "2"}, {"SHOAL_RUN_SEED", "2"}, {"SHOAL_WHEELS", "/wheels"}};
  sources.sets = {"run.steps=3", "run.steps=4"};
  const auto config = load_config(sources);
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->run.steps, 4u);
  EXPECT_EQ(config->run.seed, 2u);
  EXPECT_EQ(config->run.threads, 3);
  EXPECT_EQ(config->model.layers, 4);
}

TEST(ConfigFile, EveryKeyHasAnEnvironmentVariable) {
  const auto config =
      load_config({{}, {{"SHOAL_DATA_VALIDATION_FRACTION", "0.25"}, {"SHOAL_SYNC_MODE", "every_step"}}, {}});
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->data.validation_fraction, 0.25);
  const auto typo = load_config({{}, {{"SHOAL_RUN_STPES", "3"}}, {}});
  ASSERT_FALSE(typo.ok());
  EXPECT_THAT(typo.failure().message, HasSubstr("SHOAL_RUN_STEPS"));
  const auto h = load_config({{}, {{"SHOAL_SYNC_H", "25"}}, {}});
  ASSERT_TRUE(h.ok()) << h.failure().message;
  EXPECT_EQ(h->sync.H, 25U);
}

TEST(ConfigFile, AVariableWhoseSectionIsMisspeltIsRefused) {
  for (const char* name : {"SHOAL_MODLE_LAYERS", "SHOAL_MODEL__LAYERS", "SHOAL__MODEL_LAYERS"}) {
    const auto typo = load_config({{}, {{name, "3"}}, {}});
    ASSERT_FALSE(typo.ok()) << name;
    EXPECT_EQ(typo.failure().error, Error::kUsage);
    EXPECT_THAT(typo.failure().message, AllOf(HasSubstr(name), HasSubstr("'SHOAL_MODEL_LAYERS'")));
  }
  EXPECT_FALSE(load_config({{}, {{"SHOAL_QUITE_ANOTHER", "3"}}, {}}).ok()) << "near to nothing";
}

TEST(ConfigFile, VariablesThatAreNotForItAreLeftAlone) {
  for (const char* name :
       {"SHOAL_DATA", "SHOAL_POISON", "SHOAL_DEVICE_PATIENCE", "SHOAL_REBALANCE_WITHOUT", "SHOAL_BUILD_DIR",
        "SHOAL_LONG_TESTS", "SHOAL_SERVICE_HOST", "SHOAL_PORT", "SHOAL_SERVICE_PORT_CONTROL",
        "SHOAL_PORT_7000_TCP_ADDR", "SHOAL_SPAWNER_PORT", "SHOAL_SPAWNER_PORT_7000_TCP"})
    EXPECT_TRUE(load_config({{}, {{name, "3"}}, {}}).ok()) << name;
  for (const char* name : {"SHOAL_PORT_STEPS", "SHOAL_RUN_PORT"})
    EXPECT_FALSE(load_config({{}, {{name, "3"}}, {}}).ok()) << name << " is no port of a service";
}

TEST(ConfigFile, TextFromTheCommandLineNeedsNoQuotes) {
  const auto config =
      load_config({{}, {}, {"data.corpus=/a b/c.txt", "optim.betas=0.8,0.9", "pipeline.schedule=\"afab\""}});
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->data.corpus, "/a b/c.txt");
  EXPECT_EQ(config->optim.beta2, 0.9);
  EXPECT_EQ(config->pipeline.schedule, Schedule::kAfab);
}

TEST(ConfigFile, AnUnknownKeyIsNamedWithItsLineAndTheNearestName) {
  EXPECT_THAT(refusal("[run]\nseed = 1\n\nstpes = 3\n"),
              AllOf(HasSubstr("run.toml:4"), HasSubstr("'run.stpes'"), HasSubstr("'run.steps'")));
  EXPECT_THAT(refusal("[modle]\nlayers = 3\n"), AllOf(HasSubstr("run.toml:1"), HasSubstr("'model'")));
  EXPECT_THAT(refusal("layers = 3\n"), AllOf(HasSubstr("run.toml:1"), HasSubstr("'model.layers'")));
  EXPECT_THAT(set_refusal("batch.layers=3"), HasSubstr("'model.layers'"));
  EXPECT_THAT(set_refusal("run.steps"), HasSubstr("section.key=value"));
}

TEST(ConfigFile, ANumberIsFinite) {
  EXPECT_THAT(set_refusal("optim.lr=inf"), HasSubstr("a number above 0"));
  EXPECT_THAT(set_refusal("model.init_std=inf"), HasSubstr("a number above 0"));
  EXPECT_THAT(set_refusal("optim.clip_norm=nan"), HasSubstr("a number of at least 0"));
}

TEST(ConfigFile, ABadValueSaysWhatWasExpected) {
  EXPECT_THAT(refusal("[model]\n\nlayers = \"four\"\n"),
              AllOf(HasSubstr("run.toml:3"), HasSubstr("\"four\""), HasSubstr("an integer of at least 1")));
  EXPECT_THAT(refusal("[run]\nsteps = 3.5\n"), HasSubstr("an integer"));
  EXPECT_THAT(refusal("[run]\nsteps = -1\n"), HasSubstr("at least 1"));
  EXPECT_THAT(refusal("[optim]\nlr = nan\n"), HasSubstr("a number above 0"));
  EXPECT_THAT(refusal("[optim]\nbetas = [0.9]\n"), HasSubstr("two numbers"));
  EXPECT_THAT(refusal("[optim]\nbetas = [0.9, 1.0]\n"), HasSubstr("below 1"));
  EXPECT_THAT(refusal("[pipeline]\nrecompute = 1\n"), HasSubstr("true or false"));
  EXPECT_THAT(refusal("[pipeline]\nschedule = \"1f1\"\n"), HasSubstr("did you mean '1f1b'"));
  EXPECT_THAT(refusal("[run]\nname = 1979-05-27\n"), HasSubstr("text in quotes"));
  EXPECT_THAT(refusal("[data]\nvalidation_fraction = 1.0\n"), HasSubstr("below 1"));
  EXPECT_THAT(set_refusal("model.layers=99999999999999999999"), HasSubstr("an integer"));
}

// The resolved file of a run is TOML, whose texts are UTF-8: it could not be read again.
TEST(ConfigFile, TextThatCannotBeWrittenToAFileIsRefused) {
  for (const char* text :
       {"\xff", "a\x80", "caf\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "x\xf0\x9f"}) {
    EXPECT_THAT(set_refusal(std::string("data.corpus=") + text), AllOf(HasSubstr("data.corpus"), HasSubstr("UTF-8")));
  }
  ConfigSources sources;
  sources.sets = {"data.corpus=caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8b \xed\x9f\xbf \xf4\x8f\xbf\xbf",
                  "run.name=\x7f\x01"};
  const auto config = load_config(sources);
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(parse_config(write_config(*config), "run.toml")->data.corpus, config->data.corpus);
}

TEST(ConfigFile, TextThatIsNotTomlIsRefusedWithItsLine) {
  EXPECT_THAT(refusal("[run]\nsteps = = 3\n"), AllOf(HasSubstr("run.toml:2"), HasSubstr("not TOML")));
  const auto missing = load_config({"/nowhere/run.toml", {}, {}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.failure().error, Error::kUsage);
  EXPECT_THAT(missing.failure().message, HasSubstr("/nowhere/run.toml"));
}

TEST(ConfigFile, NcclWantsAPrivateNetworkAndDevicesOfItsOwn) {
  const std::string nccl = "[sync]\nbackend = \"nccl\"\n";
  const std::string network = "private_network = \"10.0.0.0/16\"\n";
  EXPECT_THAT(refusal(nccl), HasSubstr("neither encrypted nor authenticated"));
  EXPECT_THAT(refusal(nccl + "private_network = \"eth0\"\n"), HasSubstr("expected a network like 10.0.0.0/16"));
  EXPECT_THAT(refusal(nccl + network + "mode = \"diloco\"\n"), HasSubstr("NCCL makes the sum of each step"));
  EXPECT_THAT(refusal(nccl + network + "[swarm]\nshare_devices = true\n"), HasSubstr("serves several stages"));
  EXPECT_TRUE(parse_config(nccl + network, "").ok()) << "control";
}

TEST(ConfigFile, ValuesThatDoNotGoTogetherAreNamedWithTheirPlaces) {
  EXPECT_THAT(refusal("[pipeline]\nstages = 5\n"),
              AllOf(HasSubstr("pipeline.stages = 5 (run.toml:2)"), HasSubstr("model.layers = 4 (default)")));
  EXPECT_THAT(refusal("[batch]\nmicrobatch = 7\n"), HasSubstr("batch.sequences = 64 (default)"));
  EXPECT_THAT(refusal("[batch]\nsequences = 8192\nmicrobatch = 1\n"), HasSubstr("at most 4096"));
  EXPECT_THAT(refusal("[batch]\nsequences = 4096\nmicrobatch = 1\n[model]\nlayers = 9\n[pipeline]\nstages = 9\n"),
              HasSubstr("at most 32768"));
  EXPECT_THAT(refusal("[model]\nheads = 3\n"), HasSubstr("model.width = 128"));
  EXPECT_THAT(refusal("[pipeline]\nreplicas_max = 1\n"),
              AllOf(HasSubstr("pipeline.replicas_max = 1 (run.toml:2)"), HasSubstr("pipeline.replicas = 2 (default)")));
  EXPECT_THAT(refusal("[swarm]\nheartbeat_ms = 9000\n"), HasSubstr("swarm.dead_after_ms"));
}

TEST(ConfigFile, RoundsAreReadAndMustGoTogether) {
  const auto config = parse_config(
      "[sync]\nH = 10\nouter_lr = 0.5\nouter_momentum = 0.8\nouter_warmup = 2\nfragments = 2\n"
      "pattern = \"sequential\"\noverlap = 9\nmix = 0.5\ninner_state = \"reset\"\n",
      "");
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->sync.H, 10U);
  EXPECT_EQ(config->sync.outer_lr, 0.5);
  EXPECT_EQ(config->sync.outer_momentum, 0.8);
  EXPECT_EQ(config->sync.outer_warmup, 2U);
  EXPECT_EQ(config->sync.fragments, 2);
  EXPECT_EQ(config->sync.pattern, FragmentPattern::kSequential);
  EXPECT_EQ(config->sync.overlap, 9U);
  EXPECT_EQ(config->sync.mix, 0.5);
  EXPECT_EQ(config->sync.inner_state, InnerState::kReset);
  EXPECT_TRUE(parse_config("[sync]\nouter_update = \"eager\"\neager_variant = \"paper\"\n", "").ok());

  EXPECT_THAT(refusal("[sync]\nH = 0\n"), HasSubstr("at least 1"));
  EXPECT_THAT(refusal("[sync]\nouter_momentum = 1.0\n"), HasSubstr("below 1"));
  EXPECT_THAT(refusal("[sync]\nH = 5\noverlap = 5\n"),
              AllOf(HasSubstr("sync.overlap = 5 (run.toml:3)"), HasSubstr("sync.H = 5 (run.toml:2)")));
  EXPECT_THAT(refusal("[sync]\nouter_update = \"eager\"\noverlap = 1\n"), HasSubstr("sync.outer_update"));
  EXPECT_TRUE(parse_config("[sync]\ninner_state = \"average\"\nwire = \"bf16\"\n", "").ok());
  for (const char* other : {"outer_update = \"eager\"\n", "overlap = 1\n", "wire = \"int8\"\n"}) {
    EXPECT_THAT(refusal(std::string("[sync]\ninner_state = \"average\"\n") + other), HasSubstr("run.toml:3"));
  }
  EXPECT_THAT(refusal("[sync]\nwire = \"e3m0\"\n"),
              AllOf(HasSubstr("sync.wire = \"e3m0\" (run.toml:2)"), HasSubstr("sync.backend = \"ring\" (default)")));
  EXPECT_TRUE(parse_config("[sync]\nwire = \"e3m0\"\nbackend = \"owner\"\n", "").ok());
  EXPECT_THAT(refusal("[pipeline]\nreplicas_max = 2\n[sync]\nquorum = 3\n"), HasSubstr("pipeline.replicas_max = 2"));
  EXPECT_TRUE(parse_config("[pipeline]\nreplicas_max = 2\n[sync]\nquorum = 2\n", "").ok());
  EXPECT_TRUE(parse_config("[sync]\nquorum = 3\n", "").ok()) << "nodes may still come";
  EXPECT_THAT(refusal("[sync]\nfragments = 5\n"), HasSubstr("model.layers = 4 (default)"));
}

TEST(ConfigFile, TheVocabularyIsTheTokenizers) {
  const auto vocabulary = [](std::string_view text) { return parse_config(text, "run.toml")->model.vocabulary; };
  EXPECT_EQ(vocabulary(""), 256);
  EXPECT_EQ(vocabulary("[data]\ntokenizer = \"gpt2\"\n"), 50257);
  EXPECT_EQ(vocabulary("[data]\ntokenizer = \"/own\"\n"), 0) << "whoever reads the file says it";
  EXPECT_EQ(vocabulary("[data]\ntokenizer = \"/own\"\n[model]\nvocabulary = 300\n"), 300);
  EXPECT_EQ(vocabulary("[model]\nvocabulary = 256\n"), 256);
  EXPECT_THAT(refusal("[model]\nvocabulary = 300\n"), AllOf(HasSubstr("model.vocabulary = 300 (run.toml:2)"),
                                                            HasSubstr("data.tokenizer = \"bytes\" (default)")));
  EXPECT_THAT(refusal("[model]\nvocabulary = 0\n"), HasSubstr("at least 1"));
  const std::string padded = write_config(*parse_config("[model]\nextra_tokens = 44\n", ""));
  EXPECT_EQ(vocabulary(padded), 300);
  EXPECT_THAT(refusal("[model]\nextra_tokens = 43\nvocabulary = 300\n"), HasSubstr("a vocabulary of 299"));
  EXPECT_THAT(refusal("[model]\nextra_tokens = 65537\n"), HasSubstr("65536"));
  // A file repeats only what the name of the tokenizer does not say, so that another may be set.
  Config config = *parse_config("", "");
  EXPECT_EQ(write_config(config).find("vocabulary"), std::string::npos);
  config.data.tokenizer = "/own";
  config.model.vocabulary = 300;
  EXPECT_NE(write_config(config).find("vocabulary = 300"), std::string::npos);
}

TEST(ConfigFile, DefaultsOfACommandAreBeatenByEverything) {
  ConfigSources sources;
  sources.defaults = {"model.layers=12", "model.width=768", "run.seed=7"};
  sources.environment = {{"SHOAL_MODEL_WIDTH", "64"}};
  sources.sets = {"run.seed=8"};
  const auto config = load_config(sources);
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->model.layers, 12);
  EXPECT_EQ(config->model.width, 64);
  EXPECT_EQ(config->run.seed, 8u);
}

TEST(ConfigFile, TheLimitsOfASwarmAreReadAndHaveBounds) {
  const auto config =
      parse_config("[pipeline]\nreplicas_max = 3\n[swarm]\nrestart_budget = 5\nrestart_window_s = 12.5\n", "run.toml");
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->pipeline.replicas_max, 3);
  EXPECT_EQ(config->swarm.restart_budget, 5);
  EXPECT_EQ(config->swarm.restart_window_s, 12.5);
  EXPECT_TRUE(parse_config("[pipeline]\nreplicas_max = 0\n", "run.toml").ok()) << "no limit";
  EXPECT_THAT(refusal("[pipeline]\nreplicas_max = -1\n"), HasSubstr("at least 0"));
  EXPECT_TRUE(parse_config("[swarm]\nrestart_budget = 0\n", "run.toml").ok()) << "off";
  EXPECT_THAT(refusal("[swarm]\nrestart_budget = -1\n"), HasSubstr("at least 0"));
  EXPECT_THAT(refusal("[swarm]\nrestart_window_s = 0\n"), HasSubstr("above 0"));
  EXPECT_THAT(refusal("[swarm]\nrestart_budgets = 4\n"), HasSubstr("restart_budget"));
}

TEST(ConfigFile, TheCutIsAWordOrTheLayersOfEachStage) {
  EXPECT_EQ(parse_config("", "run.toml")->pipeline.cut, Cut::kAuto);
  EXPECT_EQ(parse_config("[pipeline]\ncut = \"even\"\n", "run.toml")->pipeline.cut, Cut::kEven);
  const auto listed = parse_config("[model]\nlayers = 6\n[pipeline]\nstages = 3\ncut = [3, 2, 1]\n", "run.toml");
  ASSERT_TRUE(listed.ok()) << listed.failure().message;
  EXPECT_EQ(listed->pipeline.cut, Cut::kListed);
  EXPECT_THAT(listed->pipeline.cut_listed, ElementsAre(3, 2, 1));
  EXPECT_THAT(write_config(*listed), HasSubstr("\ncut = [3, 2, 1]\n"));
  const auto set = load_config({{}, {}, {"pipeline.cut=[1, 3]"}});
  ASSERT_TRUE(set.ok()) << set.failure().message;
  EXPECT_THAT(set->pipeline.cut_listed, ElementsAre(1, 3));
  const auto word = load_config({{}, {}, {"pipeline.cut=[1,3]", "pipeline.cut=auto"}});
  ASSERT_TRUE(word.ok()) << "the last of equals wins";
  EXPECT_THAT(word->pipeline.cut_listed, IsEmpty());
  EXPECT_THAT(resume_conflicts(*set, *word), IsEmpty()) << "a resumed run may be cut otherwise";
}

TEST(ConfigFile, ACutThatDoesNotFitIsRefusedWithItsPlace) {
  EXPECT_THAT(refusal("[pipeline]\n\ncut = [1, 1, 2]\n"),
              AllOf(HasSubstr("pipeline.cut = [1, 1, 2] (run.toml:3)"), HasSubstr("pipeline.stages = 2 (default)"),
                    HasSubstr("expected 2 numbers, got 3"), HasSubstr("pipeline.cut=auto")));
  EXPECT_THAT(refusal("[pipeline]\ncut = [1, 1]\n"),
              AllOf(HasSubstr("run.toml:2"), HasSubstr("model.layers = 4"), HasSubstr("2 layers in all")));
  for (const std::string bad : {"[0, 4]", "[]", "[1.5, 2.5]", "[\"a\"]", "3", "\"evn\"", "true"}) {
    EXPECT_THAT(refusal("[pipeline]\ncut = " + bad + "\n"), AllOf(HasSubstr("run.toml:2"), HasSubstr("expected")));
  }
  EXPECT_THAT(refusal("[pipeline]\ncut = \"evn\"\n"), HasSubstr("did you mean 'even'")) << "as other words";
  EXPECT_THAT(set_refusal("pipeline.cut=[2,x]"), HasSubstr("or a list of integers"));
}

// Any key that this version has, set to another valid value.
KeyValue another_value(const ConfigKey& key, std::mt19937_64& random) {
  const auto number = [&] {
    const double least = std::max(key.range.least, 0.0) + (key.range.least_excluded ? 1e-9 : 0);
    return std::uniform_real_distribution<double>(least, std::min(key.range.most, 1000.0) * 0.999)(random);
  };
  switch (key.type) {
    case KeyType::kBoolean: return random() % 2 == 0;
    case KeyType::kInteger:
      return std::uniform_int_distribution<std::int64_t>(static_cast<std::int64_t>(key.range.least), 1000)(random);
    case KeyType::kCounts:
      if (random() % 2 == 0) return KeyValue(std::int64_t{1 + static_cast<std::int64_t>(random() % 8)});
      return std::vector<std::int64_t>(1 + random() % 4, 1 + static_cast<std::int64_t>(random() % 8));
    case KeyType::kReal: return number();
    case KeyType::kRealPair: return std::vector<double>{number(), number()};
    case KeyType::kChoiceOrList:
      if (random() % 2 == 0) return std::vector<std::int64_t>{1, static_cast<std::int64_t>(1 + random() % 100)};
      [[fallthrough]];
    case KeyType::kChoice: return key.choices[random() % key.choices.size()];
    case KeyType::kText: break;
  }
  std::string text;
  for (int i = 0; i < 8; ++i) text += "a\"\\\n\t\x01 z#"[random() % 9];
  return text;
}

// A GPT-2 keeps the default of every key of a llama.
void make_agree(ModelConfig& model) {
  model.width = 3 * model.heads;
  model.head_size -= model.head_size % 2;
  model.kv_heads = model.heads;
  model.rope_high_freq_factor = model.rope_low_freq_factor + 1;
  if (model.kind == ModelKind::kLlama) return;
  const ModelConfig drawn = std::exchange(model, ModelConfig{});
  model.layers = drawn.layers;
  model.heads = drawn.heads;
  model.width = drawn.width;
  model.context = drawn.context;
  model.dropout = drawn.dropout;
  model.init_std = drawn.init_std;
  model.vocabulary = drawn.vocabulary;
  model.extra_tokens = drawn.extra_tokens;
}

void make_agree(Config& config) {
  make_agree(config.model);
  config.pipeline.stages = std::min(config.pipeline.stages, config.model.layers);
  if (config.pipeline.cut == Cut::kListed) {
    config.pipeline.cut_listed.assign(static_cast<std::size_t>(config.pipeline.stages), 1);
    config.pipeline.cut_listed.back() += config.model.layers - config.pipeline.stages;
  }
  config.batch.sequences = 5 * config.batch.microbatch;
  if (config.swarm.share_devices) config.swarm.rebalance_every_s = 0;
  config.swarm.dead_after_ms = 2 * config.swarm.heartbeat_ms;
  std::vector<int>& listed = config.pipeline.replicas_listed;
  if (!listed.empty()) listed.resize(static_cast<std::size_t>(config.pipeline.stages), listed.front());
  const int replicas = listed.empty() ? config.pipeline.replicas : listed.front();
  config.pipeline.replicas_max = std::max(config.pipeline.replicas_max, replicas);
  config.sync.overlap = config.sync.outer_update == OuterUpdate::kWait ? config.sync.overlap % config.sync.H : 0;
  config.sync.fragments = std::min(config.sync.fragments, config.model.layers);
  config.sync.quorum = std::min(config.sync.quorum, config.pipeline.replicas_max);
  if (config.sync.inner_state == InnerState::kAverage) {
    config.sync.outer_update = OuterUpdate::kWait;
    config.sync.overlap = 0;
    config.sync.wire = WireFormat::kBf16;
  }
  if (config.sync.wire == WireFormat::kE3m0) config.sync.backend = SyncBackend::kOwner;
  if (config.sync.backend != SyncBackend::kNccl) return;
  config.sync.mode = SyncMode::kEveryStep;
  config.sync.private_network = "10.0.0.0/16";
  config.swarm.share_devices = false;
}

TEST(ConfigFile, WhatIsWrittenReadsBackEqual) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 300; ++trial) {
    Config config;
    for (const auto& key : config_keys())
      if (key.set) key.set(config, another_value(key, random));
    make_agree(config);
    const std::string text = write_config(config);
    const auto again = parse_config(text, "run.toml");
    ASSERT_TRUE(again.ok()) << again.failure().message;
    EXPECT_EQ(write_config(*again), text);
  }
  Config plain;
  plain.optim.lr = 0.1 + 0.2;
  EXPECT_EQ(parse_config(write_config(plain), "")->optim.lr, 0.1 + 0.2);
}

TEST(ConfigFile, ReplicasAreOneNumberOrOneForEachStage) {
  const auto listed = parse_config("[pipeline]\nstages = 4\nreplicas = [5, 1, 1, 1]\n", "run.toml");
  ASSERT_TRUE(listed.ok()) << listed.failure().message;
  EXPECT_THAT(listed->pipeline.replicas_listed, ElementsAre(5, 1, 1, 1));
  EXPECT_THAT(write_config(*listed), HasSubstr("replicas = [5, 1, 1, 1]\n"));
  EXPECT_THAT(parse_config(write_config(*listed), "")->pipeline.replicas_listed, ElementsAre(5, 1, 1, 1));
  const auto set = load_config({{}, {}, {"pipeline.stages=3", "pipeline.replicas=[2, 1,1]"}});
  ASSERT_TRUE(set.ok()) << set.failure().message;
  EXPECT_THAT(set->pipeline.replicas_listed, ElementsAre(2, 1, 1));
  const auto number = load_config({{}, {}, {"pipeline.replicas=[2,1]", "pipeline.replicas=3"}});
  ASSERT_TRUE(number.ok()) << number.failure().message;
  EXPECT_THAT(number->pipeline.replicas_listed, IsEmpty());
  EXPECT_EQ(number->pipeline.replicas, 3);
}

TEST(ConfigFile, AWorkerThatServesSeveralStagesIsNotMoved) {
  const std::string shared = "[swarm]\nshare_devices = true\n";
  EXPECT_TRUE(parse_config(shared, "").ok());
  const auto both = parse_config(shared + "rebalance_every_s = 60\n", "");
  ASSERT_FALSE(both.ok());
  EXPECT_NE(both.failure().message.find("is not moved"), std::string::npos) << both.failure().message;
}

TEST(ConfigFile, AListOfReplicasThatDoesNotFitIsRefusedWithItsLineAndWhatWasExpected) {
  const std::string short_list = refusal("[pipeline]\nstages = 4\nreplicas = [5, 1, 1]\n");
  EXPECT_THAT(short_list, AllOf(HasSubstr(":3"), HasSubstr("expected 4, got 3"), HasSubstr("pipeline.stages = 4")));
  for (const char* const wrong : {"[5, 0]", "[]", "0", "[1.5, 2]", "[1, 2000]", "\"two\""}) {
    const std::string why = refusal(compose("[pipeline]\nstages = 2\nreplicas = ", wrong, "\n"));
    EXPECT_THAT(why, AllOf(HasSubstr(":3"), HasSubstr("pipeline.replicas"), HasSubstr("at least 1"),
                           HasSubstr("one for each stage")))
        << wrong;
  }
  EXPECT_THAT(refusal("[pipeline]\nreplicas = [3, 1]\nreplicas_max = 2\n"), HasSubstr("pipeline.replicas_max"));
  EXPECT_TRUE(parse_config("[pipeline]\nreplicas = [3, 1]\nreplicas_max = 3\n", "").ok());
}

TEST(ConfigFile, AResumedRunMayChangeHowItRunsAndNotWhatItComputes) {
  const Config saved = *parse_config("", "");
  Config now = saved;
  now.pipeline.stages = 4;
  now.pipeline.replicas_listed = {3, 1, 1, 1};
  now.pipeline.schedule = Schedule::kAfab;
  now.pipeline.recompute = true;
  now.run.steps = 900;
  now.run.threads = 2;
  now.eval.every = 1;
  now.checkpoint.keep = 0;
  now.trace.level = TraceLevel::kAll;
  now.log.every = 1;
  now.swarm.heartbeat_ms = 100;
  EXPECT_THAT(resume_conflicts(saved, now), IsEmpty());
  now.optim.decay_steps = 900;
  now.model.layers = 6;
  now.pipeline.activations = WireFormat::kBf16;
  now.sync.reduction = Reduction::kExact;
  now.optim.beta2 = 0.99;
  now.sync.requeue_lost = true;
  EXPECT_THAT(resume_conflicts(saved, now), ElementsAre("model.layers", "pipeline.activations", "optim.decay_steps",
                                                        "optim.betas", "sync.reduction", "sync.requeue_lost"));
}

// A run's results stay the same, whatever becomes of the table.
TEST(ConfigFile, ResumingMayChangeTheseKeysAndNoOthers) {
  const std::set<std::string> whole = {"eval", "checkpoint", "trace", "log", "swarm"};
  const std::set<std::string> single = {
      "run.steps",          "run.threads",           "run.out",          "pipeline.stages",     "pipeline.replicas",
      "pipeline.schedule",  "pipeline.credits",      "pipeline.routing", "sync.quorum",         "sync.grace_s",
      "pipeline.recompute", "pipeline.replicas_max", "pipeline.cut",     "sync.private_network"};
  for (const ConfigKey& key : config_keys()) {
    const bool may_change = whole.contains(key.section) || single.contains(key.path());
    EXPECT_EQ(key.resume == ResumeRule::kMayChange, may_change) << key.path();
  }
}

TEST(ConfigFile, TheTableDocumentsEveryKey) {
  const std::string table = config_table_markdown();
  for (const auto& key : config_keys()) {
    EXPECT_THAT(table, HasSubstr("| `" + key.path() + "` |"));
    EXPECT_FALSE(key.meaning.empty()) << key.path();
    EXPECT_EQ(key.meaning.find('|'), std::string::npos) << key.path();
  }
}

// Says whether the two tests below write what they compare with.
bool writes_anew() { return std::getenv("SHOAL_WRITE_PAGES") != nullptr; }
constexpr const char* kHowToMend =
    "write it anew by SHOAL_WRITE_PAGES=1 build/bin/tests_runtime_base --gtest_filter='ConfigFile.*'";

TEST(ConfigFile, ThePageOfKeysEndsWithTheTable) {
  const std::string path = std::string(SHOAL_SOURCE_DIR) + "/launch/KEYS.md";
  const auto page = read_file(path);
  ASSERT_TRUE(page.ok()) << page.failure().message;
  const auto begin = page->find("| key | type |");
  ASSERT_NE(begin, std::string::npos) << path << " has no table of keys";
  if (writes_anew()) {
    ASSERT_TRUE(replace_file(path, page->substr(0, begin) + config_table_markdown()).ok());
  } else {
    EXPECT_EQ(page->substr(begin), config_table_markdown()) << kHowToMend;
  }
}

TEST(ConfigFile, DefaultTomlIsTheTableAndGivesTheDefaults) {
  const std::string path = std::string(SHOAL_SOURCE_DIR) + "/launch/configs/default.toml";
  if (writes_anew()) {
    ASSERT_TRUE(replace_file(path, default_config_toml()).ok());
  }
  const auto text = read_file(path);
  ASSERT_TRUE(text.ok()) << text.failure().message;
  EXPECT_EQ(*text, default_config_toml()) << kHowToMend;
  const auto config = load_config({path, {}, {"run.steps=7"}});
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->optim.decay_steps, 7u);
}

std::vector<IdleKey> idle_keys(const std::vector<std::string>& sets, const std::optional<std::string>& path = {}) {
  const auto loaded = load_config_and_idle_keys({path, {}, sets, {"sync.quorum=1"}});
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.failure().message);
  return loaded.ok() ? loaded->idle : std::vector<IdleKey>();
}

TEST(ConfigFile, KeysThatHaveNoEffectAreFoundWhereAPersonSetThem) {
  const std::string every_step = "sync.mode = \"every_step\"";
  EXPECT_THAT(idle_keys({"run.steps=7"}), IsEmpty()) << "defaults, of the table and the command, are nobody's mistake";
  EXPECT_THAT(idle_keys({"sync.H=50", "sync.wire=int8"}),
              ElementsAre(IdleKey{"sync.H", every_step}, IdleKey{"sync.wire", every_step}));
  EXPECT_THAT(idle_keys({"sync.requeue_lost=true"}), ElementsAre(IdleKey{"sync.requeue_lost", every_step}));
  EXPECT_THAT(idle_keys({"sync.H=50", "sync.wire=int8", "sync.requeue_lost=true", "sync.mode=diloco"}), IsEmpty());
  EXPECT_THAT(idle_keys({"sync.pattern=sequential", "sync.eager_variant=paper", "sync.mode=diloco"}),
              ElementsAre(IdleKey{"sync.eager_variant", "sync.outer_update is not \"eager\""},
                          IdleKey{"sync.pattern", "sync.fragments = 1"}));
  EXPECT_THAT(idle_keys({"optim.betas=[0.5,0.5]", "optim.kind=sgd"}),
              ElementsAre(IdleKey{"optim.betas", "optim.kind = \"sgd\""}));
  EXPECT_THAT(
      idle_keys({"optim.min_lr=0", "optim.schedule=constant", "eval.batches=3", "eval.every=0"}),
      ElementsAre(IdleKey{"optim.min_lr", "optim.schedule = \"constant\""}, IdleKey{"eval.batches", "eval.every = 0"}));
  EXPECT_THAT(idle_keys({"pipeline.activations=int8", "pipeline.stages=1"}),
              ElementsAre(IdleKey{"pipeline.activations", "pipeline.stages = 1"}));
  EXPECT_THAT(idle_keys({"pipeline.activations=int8", "pipeline.stages=2"}), IsEmpty());
  EXPECT_THAT(idle_keys({"sync.allow_mixed_kernels=true"}),
              ElementsAre(IdleKey{"sync.allow_mixed_kernels", "sync.reduction = \"fast\""}));
}

TEST(ConfigFile, KeysOfRoundsThatHaveNoEffectAreFound) {
  EXPECT_THAT(idle_keys({"sync.mode=diloco", "sync.error_feedback=true"}),
              ElementsAre(IdleKey{"sync.error_feedback", "sync.wire = \"fp32\""}));
  EXPECT_THAT(idle_keys({"sync.mode=diloco", "sync.error_feedback=true", "sync.wire=int8"}), IsEmpty());
  EXPECT_THAT(idle_keys({"sync.mode=diloco", "sync.grace_s=3", "sync.quorum=0"}),
              ElementsAre(IdleKey{"sync.grace_s", "sync.quorum = 0"}));
  EXPECT_THAT(idle_keys({"sync.mode=diloco", "sync.grace_s=3"}), IsEmpty()) << "a quorum of 1";
  EXPECT_THAT(idle_keys({"sync.mode=diloco", "sync.inner_state=reset", "optim.kind=sgd"}),
              ElementsAre(IdleKey{"sync.inner_state", "optim.kind = \"sgd\""}));
  EXPECT_THAT(idle_keys({"pipeline.recompute=true", "pipeline.stages=1"}),
              ElementsAre(IdleKey{"pipeline.recompute", "pipeline.stages = 1"}));
}

// Every key that changes the results is told wherever it stands.
TEST(ConfigFile, OneProcessHasNoPipeline) {
  const auto idle = [](const std::vector<std::string>& sets, const std::optional<std::string>& path, bool is_single) {
    const auto loaded = load_config_and_idle_keys({path, {}, sets, {}, is_single});
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.failure().message);
    return loaded.ok() ? loaded->idle : std::vector<IdleKey>();
  };
  const std::string alone = "one process trains alone (--single)";
  const std::vector<std::string> sets = {"pipeline.stages=1", "pipeline.activations=int8", "swarm.heartbeat_ms=100"};
  EXPECT_THAT(idle(sets, {}, true),
              ElementsAre(IdleKey{"pipeline.stages", alone}, IdleKey{"pipeline.activations", alone},
                          IdleKey{"swarm.heartbeat_ms", alone}));
  EXPECT_THAT(idle(sets, {}, false), ElementsAre(IdleKey{"pipeline.activations", "pipeline.stages = 1"}));
  const std::string path = testing::TempDir() + "single.toml";
  const std::string text = "[pipeline]\nstages = 2\nrecompute = true\nactivations = \"int8\"\n";
  ASSERT_TRUE(replace_file(path, text).ok());
  EXPECT_THAT(idle({}, path, true), ElementsAre(IdleKey{"pipeline.activations", alone, true})) << "of the run's file";
  EXPECT_THAT(idle({}, path, false), IsEmpty());
}

TEST(ConfigFile, AFileWithEveryKeySetsOnlyWhatItChanges) {
  const std::string path = testing::TempDir() + "idle.toml";
  const std::string every_step = "sync.mode = \"every_step\"";
  ASSERT_TRUE(replace_file(path, "[sync]\nH = 50\n").ok());
  EXPECT_THAT(idle_keys({}, path), ElementsAre(IdleKey{"sync.H", every_step, true}));
  EXPECT_THAT(idle_keys({"sync.H=50"}, path), ElementsAre(IdleKey{"sync.H", every_step, false}));
  ASSERT_TRUE(replace_file(path, write_config(*load_config({{}, {}, {"optim.schedule=constant"}}))).ok());
  EXPECT_THAT(idle_keys({}, path), IsEmpty()) << "the resolved file of a run repeats it";
  ASSERT_TRUE(replace_file(path, write_config(*load_config({{}, {}, {"sync.H=20"}}))).ok());
  EXPECT_THAT(idle_keys({}, path), ElementsAre(IdleKey{"sync.H", every_step, true}));
  EXPECT_THAT(idle_keys({}, std::string(SHOAL_SOURCE_DIR) + "/launch/configs/default.toml"), IsEmpty());
}

TEST(ConfigFile, TheBenchmarksSizesAreTheIssues) {
  for (const auto& [name, width] : {std::pair{"small", 128}, {"large", 384}}) {
    const auto config = load_config({compose(SHOAL_SOURCE_DIR, "/launch/configs/bench-", name, ".toml"), {}, {}});
    ASSERT_TRUE(config.ok()) << config.failure().message;
    EXPECT_EQ(config->model.width, width);
    EXPECT_EQ(microbatches_per_step(*config), 8);
  }
}

}  // namespace
}  // namespace shoal::config_file_test
