// The scripts, and what a real shell makes of them.
#include "launch/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "launch/interface.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::completion_test {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

CompletedWords words_here() { return {commands(), {"run.steps", "run.seed", "sync.mode"}}; }

// Returns what bash offers for the last of these words.
std::vector<std::string> offered(const std::vector<std::string>& words) {
  const Scratch scratch;
  std::string test = *completion_script("bash", words_here()) + "COMP_WORDS=(";
  for (const std::string& word : words) test += "'" + word + "' ";
  test += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) + "\n_shoal\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const auto script = scratch.file("test.bash", test);
  const std::string out = (scratch.path() / "out").string();
  EXPECT_EQ(std::system(("bash " + script.string() + " >" + out + " 2>&1").c_str()), 0);
  std::ifstream file(out);
  std::istringstream text(std::string(std::istreambuf_iterator<char>(file), {}));
  return {std::istream_iterator<std::string>(text), {}};
}

TEST(Completion, OffersCommandsThenOptionsThenKeys) {
  EXPECT_THAT(offered({"shoal", "tra"}), testing::UnorderedElementsAre("train", "trace"));
  EXPECT_THAT(offered({"shoal", "trace", ""}), testing::UnorderedElementsAre("export", "why", "check", "summary"));
  EXPECT_THAT(offered({"shoal", "train", "--re"}), testing::ElementsAre("--resume"));
  EXPECT_THAT(offered({"shoal", "trace", "export", "--"}), Contains("--svg"));
  EXPECT_THAT(offered({"shoal", "export", "--"}), Not(Contains("--svg")));
  EXPECT_THAT(offered({"shoal", "export", "--"}), Contains("--to"));
  EXPECT_THAT(offered({"shoal", "train", "--set", "run."}), testing::ElementsAre("run.steps=", "run.seed="));
  EXPECT_THAT(offered({"shoal", "train", "dir"}), IsEmpty()) << "names of files are the shell's own";
  EXPECT_THAT(offered({"shoal", "nonsense", "--"}), IsEmpty());
}

TEST(Completion, OffersTheOptionsOfEveryCommandAndNoOthers) {
  for (const CommandSpec& command : commands()) {
    std::istringstream name(command.name);
    std::vector<std::string> words = {"shoal"};
    words.insert(words.end(), std::istream_iterator<std::string>(name), {});
    words.emplace_back("--");
    std::vector<std::string> options = {"--help"};
    for (const OptionSpec& option : command.options) options.push_back(option.name);
    EXPECT_THAT(offered(words), testing::UnorderedElementsAreArray(options)) << command.name;
  }
}

TEST(Completion, NamesEveryCommandAndOptionInEveryShell) {
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    const auto script = completion_script(shell, words_here());
    ASSERT_TRUE(script.ok()) << shell;
    for (const CommandSpec& command : commands()) {
      const std::string last = command.name.substr(command.name.rfind(' ') + 1);
      EXPECT_NE(script->find(last), std::string::npos) << shell << ": " << command.name;
      for (const OptionSpec& option : command.options) {
        EXPECT_NE(script->find(option.name.substr(2)), std::string::npos) << shell << ": " << option.name;
      }
    }
  }
  EXPECT_FALSE(completion_script("tcsh", words_here()).ok());
}

}  // namespace
}  // namespace shoal::completion_test
