// Tests the names of configurations that come with the program, and what a person is told who gives one for a file.
#include "launch/configs/presets.h"

#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/commands/plan/asked_config.h"
#include "launch/interface.h"
#include "launch/start_run.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::presets_test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

const std::string kFolder = std::string(SHOAL_SOURCE_DIR) + "/launch/configs";

std::string said_of(const std::string& config) {
  return with_preset_named(fail(Error::kUsage, "cannot open it"), config).message;
}

TEST(Presets, AreTheFilesOfTheirFolder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".toml") files.insert(entry.path().stem().string());
  }
  EXPECT_EQ(std::set<std::string>(preset_names().begin(), preset_names().end()), files);
}

TEST(Presets, ANameInPlaceOfAFileIsToldItsFile) {
  for (const std::string& name : preset_names()) {
    for (const std::string& config : {name, name + ".toml", "configs/" + name + ".toml"}) {
      EXPECT_EQ(said_of(config), "cannot open it; " + name + " comes with the program, in its repository: give the " +
                                     "path of launch/configs/" + name + ".toml");
    }
  }
}

TEST(Presets, AnotherNameIsToldTheNearestOrAll) {
  EXPECT_THAT(said_of("gpt2-smal"),
              EndsWith("did you mean launch/configs/gpt2-small.toml of the program's repository?"));
  EXPECT_THAT(said_of("my/lama-125m.toml"), HasSubstr("did you mean launch/configs/llama-125m.toml"));
  EXPECT_THAT(said_of("qwerty"),
              AllOf(HasSubstr("CONFIG is a TOML file"), HasSubstr("bench-large"), EndsWith("llama-350m")));
}

TEST(Presets, APathOfAnotherFileIsLeftAlone) {
  EXPECT_EQ(said_of("my/runs/first.toml"), "cannot open it");
  EXPECT_EQ(said_of("first-of-mine.toml"), "cannot open it");
  const Scratch scratch;
  EXPECT_EQ(said_of(scratch.file("gpt2-small", "[model\n").string()), "cannot open it");
  std::filesystem::create_directory(scratch.path() / "gpt2-xl");  // no file
  EXPECT_THAT(said_of((scratch.path() / "gpt2-xl").string()), EndsWith("launch/configs/gpt2-xl.toml"));
}

TEST(Presets, ACommandThatIsGivenANameSaysTheFile) {
  const auto options = parse_options(command_named("plan"), {"gpt2-small"});
  ASSERT_TRUE(options.ok());
  const auto refused = config_of(*options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_THAT(refused.failure().message, EndsWith("give the path of launch/configs/gpt2-small.toml"));
}

TEST(Presets, ATrainingThatIsGivenANameSaysTheFile) {
  const Scratch scratch;
  RunChoice choice;
  choice.config = "gpt2-small";
  const auto refused = choose_run(choice, {{}, scratch.path().string(), {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_THAT(refused.failure().message, EndsWith("give the path of launch/configs/gpt2-small.toml"));
}

}  // namespace
}  // namespace shoal::presets_test
