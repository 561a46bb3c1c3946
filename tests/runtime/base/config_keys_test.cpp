// Tests names of keys: those that the interface has and this version does not carry out, and spaces around them; and
// the bounds that the page of keys says.
#include "runtime/base/config_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/config_file.h"

namespace shoal::config_keys_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal_of(const Result<Config>& config) {
  EXPECT_FALSE(config.ok());
  if (config.ok()) return "";
  EXPECT_EQ(config.failure().error, Error::kUsage);
  return config.failure().message;
}

std::string refusal(std::string_view text) { return refusal_of(parse_config(text, "run.toml")); }

std::string set_refusal(const std::string& assignment) { return refusal_of(load_config({{}, {}, {assignment}})); }

std::string variable_refusal(const std::string& name, const std::string& value) {
  return refusal_of(load_config({{}, {{name, value}}, {}}));
}

TEST(ConfigKeys, AWordThatIsNotInThisVersionIsRefusedAsSuch) {
  for (const char* set : {"optim.kind=muon", "optim.schedule=wsd", "sync.wire=topk"})
    EXPECT_THAT(set_refusal(set), HasSubstr("not in this version, which has "));
}

TEST(ConfigKeys, SuchAWordIsRefusedSoFromEverySource) {
  EXPECT_THAT(variable_refusal("SHOAL_SYNC_WIRE", "topk"),
              AllOf(HasSubstr("SHOAL_SYNC_WIRE"), HasSubstr("not in this version")));
  EXPECT_THAT(refusal("[optim]\n\nkind = \"muon\"\n"),
              AllOf(HasSubstr("run.toml:3"), HasSubstr("not in this version")));
  EXPECT_THAT(refusal("[optim]\nkind = \"moun\"\n"), Not(HasSubstr("not in this version"))) << "the control";
}

TEST(ConfigKeys, AKeyThatIsNotInThisVersionIsRefusedAsSuch) {
  const auto is_refused = AllOf(HasSubstr("data.source: not in this version"), Not(HasSubstr("did you mean")));
  for (const char* text : {"[[data.source]]\nname = \"a\"\npath = \"b\"\n", "[data]\nsource = \"a\"\n",
                           "[data.source]\npath = \"a\"\n", "data.source = [{ name = \"a\" }]\n"}) {
    EXPECT_THAT(refusal(text), AllOf(HasSubstr("run.toml:"), is_refused)) << text;
  }
  for (const char* set : {"data.source=a", "data.source.path=a", " data.source.weight = 2"})
    EXPECT_THAT(set_refusal(set), is_refused) << set;
  for (const char* name : {"SHOAL_DATA_SOURCE", "SHOAL_DATA_SOURCE_PATH"})
    EXPECT_THAT(variable_refusal(name, "a"), AllOf(HasSubstr(name), is_refused));
  EXPECT_THAT(variable_refusal("SHOAL_DATA_SOURCES", "a"), HasSubstr("names no key")) << "the control";
  EXPECT_THAT(set_refusal("data.sources=a"), HasSubstr("unknown key 'data.sources'")) << "the control";
  for (const std::string& later : keys_not_in_this_version()) EXPECT_EQ(find_config_key(later), nullptr) << later;
}

// People write it so in a file.
TEST(ConfigKeys, AKeyOfTheCommandLineMayHaveSpacesAroundIt) {
  const auto config = load_config({{}, {}, {"run.steps = 5", "\toptim.kind= sgd "}});
  ASSERT_TRUE(config.ok()) << config.failure().message;
  EXPECT_EQ(config->run.steps, 5U);
  EXPECT_EQ(config->optim.kind, OptimizerKind::kSgd);
  EXPECT_THAT(set_refusal("run. steps=5"), HasSubstr("unknown key 'run. steps'")) << "none within it";
  EXPECT_EQ(key_of_set(" a.b "), "a.b");
  EXPECT_EQ(key_of_set(" = 1"), "");
}

TEST(ConfigKeys, TheTableSaysTheBoundsOfNumbers) {
  const std::string table = config_table_markdown();
  EXPECT_THAT(table, HasSubstr("| `data.validation_fraction` | number | above 0 to below 1 |"));
  EXPECT_THAT(table, HasSubstr("| `model.layers` | integer | 1 to 1024 |"));
  EXPECT_THAT(table, HasSubstr("| `run.steps` | integer | at least 1 | steps |"));
  EXPECT_THAT(table, HasSubstr("| `model.init_std` | number | above 0 |"));
  EXPECT_THAT(table, HasSubstr("| `pipeline.cut` | `auto`, `even`, or a list | 1 to 1024 |"));
  EXPECT_THAT(table, HasSubstr("| `optim.betas` | two numbers | 0 to below 1 |"));
  EXPECT_THAT(table, HasSubstr("| `run.name` | text |  |")) << "it has none";
  EXPECT_THAT(table, HasSubstr("| `model.qk_norm` | boolean |  |"));
}

}  // namespace
}  // namespace shoal::config_keys_test
