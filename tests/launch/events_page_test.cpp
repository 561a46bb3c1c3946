// launch/EVENTS.md ends with the table of events: a row for each kind, in the words of metrics.jsonl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "messages/values/run_events.h"
#include "runtime/base/file.h"

namespace shoal::events_page_test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kGenerated = "| event | subject | says |\n";
constexpr const char* kHowToMend =
    "write the page anew by SHOAL_WRITE_PAGES=1 build/bin/tests_launch --gtest_filter='EventsPage.*'";

std::string table() {
  std::string text = std::string(kGenerated) + "|---|---|---|\n";
  for (const RunEventRow& row : run_event_rows()) {
    const std::string mark = row.is_calm ? "" : " *";
    text += "| `" + std::string(row.word) + "`" + mark + " | " + std::string(row.subject) + " | " +
            std::string(row.meaning) + " |\n";
  }
  return text;
}

TEST(EventsPage, EndsWithTheTable) {
  const std::string path = std::string(SHOAL_SOURCE_DIR) + "/launch/EVENTS.md";
  const auto page = read_file(path);
  ASSERT_TRUE(page.ok()) << page.failure().message;
  const auto begin = page->find(kGenerated);
  ASSERT_NE(begin, std::string::npos) << path << " has no table of events";
  if (std::getenv("SHOAL_WRITE_PAGES") != nullptr) {
    ASSERT_TRUE(replace_file(path, page->substr(0, begin) + table()).ok());
  } else {
    EXPECT_EQ(page->substr(begin), table()) << kHowToMend;
  }
}

TEST(EventsPage, HasAWordAndAMeaningForEachKindAndNoWordTwice) {
  std::set<std::string_view> words;
  for (const RunEventRow& row : run_event_rows()) {
    EXPECT_TRUE(words.insert(row.word).second) << row.word;
    EXPECT_FALSE(row.meaning.empty()) << row.word;
    EXPECT_EQ(row.meaning.find('|'), std::string_view::npos) << row.word;
    EXPECT_EQ(run_event_kind(row.word), row.kind);
  }
  EXPECT_THAT(table(), HasSubstr("| `process_lost` * | the process |"));
  EXPECT_EQ(run_event_kind("process_los"), std::nullopt);
  EXPECT_EQ(run_event_kind(""), std::nullopt);
}

}  // namespace
}  // namespace shoal::events_page_test
