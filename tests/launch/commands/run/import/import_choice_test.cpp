// What a person may choose beside an imported model, and how a disagreement is told: for every key of [model].
#include "launch/commands/run/import/import_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "runtime/base/config_file.h"
#include "runtime/base/config_keys.h"

namespace shoal::import_choice_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DescribedModel described_by(const std::string& json) {
  const auto description = parse_description(json, "config.json");
  EXPECT_TRUE(description.ok()) << description.failure().message;
  return {*description, "DIR/config.json"};
}

DescribedModel gpt2() {
  return described_by(R"({"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 64,
                          "vocab_size": 256})");
}

DescribedModel llama() {
  return described_by(R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32,
                          "intermediate_size": 48, "max_position_embeddings": 64, "vocab_size": 256,
                          "num_key_value_heads": 2,
                          "rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0,
                                              "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                              "original_max_position_embeddings": 32}})");
}

// The configuration of a run that leaves [model] out.
Config config_of(const DescribedModel& model) {
  Config config;
  config.model = model.description.model;
  return config;
}

// Another value of the key, within what it may hold.
KeyValue other_value(const ConfigKey& key, const KeyValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return !*flag;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number * 2;
  if (const auto* real = std::get_if<double>(&value)) return *real == 0 ? 0.5 : *real / 2;
  for (const std::string& choice : key.choices) {
    if (KeyValue(choice) != value) return choice;
  }
  ADD_FAILURE() << key.path() << " has no other value";
  return value;
}

TEST(ImportChoice, AgreesWhereNobodyChoosesAnything) {
  for (const DescribedModel& model : {gpt2(), llama()}) EXPECT_TRUE(check_agrees(config_of(model), model).ok());
}

TEST(ImportChoice, RefusesANumberThatNoKeyMayHoldByItsNameInTheFile) {
  for (DescribedModel model : {gpt2(), llama()}) {
    EXPECT_TRUE(check_ranges(model).ok());
    model.description.model.layers = 1000000000;
    const Status status = check_ranges(model);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.failure().error, Error::kInvalidData);
    EXPECT_THAT(status.failure().message,
                AllOf(HasSubstr("DIR/config.json: " + model.description.names.at("model.layers") + " = 1000000000"),
                      HasSubstr("at most 1024")));
  }
  DescribedModel rotary = llama();
  rotary.description.model.context = 1 << 20;
  EXPECT_TRUE(check_ranges(rotary).ok()) << "it is cut";
  DescribedModel learned = gpt2();
  learned.description.model.context = 1 << 20;
  EXPECT_FALSE(check_ranges(learned).ok());
}

// A key that is added to [model] one day must not end an import with a bug.
TEST(ImportChoice, OfAnotherValueOfEveryKeyIsTakenOrRefusedByName) {
  const std::vector<std::string> of_training = {"model.precision", "model.dropout", "model.init_std",
                                                "model.extra_tokens"};
  for (const DescribedModel& model : {gpt2(), llama()}) {
    const bool is_gpt2 = model.description.model.kind == ModelKind::kGpt2;
    for (const ConfigKey& key : config_keys()) {
      if (key.section != "model") continue;
      Config chosen = config_of(model);
      key.set(chosen, other_value(key, key.get(chosen)));
      const Status status = check_agrees(chosen, model);
      const bool is_free = std::ranges::find(of_training, key.path()) != of_training.end();
      if (is_free || (is_gpt2 && is_of_llama(key))) {
        EXPECT_TRUE(status.ok()) << key.path();
        continue;
      }
      ASSERT_FALSE(status.ok()) << key.path();
      EXPECT_EQ(status.failure().error, Error::kUsage);
      const std::string name = key.name == "vocabulary" ? "data.tokenizer = bytes has" : key.path();
      EXPECT_THAT(status.failure().message,
                  AllOf(HasSubstr(name), HasSubstr("DIR/config.json says " + model.description.names.at(key.path()))));
    }
  }
}

TEST(ImportChoice, LeavesAShorterContextToWhoeverHasRotaryPositions) {
  const auto with_context = [](const DescribedModel& model, int context) {
    Config chosen = config_of(model);
    chosen.model.context = context;
    return check_agrees(chosen, model).ok();
  };
  EXPECT_TRUE(with_context(llama(), 32));
  EXPECT_FALSE(with_context(llama(), 65));
  EXPECT_FALSE(with_context(gpt2(), 32)) << "its positions are weights";
}

// What config.json gives, and what a person gives after it.
TEST(ImportChoice, IsAConfigurationWithWhatAPersonSetsAfterIt) {
  for (const DescribedModel& model : {gpt2(), llama()}) {
    std::vector<std::string> sets = settings_of(model.description.model);
    sets.emplace_back("model.precision=bf16");
    const auto config = load_config({{}, {}, sets});
    ASSERT_TRUE(config.ok()) << config.failure().message;
    EXPECT_EQ(config->model.precision, Precision::kBf16);
    EXPECT_TRUE(check_agrees(*config, model).ok());
  }
}

TEST(ImportChoice, KeepsRowsBehindTheTokensOfATokenizerThatIsNamed) {
  DescribedModel model = gpt2();
  model.description.model.vocabulary = 50304;
  const auto with = [&](const std::string& tokenizer, int vocabulary, int extra) {
    Config chosen = config_of(model);
    chosen.data.tokenizer = tokenizer;
    chosen.model.vocabulary = vocabulary + extra;
    chosen.model.extra_tokens = extra;
    keep_rows(chosen, model);
    return chosen;
  };
  const Config padded = with("gpt2", 50257, 0);
  EXPECT_EQ(padded.model.extra_tokens, 47);
  EXPECT_EQ(padded.model.vocabulary, 50304);
  EXPECT_TRUE(check_agrees(padded, model).ok());
  EXPECT_EQ(with("/own", 50304, 0).model.extra_tokens, 0);
  EXPECT_FALSE(check_agrees(with("bytes", 256, 0), model).ok()) << "nobody named a tokenizer";
  EXPECT_TRUE(check_agrees(with("bytes", 256, 50048), model).ok()) << "somebody says so";
  EXPECT_FALSE(check_agrees(with("/own", 50305, 0), model).ok()) << "a token without a row";
  EXPECT_FALSE(check_agrees(with("gpt2", 50257, 46), model).ok());
  model.description.model.vocabulary = 50257 + 65536;
  EXPECT_TRUE(check_agrees(with("gpt2", 50257, 0), model).ok());
  ++model.description.model.vocabulary;
  EXPECT_FALSE(check_agrees(with("gpt2", 50257, 0), model).ok()) << "another model's tokenizer";
}

TEST(ImportChoice, TakesTheTokenizerBesideItElseOneOfThatSize) {
  DescribedModel model = gpt2();
  const auto tokenizer = [&](const std::string& beside) {
    return load_config({{}, {}, settings_of(model.description.model, beside)})->data.tokenizer;
  };
  for (const auto& [vocabulary, name] : {std::pair{256, "bytes"}, {50257, "gpt2"}, {50304, "bytes"}}) {
    model.description.model.vocabulary = vocabulary;
    EXPECT_EQ(tokenizer({}), name);
    EXPECT_EQ(tokenizer("/model/tokenizer.json"), "/model/tokenizer.json");
  }
}

TEST(ImportChoice, NeedsHeadsThatShareTheWidth) {
  DescribedModel model = gpt2();
  EXPECT_TRUE(check_heads(model).ok());
  model.description.model.heads = 3;
  EXPECT_THAT(check_heads(model).failure().message, HasSubstr("n_embd = 16 cannot be cut into n_head = 3"));
  model = llama();
  EXPECT_TRUE(check_heads(model).ok());
  model.description.model.kv_heads = 3;
  EXPECT_THAT(check_heads(model).failure().message, HasSubstr("cannot be shared by num_key_value_heads = 3"));
}

}  // namespace
}  // namespace shoal::import_choice_test
