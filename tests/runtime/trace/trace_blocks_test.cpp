// The end of a trace file of any size is found in bounded memory, and is the same as when all of it is read at once.
#include "runtime/trace/trace_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

#include "runtime/base/file.h"
#include "runtime/trace/trace_file.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::trace_blocks_test {
namespace {

std::string block_of(BlockKind kind, std::uint32_t bytes) {
  std::string text(kBlockHeaderBytes, '\0');
  std::ranges::copy(kBlockMagic, text.begin());
  std::memcpy(text.data() + 4, &kind, sizeof kind);
  std::memcpy(text.data() + 8, &bytes, sizeof bytes);
  return text + std::string(bytes, 'x');
}

InputFile input_of(const std::string& text) {
  const auto read_at = [text](std::uint64_t at, std::span<char> into) -> Result<std::size_t> {
    return std::string_view(text).substr(std::min<std::size_t>(at, text.size())).copy(into.data(), into.size());
  };
  return {text.size(), read_at};
}

// A file of blocks of events after a begin, made up as it is read; it counts what is read.
struct CountedFile {
  std::uint64_t blocks = 0;
  std::uint32_t block_bytes = 0;
  std::uint64_t most_at_once = 0;
  std::uint64_t all = 0;

  [[nodiscard]] InputFile input() {
    const std::string begin = block_of(BlockKind::kBegin, 50);
    const std::string events = block_of(BlockKind::kEvents, block_bytes).substr(0, kBlockHeaderBytes);
    const std::uint64_t whole = kBlockHeaderBytes + block_bytes;
    const std::uint64_t size = begin.size() + blocks * whole;
    const auto read_at = [this, begin, events, whole, size](std::uint64_t at,
                                                            std::span<char> into) -> Result<std::size_t> {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), size - at));
      most_at_once = std::max<std::uint64_t>(most_at_once, into.size());
      all += count;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t place = at + i;
        const std::uint64_t in_block = place < begin.size() ? 0 : (place - begin.size()) % whole;
        into[i] = place < begin.size() ? begin[place] : in_block < events.size() ? events[in_block] : 'x';
      }
      return count;
    };
    return {size, read_at};
  }
};

TEST(TraceBlocks, TheEndOfAHundredGigabytesIsFoundWithoutReadingThem) {
  CountedFile file{.blocks = 8'000, .block_bytes = kBlockBytesMax};
  const InputFile input = file.input();
  ASSERT_GT(input.size, std::uint64_t{100} << 30U);
  const auto end = find_end(input, 65536);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->bytes, input.size);
  EXPECT_EQ(end->events.size(), 1U) << "it has as many as were asked for";
  EXPECT_LE(file.most_at_once, 4096U);
  EXPECT_LE(file.all, file.blocks * 4096 + 8192);
}

TEST(TraceBlocks, OfManySmallBlocksTheLastOnesAreKept) {
  CountedFile file{.blocks = 20'000, .block_bytes = 2 * kEventBytes};
  const InputFile input = file.input();
  const auto end = find_end(input, 1000);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->bytes, input.size);
  ASSERT_EQ(end->events.size(), 500U);
  EXPECT_EQ(end->events.back().body + 2 * kEventBytes, input.size);
  EXPECT_EQ(find_end(input, 999)->events.size(), 500U);
  EXPECT_EQ(find_end(input, 998)->events.size(), 499U);
  EXPECT_LE(file.most_at_once, 4096U);
  EXPECT_LE(file.all, 3 * (input.size + input.size / 8)) << "each byte about once";
}

TEST(TraceBlocks, ALifeEndsTheOneBefore) {
  const std::string life = block_of(BlockKind::kBegin, 50) + block_of(BlockKind::kEvents, kEventBytes);
  const auto one = find_end(input_of(life + life), 10);
  EXPECT_EQ(one->events.size(), 1U);
  EXPECT_EQ(one->begin->body, life.size() + kBlockHeaderBytes);
  const auto none = find_end(input_of(life + block_of(BlockKind::kBegin, 50)), 10);
  EXPECT_TRUE(none->events.empty());
  EXPECT_FALSE(find_end(input_of(""), 10)->begin.has_value());
}

TEST(TraceBlocks, WhatCannotBeReadIsAFailure) {
  const auto refuse = [](std::uint64_t, std::span<char>) -> Result<std::size_t> { return fail(Error::kIo, "gone"); };
  EXPECT_EQ(find_end({100, refuse}, 10).failure().error, Error::kIo);
}

// All of it at once, in the plainest way.
std::size_t whole_bytes_of(const std::string& text) {
  std::size_t at = 0;
  for (;;) {
    std::uint32_t bytes = 0;
    if (text.size() - at < kBlockHeaderBytes || text.substr(at, 4) != "SHTR") return at;
    std::memcpy(&bytes, text.data() + at + 8, sizeof bytes);
    if (bytes > kBlockBytesMax || bytes > text.size() - at - kBlockHeaderBytes) return at;
    at += kBlockHeaderBytes + bytes;
  }
}

TEST(TraceBlocks, DamageAnywhereEndsTheFileThere) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int damaged = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int block = 0; block < 40; ++block) {
      text += block_of(static_cast<BlockKind>(1 + random() % 6), static_cast<std::uint32_t>(random() % 3000));
    }
    ASSERT_EQ(find_end(input_of(text), 10)->bytes, text.size());
    const std::size_t place = random() % text.size();
    if (round % 3 == 0) text.resize(place);
    if (round % 3 == 1) text[place] = static_cast<char>(text[place] ^ static_cast<char>(1U << random() % 8));
    if (round % 3 == 2) text.replace(place, 1, std::string(random() % 2000, '\0'));
    const std::size_t expected = whole_bytes_of(text);
    damaged += expected < text.size() ? 1 : 0;
    ASSERT_EQ(find_end(input_of(text), 10)->bytes, expected);
  }
  EXPECT_GT(damaged, 100);
}

TraceEvent numbered(std::uint64_t number) {
  TraceEvent event;
  event.kind = TraceKind::kSend;
  event.bytes = number;
  return event;
}

std::vector<TraceEvent> numbers(std::uint64_t first, std::uint64_t end) {
  std::vector<TraceEvent> events;
  for (std::uint64_t number = first; number < end; ++number) events.push_back(numbered(number));
  return events;
}

// A file of two lives, the second of so many events in blocks of 500.
class LongFile {
 public:
  explicit LongFile(std::uint64_t events) {
    begin_.process_name = "node1";
    begin_.wall_ns = 5;
    begin_.steady_ns = 6;
    add_life({}, 0, 10);
    add_life(begin_, 0, events);
  }
  [[nodiscard]] std::string path() const { return (scratch_.path() / "node1.trace").string(); }
  // The process of the second life was killed and left these in its ring; it is started again.
  void start_again(std::uint64_t first, std::uint64_t end) const {
    TraceBegin again = begin_;
    again.wall_ns = 7;
    ASSERT_TRUE(
        TraceFile::open(path(), again, LeftBehind{{begin_.wall_ns, begin_.steady_ns}, numbers(first, end)}).ok());
  }
  [[nodiscard]] std::vector<TraceLife> lives() const { return read_trace_file(path()).value(); }
  void change(const std::function<void(std::string&)>& how) const {
    std::string text = read_file(path()).value();
    how(text);
    ASSERT_TRUE(replace_file(path(), text).ok());
  }

 private:
  void add_life(const TraceBegin& begin, std::uint64_t first, std::uint64_t end) const {
    auto file = TraceFile::open(path(), begin);
    ASSERT_TRUE(file.ok());
    for (; first < end; first += 500) ASSERT_TRUE(file->add_events(numbers(first, std::min(first + 500, end))).ok());
  }

  Scratch scratch_;
  TraceBegin begin_;
};

bool are_numbered(const TraceLife& life, std::uint64_t count) {
  if (life.events.size() != count) return false;
  std::uint64_t next = 0;
  return std::ranges::all_of(life.events, [&](const TraceEvent& event) { return event.bytes == next++; });
}

TEST(TraceFile, OfALongLifeOnlyTheTailIsComparedWithTheRing) {
  constexpr std::uint64_t kEvents = 100'000;  // more than the tail has
  const LongFile file(kEvents);
  file.start_again(kEvents - 700, kEvents + 300);
  ASSERT_EQ(file.lives().size(), 3U);
  EXPECT_TRUE(are_numbered(file.lives()[0], 10));
  EXPECT_TRUE(are_numbered(file.lives()[1], kEvents + 300));
  EXPECT_FALSE(are_numbered(file.lives()[1], kEvents));
}

TEST(TraceFile, DamageInTheMiddleCutsOffWhatFollows) {
  const LongFile file(5000);
  file.change([](std::string& text) { text[text.find("SHTR", text.size() / 2)] = 'X'; });
  const auto before = file.lives();
  ASSERT_EQ(before.size(), 2U);
  const std::uint64_t kept = before[1].events.size();
  EXPECT_TRUE(kept > 1000 && kept < 4000) << kept;
  file.start_again(4000, 5000);
  const auto after = file.lives();
  ASSERT_EQ(after.size(), 3U) << "what is written now can be read";
  EXPECT_EQ(after[1].events.size(), kept + 1000);
  EXPECT_EQ(after[1].events.back(), numbered(4999));
}

TEST(TraceFile, ATornEndIsCutOffAndTheRingHasIt) {
  const LongFile file(5000);
  file.change([](std::string& text) { text.resize(text.size() - 10); });
  file.start_again(4400, 5000);
  const auto lives = file.lives();
  ASSERT_EQ(lives.size(), 3U);
  EXPECT_TRUE(are_numbered(lives[1], 5000));
}

TEST(TraceFile, ALifeThatCannotBeReadGetsNothingFromTheRing) {
  const LongFile file(5000);
  const auto size_before = std::filesystem::file_size(file.path());
  file.change([](std::string& text) { text[text.size() - 500 * kEventBytes + 8] = 99; });  // the kind of an event
  file.start_again(5000, 5100);
  EXPECT_FALSE(read_trace_file(file.path()).ok());
  EXPECT_LT(std::filesystem::file_size(file.path()), size_before + 100) << "a begin alone";
}

}  // namespace
}  // namespace shoal::trace_blocks_test
