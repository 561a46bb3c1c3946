// Every whole line once, in both directions, however long the file is and whatever is damaged.
#include "runtime/trace/metrics/metrics_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/runtime/trace/metrics/counted_text.h"

namespace shoal::metrics_lines_test {
namespace {

using Lines = std::vector<std::string>;

Lines rest_of(MetricsLines& lines) {
  Lines found;
  while (const auto line = lines.next()) found.emplace_back(*line);
  return found;
}

Lines forward(CountedText& file) {
  MetricsLines lines(file.input().read_at);
  return rest_of(lines);
}

Lines backward(CountedText& file) {
  Lines found;
  const auto end = read_lines_back(file.input(), [&found](std::string_view line) {
    found.emplace_back(line);
    return false;
  });
  EXPECT_EQ(end.value(), file.text.rfind('\n') + 1);
  std::ranges::reverse(found);
  return found;
}

TEST(MetricsLines, AreTheWholeOnesInBothDirections) {
  for (const auto& [text, lines] :
       std::vector<std::pair<std::string, Lines>>{{"", {}},
                                                  {"torn", {}},
                                                  {"\n", {""}},
                                                  {"one\n", {"one"}},
                                                  {"\n\none\n\ntwo\ntorn", {"", "", "one", "", "two"}}}) {
    CountedText file{text};
    EXPECT_EQ(forward(file), lines) << text;
    EXPECT_EQ(backward(file), lines) << text;
  }
}

TEST(MetricsLines, AreTheSameWhateverTheirLengths) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 50; ++round) {
    Lines lines;
    CountedText file;
    const std::size_t length_max = std::size_t{1} << random() % 18;
    for (int line = 0; line < 20; ++line) {
      lines.emplace_back(random() % length_max, static_cast<char>('a' + line));
      file.text += lines.back() + "\n";
    }
    file.text += std::string(random() % length_max, 'x');
    ASSERT_EQ(forward(file), lines);
    ASSERT_EQ(backward(file), lines);
    lines.back() += "x";
    ASSERT_NE(forward(file), lines);
    ASSERT_NE(backward(file), lines);
  }
}

TEST(MetricsLines, AreReadInPieces) {
  CountedText file;
  for (int line = 0; line < 300'000; ++line) file.text += "{\"step\":" + std::to_string(line) + ",\"loss\":1.234567}\n";
  EXPECT_EQ(forward(file).size(), 300'000U);
  EXPECT_LE(file.most_at_once, std::uint64_t{64} << 10U);
  EXPECT_EQ(file.all, file.text.size());

  CountedText again{file.text};
  EXPECT_EQ(backward(again).size(), 300'000U);
  EXPECT_LE(again.most_at_once, std::uint64_t{64} << 10U);
  EXPECT_EQ(again.all, again.text.size());

  CountedText last{file.text};
  const auto end = read_lines_back(last.input(), [](std::string_view line) { return line.find(":299000,") < 20; });
  EXPECT_EQ(end.value(), file.text.size());
  EXPECT_LE(last.all, std::uint64_t{128} << 10U) << "no further back than that line";
}

TEST(MetricsLines, OneThatNoWriterMakesIsLeftOut) {
  const std::string damage(4 * kLineBytesMax, '\0');
  for (const std::string& text : {"one\n" + damage + "\ntwo\n", damage + "\none\ntwo\n", "one\ntwo\n" + damage}) {
    CountedText file{text};
    EXPECT_EQ(forward(file), (Lines{"one", "two"}));
    EXPECT_EQ(backward(file), (Lines{"one", "two"}));
  }
  CountedText long_line{"one\n" + std::string(kLineBytesMax, 'x') + "\ntwo\n"};
  EXPECT_EQ(forward(long_line).size(), 3U);
  EXPECT_EQ(backward(long_line).size(), 3U);
}

// The writer of metrics.jsonl may do this: it cuts off the torn end before its first line.
TEST(MetricsLines, ATornEndMayBecomeAnotherLine) {
  CountedText file{"one\ntor"};
  MetricsLines lines(file.input().read_at);
  EXPECT_EQ(rest_of(lines), Lines{"one"});
  EXPECT_EQ(lines.end(), 4U);
  file.text = "one\ntwo\nthr";
  EXPECT_EQ(rest_of(lines), Lines{"two"});
  file.text += "ee\n";
  EXPECT_EQ(rest_of(lines), Lines{"three"});
  EXPECT_EQ(lines.end(), file.text.size());
  EXPECT_EQ(rest_of(lines), Lines{});
  file.text += std::string(2 * kLineBytesMax, '\0');
  EXPECT_EQ(rest_of(lines), Lines{});
  file.text = "one\ntwo\nthree\nfour\n";
  EXPECT_EQ(rest_of(lines), Lines{"four"});
}

TEST(MetricsLines, AFileThatCannotBeReadHasNone) {
  const auto refuse = [](std::uint64_t, std::span<char>) -> Result<std::size_t> { return fail(Error::kIo, "gone"); };
  MetricsLines none(refuse);
  EXPECT_TRUE(none.status().ok());
  EXPECT_EQ(none.next(), std::nullopt);
  EXPECT_EQ(none.status().failure().error, Error::kIo) << "not to be taken for the end";
  const auto never = [](std::string_view) { return true; };
  EXPECT_EQ(read_lines_back({100, refuse}, never).failure().error, Error::kIo);
  CountedText shorter{"one\n"};
  InputFile input = shorter.input();
  input.size = 100;
  EXPECT_EQ(read_lines_back(input, never).failure().error, Error::kIo) << "it became shorter meanwhile";
}

}  // namespace
}  // namespace shoal::metrics_lines_test
