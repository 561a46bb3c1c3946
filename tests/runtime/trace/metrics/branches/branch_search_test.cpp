// No branch's line is missed, and what a start reads does not grow with the steps.
#include "runtime/trace/metrics/branches/branch_search.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/trace/metrics/branches/branch_record.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/trace/metrics/counted_text.h"

namespace shoal::branch_search_test {
namespace {

using Lines = std::vector<std::string>;

// Lines are made by the thousand: all but the numbers is the same.
std::string rest_of_step(bool is_filled) {
  StepRecord told;
  told.is_filled = is_filled;
  const std::string line = to_json_line(told);
  const std::string begin = R"({"branch":0,"step":0)";
  EXPECT_TRUE(line.starts_with(begin));
  return line.substr(begin.size()) + "\n";
}

std::string step_line(std::uint32_t branch, std::uint64_t step, bool is_filled = false) {
  static const std::string kOwn = rest_of_step(false), kFilled = rest_of_step(true);
  return compose("{\"branch\":", branch, ",\"step\":", step, is_filled ? kFilled : kOwn);
}

std::string branch_line(std::uint32_t branch, std::uint64_t step) {
  return to_json_line(BranchRecord{"b" + std::to_string(branch), Branch{branch}, step, {}, "5ha"}) + "\n";
}

std::string event_line(std::uint64_t step) {
  return to_json_line(RunEvent{RunEventKind::kSuspected, "node1", std::string(1000, 'x'), step}) + "\n";
}

Lines branches_in(CountedText& file) {
  Lines found;
  EXPECT_TRUE(read_between_branches_back(file.input(), [&found](std::string_view line) {
                if (line.starts_with("{\"event\":\"branch\",")) found.push_back(std::string(line) + "\n");
              }).ok());
  return found;
}

std::string steps_of(std::uint32_t branch, std::uint64_t begin, std::uint64_t end) {
  std::string text;
  for (std::uint64_t step = begin; step < end; ++step) text += step_line(branch, step);
  return text;
}

TEST(BranchSearch, ReadsAsMuchOfALongRunAsOfAShortOne) {
  constexpr std::uint64_t kFar = 60'000;
  for (const std::uint32_t branch : {0U, 1U}) {
    const std::string told = branch == 0 ? "" : branch_line(1, 10);
    CountedText brief{steps_of(0, 0, 10) + told + steps_of(branch, 10, 300)};
    CountedText whole{steps_of(0, 0, 10) + told + steps_of(branch, 10, kFar) + "torn"};
    EXPECT_EQ(branches_in(brief), branches_in(whole));
    EXPECT_EQ(branches_in(brief).size(), branch);
    whole.all = 0;
    (void)branches_in(whole);
    EXPECT_GT(whole.text.size(), std::uint64_t{20} << 20U);
    EXPECT_LE(whole.all, (std::uint64_t{branch == 0 ? 1U : 30U} * 64) << 10U) << branch;
  }
}

// Each roll-back begins a branch, too: they are passed by one by one, and still not more is read than all.
TEST(BranchSearch, PassesByRollBacks) {
  std::string text = steps_of(0, 0, 5000) + branch_line(1, 5000);
  for (std::uint32_t branch = 1; branch <= 20; ++branch) text += steps_of(branch, branch * 1000, branch * 1000 + 2000);
  CountedText far{text};
  EXPECT_EQ(branches_in(far), Lines{branch_line(1, 5000)});
  EXPECT_LE(far.all, far.text.size());
  text = steps_of(0, 0, 10) + branch_line(1, 10);
  for (std::uint32_t branch = 1; branch <= 2000; ++branch) text += steps_of(branch, branch, branch + 10);
  CountedText near{text};
  EXPECT_EQ(branches_in(near), Lines{branch_line(1, 10)});
}

// The spawner died before it told of the last steps, and a person began a branch before they were filled in.
TEST(BranchSearch, FindsABranchWhoseLineStandsAmongThoseFilledInLate) {
  std::string text = steps_of(0, 0, 500) + branch_line(1, 400);
  for (std::uint64_t step = 500; step < 900; ++step) text += step_line(0, step, true);
  CountedText filled{text};
  EXPECT_EQ(branches_in(filled), Lines{branch_line(1, 400)});
  CountedText gone_on{text + steps_of(1, 400, 2000)};
  EXPECT_EQ(branches_in(gone_on), Lines{branch_line(1, 400)});
  CountedText again{text + steps_of(1, 400, 2000) + branch_line(2, 0) + step_line(1, 2000, true)};
  EXPECT_EQ(branches_in(again), (Lines{branch_line(2, 0), branch_line(1, 400)}));
}

struct DrawnFile {
  std::string text;
  Lines branches;  // the newest first
};

// A run with roll-backs, a person's branches, events and lines that are filled in late; some stretches are long.
DrawnFile draw(std::mt19937_64& random) {
  DrawnFile file;
  std::uint32_t branch = 0;
  std::uint64_t late = 0;  // steps of the branch before that nobody has told of yet
  for (int stretch = 0; stretch < 12; ++stretch) {
    if (random() % 3 == 0) {
      for (std::uint64_t i = 0; i < 1 + random() % 2; ++i) {
        late = random() % 40;
        file.branches.insert(file.branches.begin(), branch_line(++branch, 7));
        file.text += file.branches.front();
        const std::uint32_t former = branch - 1 - static_cast<std::uint32_t>(i);
        for (std::uint64_t step = 0; i == 0 && step < late; ++step) file.text += step_line(former, 5000 + step, true);
      }
    } else if (random() % 3 == 0) {
      ++branch;
    }
    const std::uint64_t events = random() % 8 == 0 ? random() % 200 : 0;
    for (std::uint64_t i = 0; i < events; ++i) file.text += event_line(1);
    const std::uint64_t steps = random() % 4 == 0 ? random() % 2000 : random() % 20;
    for (std::uint64_t step = 0; step < steps; ++step) {
      file.text += step_line(branch, step, random() % 16 == 0);
      if (random() % 50 == 0) file.text += event_line(step);
    }
  }
  if (random() % 2 == 0) file.text += "{\"branch\":0,\"st";
  return file;
}

TEST(BranchSearch, MissesNoBranch) {
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    const DrawnFile drawn = draw(random);
    CountedText file{drawn.text};
    ASSERT_EQ(branches_in(file), drawn.branches);
  }
}

TEST(BranchSearch, IsHowBranchesAreFound) {
  const Scratch scratch;
  std::mt19937_64 random(7);
  const DrawnFile drawn = draw(random);
  EXPECT_EQ(branches_told_by(scratch.file("m", drawn.text).string()).size(), drawn.branches.size());
}

TEST(BranchSearch, SaysThatAFileCannotBeRead) {
  const auto nothing = [](std::string_view) {};
  CountedText shorter{steps_of(1, 0, 1000)};
  InputFile input = shorter.input();
  input.size *= 2;
  EXPECT_EQ(read_between_branches_back(input, nothing).failure().error, Error::kIo);
  CountedText file{steps_of(1, 0, 1000)};
  InputFile refusing = file.input();
  refusing.read_at = [&file, read_at = refusing.read_at](std::uint64_t at, std::span<char> into) {
    return file.all > 0 ? Result<std::size_t>(fail(Error::kIo, "gone")) : read_at(at, into);
  };
  EXPECT_EQ(read_between_branches_back(refusing, nothing).failure().error, Error::kIo) << "the search fails";
  CountedText none;
  EXPECT_TRUE(read_between_branches_back(none.input(), nothing).ok());
}

}  // namespace
}  // namespace shoal::branch_search_test
