// Tests the losses of rounds: the same sum from a file and line by line.
#include "runtime/trace/metrics/round_losses.h"

#include <gtest/gtest.h>

#include "tests/runtime/data/scratch.h"
#include "tests/runtime/trace/metrics/counted_text.h"

namespace shoal::round_losses_test {
namespace {

StepRecord step(std::uint64_t number, std::uint64_t lost, std::uint32_t approximated) {
  StepRecord record;
  record.step = number;
  record.lost_tokens = lost;
  record.approximated = approximated;
  return record;
}

std::vector<MetricsOutput> some_lines() {
  FinalRecord last;
  last.lost_tokens = 150;  // 20 more since the last step
  last.weights_sha256 = "abc";
  return {step(0, 0, 0), step(1, 100, 2), RunEvent{RunEventKind::kProcessLost, "node2", "\"lost_tokens\":7", 2},
          step(2, 0, 1), step(3, 30, 0),  EvalRecord{4, 2, 2},
          last};
}

std::string text_of_lines(const std::vector<MetricsOutput>& lines) {
  std::string text;
  for (const MetricsOutput& line : lines) {
    text += std::visit([](const auto& record) { return to_json_line(record); }, line) + "\n";
  }
  return text;
}

RoundLosses losses_in(const std::string& text) {
  const Scratch scratch;
  return round_losses_in(scratch.file("metrics.jsonl", text).string()).value();
}

TEST(RoundLosses, AreAddedUpOverAFile) {
  const auto lines = some_lines();
  EXPECT_EQ(losses_in(text_of_lines({lines.begin(), lines.end() - 1})), (RoundLosses{130, 0, 3}));
  EXPECT_EQ(losses_in(text_of_lines(lines)), (RoundLosses{130, 150, 3}));
  EXPECT_EQ(losses_in(text_of_lines(lines)).lost(), 150U);
  EXPECT_EQ(losses_in("{\"lost_tokens\":5,\"appro\n" + text_of_lines(lines)), (RoundLosses{130, 150, 3}));
  EXPECT_EQ(losses_in(""), RoundLosses{});
  EXPECT_FALSE(round_losses_in("/nowhere/at/all").ok());
}

TEST(RoundLosses, AreTheSameLineByLineAndAfterARestart) {
  const auto lines = some_lines();
  for (std::ptrdiff_t before = 0; before <= static_cast<std::ptrdiff_t>(lines.size()); ++before) {
    CountedText file{text_of_lines({lines.begin(), lines.begin() + before})};
    RoundTally tally{LossesBefore(file.input())};
    for (auto line = lines.begin() + before; line != lines.end(); ++line) tally.add(*line);
    EXPECT_EQ(tally.sum(), (RoundLosses{130, 150, 3})) << before;
    tally.add(step(4, 25, 0));  // from a run that goes on: 20 of them are the last line's
    EXPECT_EQ(tally.sum().lost(), 155U) << before;
  }
}

std::string many_lines(std::uint64_t count) {
  std::string text;
  for (std::uint64_t number = 0; number < count; ++number) text += text_of_lines({step(number, number % 100, 1)});
  return text;
}

// A start of a long run does not wait for what a person may ask for later.
TEST(RoundLosses, OfAFileAreReadOnceHoweverItHasGrownSince) {
  const std::string text = many_lines(1000);
  CountedText file{text + "{\"branch\":0,\"step\":1000,\"loss\":" + std::string(2000, ' ')};
  RoundTally tally{LossesBefore(file.input())};
  EXPECT_LE(file.all, std::uint64_t{64} << 10U);
  file.text = text;  // the torn line gives way to others
  for (std::uint64_t number = 1000; number < 1010; ++number) {
    file.text += text_of_lines({step(number, 7, 2)});
    tally.add(step(number, 7, 2));
  }
  EXPECT_EQ(tally.sum(), (RoundLosses{49'500 + 70, 0, 1000 + 20}));
  const std::uint64_t read = file.all;
  EXPECT_GE(read, text.size());
  EXPECT_EQ(tally.sum(), (RoundLosses{49'500 + 70, 0, 1000 + 20}));
  EXPECT_EQ(file.all, read) << "once";
}

// The first question of a person finds them added up; one that comes early reads what is left of them.
TEST(RoundLosses, OfALongFileAreReadInPiecesWithTheLinesThatAreAdded) {
  const std::string text = many_lines(5000);
  const std::uint64_t pieces = text.size() / RoundTally::kPieceBytes + 1;
  ASSERT_GE(pieces, 3U);
  for (const std::uint64_t added : {std::uint64_t{0}, std::uint64_t{1}, pieces}) {
    CountedText file{text};
    RoundTally tally{LossesBefore(file.input())};
    for (std::uint64_t number = 0; number < added; ++number) tally.add(EvalRecord{});
    EXPECT_LE(file.all, (added + 1) * (RoundTally::kPieceBytes + (std::uint64_t{64} << 10U)));
    const std::uint64_t before = file.all;
    EXPECT_EQ(tally.sum(), (RoundLosses{5 * 49'500, 0, 5000}));
    EXPECT_EQ(file.all > before + (std::uint64_t{64} << 10U), added < pieces) << added;
  }
}

TEST(RoundLosses, OfAnEmptyFileAreNone) {
  CountedText none;
  EXPECT_EQ(RoundTally(LossesBefore(none.input())).sum(), RoundLosses{});
}

TEST(RoundLosses, HaveWords) {
  EXPECT_EQ(text_of(RoundLosses{2048, 0, 3}), "2048 tokens lost, 3 microbatches approximated");
  EXPECT_EQ(text_of(RoundLosses{0, 0, 1}), "0 tokens lost, 1 microbatch approximated");
}

}  // namespace
}  // namespace shoal::round_losses_test
