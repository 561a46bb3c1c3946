// Tests command lines: which are understood, and which are refused with which words.
#include "launch/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/interface.h"

namespace shoal::options_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string refusal(const std::string& command, const std::vector<std::string>& words) {
  const auto options = parse_options(command_named(command), words);
  EXPECT_FALSE(options.ok());
  if (options.ok()) return "";
  EXPECT_EQ(options.failure().error, Error::kUsage);
  return options.failure().message;
}

TEST(Options, FlagsValuesAndPositionalsInAnyOrder) {
  const auto options =
      parse_options(command_named("train"), {"--set", "a=1", "c.toml", "--single", "--out=dir", "--set=b=2"});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  EXPECT_THAT(options->values("--set"), ElementsAre("a=1", "b=2"));
  EXPECT_EQ(options->positional(0), "c.toml");
  EXPECT_TRUE(options->has("--single"));
  EXPECT_EQ(options->value("--out"), "dir");
  EXPECT_FALSE(options->has("--resume"));
}

// The parser of devices takes these.
TEST(Options, HelpNamesEveryFormOfADevice) {
  const auto help = [](const std::string& command) {
    for (const OptionSpec& option : command_named(command).options) {
      if (std::string(option.name) == "--device") return std::string(option.meaning);
    }
    return std::string();
  };
  for (const std::string command : {"train", "node"}) {
    EXPECT_THAT(help(command), AllOf(HasSubstr("cpu, cuda:N, cuda (every GPU)"), HasSubstr("paced:MS"))) << command;
  }
  for (const std::string command : {"eval", "sample"}) {
    EXPECT_THAT(help(command), HasSubstr("cpu, cuda:N, or cuda")) << command;
  }
}

TEST(Options, AnOptionalValueMayBeLeftOut) {
  const auto bare = parse_options(command_named("train"), {"--resume", "--single"});
  ASSERT_TRUE(bare.ok());
  EXPECT_TRUE(bare->has("--resume"));
  EXPECT_EQ(bare->value("--resume"), std::nullopt);
  EXPECT_EQ(parse_options(command_named("train"), {"--resume", "runs/a"})->value("--resume"), "runs/a");
}

TEST(Options, RepeatedOptionsTakeSeveralWordsWhereNoPositionalsFollow) {
  const auto options =
      parse_options(command_named("node"), {"--join", "a:1", "b:2", "--device", "cpu", "--device", "paced:5"});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  EXPECT_THAT(options->values("--join"), ElementsAre("a:1", "b:2"));
  EXPECT_THAT(options->values("--device"), ElementsAre("cpu", "paced:5"));
}

TEST(Options, WhatIsWrongIsNamedWithWhatWasMeant) {
  EXPECT_THAT(refusal("train", {"--reusme"}), AllOf(HasSubstr("'--reusme'"), HasSubstr("'--resume'")));
  EXPECT_THAT(refusal("train", {"--out"}), HasSubstr("--out needs a value: DIR"));
  EXPECT_THAT(refusal("train", {"--out", ""}), HasSubstr("--out needs a value: DIR")) << "an unset variable";
  EXPECT_THAT(refusal("train", {"--resume="}), HasSubstr("--resume needs a value: DIR"));
  EXPECT_THAT(refusal("sample", {"runs/a", "--prompt"}), HasSubstr("--prompt needs a value: P"));
  EXPECT_THAT(refusal("train", {"a.toml", "b.toml"}), HasSubstr("'b.toml'"));
  EXPECT_THAT(refusal("train", {"--single=3"}), HasSubstr("takes no value"));
  EXPECT_THAT(refusal("eval", {}), HasSubstr("RUN is missing"));
  EXPECT_THAT(refusal("export", {"runs/a"}), HasSubstr("--to DIR is missing"));
}

TEST(Options, NumbersAreCheckedWithTheirOption) {
  const auto options = parse_options(command_named("train"), {"--steps", "3x", "--nodes=0"});
  ASSERT_TRUE(options.ok());
  EXPECT_THAT(options->count("--steps", 1).failure().message, HasSubstr("--steps 3x"));
  EXPECT_THAT(options->count("--nodes", 1).failure().message, HasSubstr("at least 1"));
  EXPECT_EQ(*parse_options(command_named("train"), {"--steps=30"})->count("--steps", 1), 30u);
  EXPECT_EQ(*parse_options(command_named("train"), {})->count("--steps", 1), std::nullopt);
  EXPECT_EQ(*parse_options(command_named("node"), {"--grace", "0.5"})->number("--grace", 0), 0.5);
  EXPECT_FALSE(parse_options(command_named("node"), {"--grace", "inf"})->number("--grace", 0).ok());
}

// Beyond these a clock or a type overflows, and the option would mean its opposite.
TEST(Options, ATimeAndACountHaveTheirMost) {
  const auto options = parse_options(command_named("node"), {"--grace", "1e11", "--threads", "4294967296"});
  ASSERT_TRUE(options.ok());
  EXPECT_THAT(options->seconds("--grace", 0).failure().message, HasSubstr("of at least 0, at most 315360000"));
  EXPECT_THAT(options->count("--threads", 1, 1024).failure().message, HasSubstr("at least 1, at most 1024"));
  EXPECT_EQ(*options->count("--threads", 1), 4294967296u) << "the control";
  EXPECT_EQ(*parse_options(command_named("node"), {"--grace", "1e8"})->seconds("--grace", 0), 1e8);
}

// An empty word comes from a variable of a script that was not set, and would mean the working directory.
TEST(Options, AnEmptyWordNamesNothing) {
  EXPECT_THAT(refusal("import", {"", "--to", "run"}), HasSubstr("DIR is empty"));
}

TEST(Options, ANegativeNumberIsAValueAndRefusedWithItsOption) {
  const auto options = parse_options(command_named("train"), {"--steps", "-1", "--nodes", "-0.5"});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  EXPECT_THAT(options->count("--steps", 1).failure().message,
              AllOf(HasSubstr("--steps -1"), HasSubstr("whole number of at least 1")));
  EXPECT_THAT(options->count("--nodes", 1).failure().message, HasSubstr("--nodes -0.5"));
  EXPECT_FALSE(parse_options(command_named("node"), {"--grace", "-.5"})->number("--grace", 0).ok());
  EXPECT_THAT(refusal("train", {"--steps", "--single"}), HasSubstr("--steps needs a value: N"))
      << "an option is still no value";
}

TEST(Options, AValueThatBeginsWithADashIsWrittenBehindAnEqualsSign) {
  EXPECT_THAT(refusal("sample", {"runs/a", "--prompt", "-x y"}), HasSubstr("is written --prompt='-x y'"));
  EXPECT_THAT(refusal("node", {"--name", "--nobody=3"}), HasSubstr("is written --name=--nobody=3"));
  EXPECT_EQ(parse_options(command_named("sample"), {"runs/a", "--prompt=-x y"})->value("--prompt"), "-x y");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"runs/a", "--prompt"}, {"--prompt", "--tokens", "3"}, {"--prompt", "--", "runs/a"}}) {
    EXPECT_THAT(refusal("sample", words), Not(HasSubstr("is written"))) << "an option is no value";
  }
}

// An empty text is a text, and its command says why it cannot be used.
TEST(Options, OnlyAFreeTextMayBeEmpty) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"runs/a", "--prompt="}, {"--prompt", "", "runs/a"}})
    EXPECT_EQ(parse_options(command_named("sample"), words)->value("--prompt"), "");
  EXPECT_THAT(refusal("sample", {"runs/a", "--seed="}), HasSubstr("--seed needs a value: S")) << "the control";
}

TEST(Options, HelpNamesEverythingThatThisVersionHas) {
  for (const auto& command : commands()) {
    const std::string help = help_text(command);
    EXPECT_THAT(help, HasSubstr("usage: shoal " + command.name));
    EXPECT_THAT(overview(), HasSubstr("  " + command.name + " "));
    for (const auto& option : command.options) EXPECT_THAT(help, HasSubstr(option.name));
  }
  EXPECT_THAT(overview("trace"),
              AllOf(HasSubstr("usage: shoal trace COMMAND"), HasSubstr("  trace why "), Not(HasSubstr("  train "))));
  EXPECT_TRUE(asks_for_help({"x", "--help"}));
  EXPECT_FALSE(asks_for_help({"--", "--help"}));
}

}  // namespace
}  // namespace shoal::options_test
