// Keys of a llama: what follows from others, what does not go together, and that a GPT-2 has none of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/config_file.h"
#include "runtime/base/config_keys.h"

namespace shoal::config_llama_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result<Config> with(const std::vector<std::string>& sets) { return load_config({std::nullopt, {}, sets}); }

std::string refusal(const std::vector<std::string>& sets) {
  const auto refused = with(sets);
  EXPECT_FALSE(refused.ok());
  if (refused.ok()) return "";
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  return refused.failure().message;
}

TEST(ConfigOfALlama, ResolvesSizesThatNothingSets) {
  const auto config = with({"model.kind=llama", "model.width=768", "model.heads=12"});
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->model.kv_heads, 12);
  EXPECT_EQ(config->model.head_size, 64);
  EXPECT_EQ(config->model.hidden, 2048);
  const auto own = with({"model.kind=llama", "model.kv_heads=2", "model.head_size=48", "model.hidden=100"});
  ASSERT_TRUE(own.ok()) << own.failure().message;
  EXPECT_EQ(own->model.kv_heads, 2);
  EXPECT_EQ(own->model.head_size, 48);
  EXPECT_EQ(own->model.hidden, 100);
}

TEST(ConfigOfALlama, IsReadAsItWasWritten) {
  const auto config = with({"model.kind=llama", "model.qk_norm=true", "model.rope_scaling=llama3",
                            "model.rope_factor=32", "model.rope_theta=500000"});
  ASSERT_TRUE(config.ok()) << config.failure().message;
  const std::string text = write_config(*config);
  const auto again = parse_config(text, "config.toml");
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(write_config(*again), text);
  EXPECT_EQ(again->model.hidden, config->model.hidden);
  EXPECT_EQ(again->model.rope_scaling, RopeScaling::kLlama3);
}

TEST(ConfigOfALlama, IsRefusedWhereItsKeysDoNotGoTogether) {
  EXPECT_THAT(refusal({"model.kind=llama", "model.kv_heads=3"}),
              AllOf(HasSubstr("model.heads"), HasSubstr("kv_heads")));
  EXPECT_THAT(refusal({"model.kind=llama", "model.width=12", "model.heads=4"}), HasSubstr("even"));
  EXPECT_THAT(refusal({"model.kind=llama", "model.head_size=7"}),
              AllOf(HasSubstr("--set model.head_size=7: model.head_size = 7: "), HasSubstr("even"),
                    Not(HasSubstr("model.width")), Not(HasSubstr("model.heads"))));
  EXPECT_THAT(refusal({"model.kind=llama", "model.width=12", "model.heads=4"}),
              AllOf(HasSubstr("model.width"), HasSubstr("model.heads"), Not(HasSubstr("model.head_size"))));
  EXPECT_THAT(refusal({"model.kind=llama", "model.width=130"}), HasSubstr("multiple of the heads"));
  EXPECT_TRUE(with({"model.kind=llama", "model.width=130", "model.head_size=32"}).ok()) << "heads of their own size";
  EXPECT_THAT(refusal({"model.kind=llama", "model.rope_low_freq_factor=5"}), HasSubstr("rope_high_freq_factor"));
  EXPECT_THAT(refusal({"model.kind=llama", "model.rope_scaling=yarn"}), HasSubstr("rope_scaling"));
  EXPECT_THAT(refusal({"model.kind=mamba"}), HasSubstr("model.kind"));
}

TEST(ConfigOfAGpt2, HasNoKeyOfALlama) {
  std::size_t count = 0;
  for (const ConfigKey& key : config_keys()) {
    if (!is_of_llama(key)) continue;
    ++count;
    const KeyValue standard = key.get(Config{});
    const bool follows = follows_other_keys(key);
    const auto* word = std::get_if<std::string>(&standard);
    const std::string value = follows ? "4" : word != nullptr ? *word : toml_text(standard);
    EXPECT_THAT(refusal({key.path() + "=" + value}), AllOf(HasSubstr(key.path()), HasSubstr("model.kind")));
  }
  EXPECT_EQ(count, 11U);
  const std::string text = write_config(Config{});
  EXPECT_THAT(text, HasSubstr("rope_theta")) << "the resolved file has every key";
  EXPECT_TRUE(parse_config(text, "config.toml").ok()) << "and is read again";
  EXPECT_FALSE(parse_config("[model]\nrope_theta = 7.0\n", "config.toml").ok());
}

}  // namespace
}  // namespace shoal::config_llama_test
