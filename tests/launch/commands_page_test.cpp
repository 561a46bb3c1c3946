// The pages for users name what the program has: launch/COMMANDS.md is what `--help` prints, every command, option and
// key in an example exists, and launch/RUNS.md explains every key of a step's line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "launch/interface.h"
#include "runtime/base/config_keys.h"
#include "runtime/base/file.h"
#include "runtime/trace/metrics/step_record.h"

namespace shoal::commands_page_test {
namespace {

using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

constexpr std::string_view kGenerated = "## All commands\n";
constexpr const char* kHowToMend =
    "write the page anew by SHOAL_WRITE_PAGES=1 build/bin/tests_launch --gtest_filter='CommandsPage.*'";

std::string path_of(const std::string& page) { return std::string(SHOAL_SOURCE_DIR) + "/" + page; }

std::string text_of(const std::string& page) {
  const auto text = read_file(path_of(page));
  EXPECT_TRUE(text.ok()) << page;
  return text.ok() ? *text : "";
}

// "trace export": "shoal-trace-export", as the heading of that command is linked to.
std::string anchor_of(const CommandSpec& command) {
  std::string anchor = "shoal-" + command.name;
  std::ranges::replace(anchor, ' ', '-');
  return anchor;
}

std::string generated_part() {
  std::string text = std::string(kGenerated) +
                     "From here on this page is what `shoal COMMAND --help` prints.\n\n"
                     "| command | does |\n|---|---|\n";
  for (const CommandSpec& command : commands()) {
    text += "| [`" + command.name + "`](#" + anchor_of(command) + ") | " + command.summary + " |\n";
  }
  for (const CommandSpec& command : commands()) {
    text += "\n### shoal " + command.name + "\n```\n" + help_text(command) + "```\n";
  }
  return text;
}

TEST(CommandsPage, IsWhatHelpPrints) {
  const std::string page = text_of("launch/COMMANDS.md");
  const std::string by_hand = page.substr(0, page.find(kGenerated));
  if (std::getenv("SHOAL_WRITE_PAGES") != nullptr) {
    ASSERT_TRUE(replace_file(path_of("launch/COMMANDS.md"), by_hand + generated_part()).ok());
  } else {
    EXPECT_EQ(page.substr(by_hand.size()), generated_part()) << kHowToMend;
  }
}

// Returns what stands in fences and between backticks: a line of the result is one example.
std::vector<std::string> examples_in(const std::string& text) {
  std::vector<std::string> examples;
  std::istringstream lines(text);
  bool is_fenced = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      is_fenced = !is_fenced;
    } else if (is_fenced) {
      examples.push_back(line.substr(0, line.find(" #")));
    } else {
      static const std::regex kSpan("`([^`]+)`");
      for (std::sregex_iterator at(line.begin(), line.end(), kSpan), end; at != end; ++at) examples.push_back((*at)[1]);
    }
  }
  return examples;
}

// Returns the words behind `shoal`, up to what ends a command in a shell; none where no command is called.
std::vector<std::string> words_of_call(const std::string& example) {
  static const std::regex kCall(R"re((?:^|[ /(])shoal ([a-z][^|;&]*))re");
  std::smatch call;
  if (!std::regex_search(example, call, kCall)) return {};
  std::istringstream text(call[1].str());
  return {std::istream_iterator<std::string>(text), {}};
}

const CommandSpec* command_of(const std::vector<std::string>& words) {
  for (const CommandSpec& command : commands()) {
    const bool is_two_words = words.size() > 1 && command.name == words[0] + " " + words[1];
    if (command.name == words[0] || is_two_words) return &command;
  }
  return nullptr;
}

bool is_key(const std::string& setting) {
  static const std::regex kSetting(R"re(([a-z]+\.\w+)=.*)re");
  std::smatch parts;
  if (!std::regex_match(setting, parts, kSetting)) return true;  // KEY=VALUE, k=v
  return std::ranges::any_of(config_keys(), [&](const ConfigKey& key) { return key.path() == parts[1].str(); });
}

// Returns what an example names and the program does not have.
std::vector<std::string> unknown_in(const std::string& example) {
  const std::vector<std::string> words = words_of_call(example);
  if (words.empty() || words[0] == "internal-spawner") return {};
  const CommandSpec* const command = command_of(words);
  if (command == nullptr) return {"command " + words[0]};
  std::vector<std::string> unknown;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t begin = words[i].find_first_not_of('[');
    if (begin == std::string::npos || !words[i].substr(begin).starts_with("--")) continue;
    const std::string option = words[i].substr(begin, words[i].find_first_of("=]", begin) - begin);
    const bool is_there = option == "--help" || std::ranges::any_of(command->options, [&](const OptionSpec& spec) {
                            return spec.name == option;
                          });
    if (!is_there) unknown.push_back("option " + option + " of " + command->name);
    if (option == "--set" && i + 1 < words.size() && !is_key(words[i + 1])) unknown.push_back("key " + words[i + 1]);
  }
  return unknown;
}

// Returns every page of the repository that is no folder's README, and the first one: found, so that none is forgotten.
std::vector<std::string> pages() {
  const std::filesystem::path root = SHOAL_SOURCE_DIR;
  std::vector<std::string> found = {"README.md"};
  for (const char* folder : {"launch", "runtime"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::filesystem::path page = entry.path().lexically_relative(root);
      if (page.extension() == ".md" && page.filename() != "README.md") found.push_back(page.generic_string());
    }
  }
  std::ranges::sort(found);
  return found;
}

// Returns whether a link of `text` leads to the page, for a text that lies in the repository's root.
bool links_to(const std::string& text, const std::string& page) {
  return text.find("](" + page + ")") != std::string::npos || text.find("](" + page + "#") != std::string::npos;
}

TEST(PagesForUsers, AreFoundAndLinkedFromTheFirstOne) {
  const std::string first = text_of("README.md");
  const std::vector<std::string> all = pages();
  EXPECT_THAT(all, IsSupersetOf(
                       {"README.md", "launch/COMMANDS.md", "launch/experiments/recovery.md", "runtime/GUARANTEES.md"}));
  for (const std::string& page : all) {
    const bool is_elsewhere = page == "README.md" || std::filesystem::path(page).parent_path() != "launch";
    EXPECT_TRUE(is_elsewhere || links_to(first, page)) << page << " has no link in README.md";
  }
  EXPECT_FALSE(links_to("[runs](launch/RUNS.md)", "launch/KEYS.md"));
}

TEST(PagesForUsers, ExamplesNameWhatTheProgramHas) {
  for (const std::string& page : pages()) {
    const std::string text = text_of(page);
    for (const std::string& example : examples_in(text.substr(0, text.find(kGenerated)))) {
      EXPECT_THAT(unknown_in(example), IsEmpty()) << page << ": " << example;
    }
  }
}

TEST(PagesForUsers, RunsExplainsEveryKeyOfAStepsLine) {
  StepRecord record;
  record.approximated = 1;
  record.time.emplace();
  record.bytes.emplace();
  const std::string line = to_json_line(record);
  const std::string page = text_of("launch/RUNS.md");
  const std::regex key(R"re("(\w+)":)re");
  std::size_t found = 0;
  for (std::sregex_iterator at(line.begin(), line.end(), key), end; at != end; ++at, ++found) {
    const std::regex in_code("`[^`]*\\b" + (*at)[1].str() + "\\b[^`]*`");
    EXPECT_TRUE(std::regex_search(page, in_code)) << (*at)[1];
  }
  EXPECT_GE(found, 25U);
}

// The experiment's refusal: tests/launch/commands/plan/experiment_test.cpp.
TEST(PagesForUsers, GuaranteesNameWhatIsNotInThisVersion) {
  const std::string page = text_of("runtime/GUARANTEES.md");
  const std::size_t at = page.find("Not in this version\n");
  ASSERT_NE(at, std::string::npos);
  const std::string section = page.substr(at);
  std::vector<std::string> named = commands_not_in_this_version();
  for (const std::string& key : keys_not_in_this_version()) named.push_back(key);
  for (const ConfigKey& key : config_keys()) {
    for (const std::string& word : key.later) named.push_back(key.path() + " = " + toml_text(KeyValue(word)));
  }
  // The experiment; the texts (tests/runtime/data/text_test.cpp); what is left out of outputs.
  for (const char* other : {"shoal experiment NAME --preset gpu", "--dry-run", "data.corpus", "eval --data", ".jsonl",
                            "http://", "https://", "config.toml", "links", "metrics.jsonl", "relay", "ps --json"}) {
    named.emplace_back(other);
  }
  EXPECT_THAT(examples_in(section), UnorderedElementsAreArray(named));
  const bool takes_gpus = help_text(command_named("train")).find("cuda:N") != std::string::npos;
  EXPECT_NE(section.find("CUDA") != std::string::npos, takes_gpus);
}

TEST(PagesForUsers, MistakesInExamplesAreFound) {
  EXPECT_THAT(unknown_in("launch/shoal train run.toml --set run.steps=3 --steps 2"), IsEmpty());
  EXPECT_THAT(unknown_in("host A$ shoal trace export [RUN] [--out FILE]"), IsEmpty());
  EXPECT_THAT(unknown_in("shoal trian"), SizeIs(1));
  EXPECT_THAT(unknown_in("shoal trace exprot"), SizeIs(1));
  EXPECT_THAT(unknown_in("shoal plot RUN [--svg FILE]"), SizeIs(1));
  EXPECT_THAT(unknown_in("launch/shoal train --set run.step=3"), SizeIs(1));
  EXPECT_THAT(examples_in("a `shoal ps` b\n```\nshoal plot  # draws\n```\nshoal run\n"),
              testing::ElementsAre("shoal ps", "shoal plot "));
}

}  // namespace
}  // namespace shoal::commands_page_test
