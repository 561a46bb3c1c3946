// Shards in llm.c's format: found by name, read across their borders, and refused by name where one is not right.
#include "runtime/data/shards/shard_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include "runtime/data/order.h"
#include "runtime/data/tokens.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::shards_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Form {
  std::uint32_t kind = 20240520;
  std::uint32_t version = 1;
  std::uint32_t width = 2;
};
constexpr Form kNarrow{};
constexpr Form kWide{20240801, 7, 4};

void append(std::string& bytes, std::uint32_t value, std::uint32_t width) {
  for (std::uint32_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
}

std::string header_of(std::uint32_t count, const Form& form = kNarrow) {
  std::string bytes;
  append(bytes, form.kind, 4);
  append(bytes, form.version, 4);
  append(bytes, count, 4);
  bytes.resize(kShardHeader, '\0');
  return bytes;
}

// The bytes of a shard with tokens first, first + 1, ...
std::string shard_of(std::uint32_t first, std::uint32_t count, const Form& form = kNarrow) {
  std::string bytes = header_of(count, form);
  for (std::uint32_t i = 0; i < count; ++i) append(bytes, first + i, form.width);
  return bytes;
}

constexpr int kVocabulary = 70000;

std::vector<std::string> names_of(const ShardPaths& paths) {
  std::vector<std::string> names;
  for (const auto& path : paths) names.push_back(path.filename().string());
  return names;
}

TEST(Shards, AreFoundAsAFileAFolderAndAPattern) {
  const Scratch scratch;
  (void)scratch.file("t_000002.bin", shard_of(0, 4));
  const auto one = scratch.file("t_000001.bin", shard_of(0, 4));
  (void)scratch.file("v_000000.bin", shard_of(0, 4));
  const auto other = scratch.file("tokens", shard_of(0, 4));
  const auto text = scratch.file("notes.txt", "no shard");
  EXPECT_THAT(names_of(**find_shards(one)), ElementsAre("t_000001.bin"));
  EXPECT_THAT(names_of(**find_shards(other)), ElementsAre("tokens")) << "by its first number";
  EXPECT_THAT(names_of(**find_shards(scratch.path())), ElementsAre("t_000001.bin", "t_000002.bin", "v_000000.bin"));
  EXPECT_THAT(names_of(**find_shards(scratch.path() / "t_*.bin")), ElementsAre("t_000001.bin", "t_000002.bin"));
  EXPECT_FALSE(find_shards(text)->has_value());
  EXPECT_FALSE(find_shards(scratch.path() / "absent.txt")->has_value());
}

void expect_refused(const Status& status, const std::string& name, const std::string& why) {
  ASSERT_FALSE(status.ok()) << name;
  EXPECT_EQ(exit_code(status.failure().error), 3);
  EXPECT_THAT(status.failure().message, HasSubstr(name));
  EXPECT_THAT(status.failure().message, HasSubstr(why));
}

template <class Value>
Status status_of(const Result<Value>& result) {
  return result.ok() ? Status(Done{}) : Status(result.failure());
}

TEST(Shards, AMissingOneIsNamed) {
  const Scratch scratch;
  (void)scratch.file("t_000008.bin", shard_of(0, 4));
  (void)scratch.file("t_000009.bin", shard_of(0, 4));
  EXPECT_TRUE(find_shards(scratch.path()).ok());
  (void)scratch.file("t_000011.bin", shard_of(0, 4));
  expect_refused(status_of(find_shards(scratch.path())), "t_000010.bin", "is missing");
  expect_refused(status_of(find_shards(scratch.path() / "x*.bin")), "x*.bin", "no file matches");
  std::filesystem::create_directory(scratch.path() / "empty");
  expect_refused(status_of(find_shards(scratch.path() / "empty")), "empty", "no shards");
}

TEST(Shards, ACutOrForeignOneIsNamed) {
  const Scratch scratch;
  const auto refuses = [&](const std::string& name, const std::string& bytes, const std::string& why) {
    expect_refused(status_of(ShardSet::open({scratch.file(name, bytes)}, kVocabulary)), name, why);
  };
  const std::string whole = shard_of(5, 100);
  EXPECT_TRUE(ShardSet::open({scratch.file("whole.bin", whole)}, kVocabulary).ok());
  refuses("cut.bin", whole.substr(0, whole.size() - 1), "it was cut");
  refuses("long.bin", whole + "xx", "it has 1226");
  refuses("head.bin", whole.substr(0, 100), "fewer than a header");
  refuses("text.bin", std::string(2000, 'a'), "its first number is 1633771873");
  refuses("old.bin", shard_of(5, 100, {20240520, 2, 2}), "its version is 2");
  refuses("none.bin", shard_of(5, 0), "no tokens");
  refuses("vocabulary.bin", shard_of(69990, 20, kWide), "token 10 of the shard");
  expect_refused(status_of(ShardSet::open({scratch.path() / "absent.bin"}, kVocabulary)), "absent.bin", "No such file");
}

// Tokens are their own positions, so that every read can be checked.
TEST(Shards, AreReadAsOneSequenceWhereverTheyEnd) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const Scratch scratch;
  ShardPaths paths;
  std::uint32_t total = 0;
  for (int i = 0; i < 7; ++i) {
    const auto count = static_cast<std::uint32_t>(1 + random() % 60);
    const bool is_wide = random() % 2 == 0;
    paths.push_back(scratch.file("s" + std::to_string(i) + ".bin", shard_of(total, count, is_wide ? kWide : kNarrow)));
    total += count;
  }
  const auto set = ShardSet::open(paths, kVocabulary);
  ASSERT_TRUE(set.ok());
  ASSERT_EQ(set->count(), total);
  for (int trial = 0; trial < 500; ++trial) {
    const std::uint64_t first = random() % (total + 1);
    std::vector<std::int32_t> read(random() % (total - first + 1));
    ASSERT_TRUE(set->read(first, read).ok());
    std::vector<std::int32_t> expected(read.size());
    std::iota(expected.begin(), expected.end(), static_cast<std::int32_t>(first));
    ASSERT_EQ(read, expected) << first;
  }
  std::vector<std::int32_t> behind(2);
  EXPECT_THROW((void)set->read(total - 1, behind), Bug);
}

TEST(Shards, AreKnownAgainByNamesCountsAndSampledTokens) {
  const Scratch scratch;
  const Scratch elsewhere;
  const std::string bytes = shard_of(0, 60000);
  const auto digest = [](const std::filesystem::path& path) { return (*ShardSet::open({path}, kVocabulary)).sha256(); };
  const std::string known = digest(scratch.file("a.bin", bytes));
  EXPECT_EQ(digest(elsewhere.file("a.bin", bytes)), known) << "a copy";
  EXPECT_NE(digest(scratch.file("b.bin", bytes)), known) << "another name";
  std::string other = bytes;
  other.back() = static_cast<char>(other.back() ^ 1);
  EXPECT_NE(digest(scratch.file("a.bin", other)), known) << "the last token";
  EXPECT_NE(digest(scratch.file("a.bin", shard_of(1, 60000))), known);
}

// The shards of two dumps, whose files have the same names: letters of a folder and a number tell them apart.
class ShardsOfDumps : public testing::Test {
 protected:
  ShardsOfDumps() {
    for (const char* dump : {"b", "a"}) {  // no order of the file system is that of the names
      std::filesystem::create_directory(scratch_.path() / dump);
      for (const int number : {2, 1, 3}) write(dump, number);
    }
  }
  void write(const std::string& dump, int number) const {
    const auto first = static_cast<std::uint32_t>((dump == "a" ? 100 : 200) + 10 * number);
    (void)scratch_.file(dump + "/00000" + std::to_string(number) + ".bin", shard_of(first, 10));
  }
  [[nodiscard]] std::filesystem::path pattern() const { return scratch_.path() / "*" / "*.bin"; }
  [[nodiscard]] ShardSet found() const { return *ShardSet::open(**find_shards(pattern()), kVocabulary); }
  [[nodiscard]] Result<ShardSet> listed(const std::string& list) const {
    const auto shards = find_listed_shards(pattern(), list);
    if (!shards) return shards.failure();
    return ShardSet::open(*shards, kVocabulary);
  }
  // The first token of each shard, in the order in which they are read.
  [[nodiscard]] static std::vector<std::int32_t> starts_of(const ShardSet& set) {
    std::vector<std::int32_t> tokens(set.count()), starts;
    EXPECT_TRUE(set.read(0, tokens).ok());
    for (std::size_t i = 0; i < tokens.size(); i += 10) starts.push_back(tokens[i]);
    return starts;
  }
  // A list as versions made it that knew shards by the names of their files, in the order of this file system.
  [[nodiscard]] std::string old_list(const std::vector<std::string>& order) const {
    std::string list;
    for (const std::string& name : order) list += ShardSet::open({scratch_.path() / name}, kVocabulary)->list();
    return list;
  }

  const Scratch scratch_;
};

TEST_F(ShardsOfDumps, HaveOneOrderAndNamesThatTellThemApart) {
  const ShardSet set = found();
  EXPECT_THAT(starts_of(set), ElementsAre(110, 210, 120, 220, 130, 230));
  std::vector<std::string> names;
  for (std::istringstream lines(set.list()); lines;) {
    std::string line;
    if (std::getline(lines, line)) names.push_back(line.substr(0, line.find(' ')));
  }
  EXPECT_THAT(names, ElementsAre("a/000001.bin", "b/000001.bin", "a/000002.bin", "b/000002.bin", "a/000003.bin",
                                 "b/000003.bin"));
  const Scratch elsewhere;
  std::filesystem::copy(scratch_.path(), elsewhere.path(), std::filesystem::copy_options::recursive);
  const auto copy = ShardSet::open(**find_shards(elsewhere.path() / "*" / "*.bin"), kVocabulary);
  EXPECT_EQ(copy->sha256(), set.sha256()) << "whatever the order of the file system";
}

TEST_F(ShardsOfDumps, AreNamedByAsManyFoldersAsTellThemApart) {
  std::filesystem::create_directories(scratch_.path() / "x" / "a");
  std::filesystem::rename(scratch_.path() / "b" / "000001.bin", scratch_.path() / "x" / "a" / "000001.bin");
  const auto set =
      ShardSet::open({scratch_.path() / "a" / "000001.bin", scratch_.path() / "x" / "a" / "000001.bin"}, kVocabulary);
  const std::string root = scratch_.path().filename().string();
  EXPECT_THAT(set->list(), testing::StartsWith(root + "/a/000001.bin "));
  EXPECT_THAT(set->list(), HasSubstr("\nx/a/000001.bin "));
}

TEST_F(ShardsOfDumps, AreMissedInTheFolderThatLacksOne) {
  std::filesystem::remove(scratch_.path() / "a" / "000002.bin");
  expect_refused(status_of(find_shards(pattern())), "a/000002.bin", "is missing");
  std::filesystem::remove(scratch_.path() / "a" / "000003.bin");
  EXPECT_TRUE(find_shards(pattern()).ok()) << "the dumps need not be of one length";
}

TEST_F(ShardsOfDumps, OfAListAreReadInItsOrder) {
  const std::string list = found().list();
  write("b", 4);
  EXPECT_EQ(listed(list)->list(), list);
  EXPECT_EQ(starts_of(*listed(list)), (std::vector<std::int32_t>{110, 210, 120, 220, 130, 230}));
  const std::string old = old_list({"b/000002.bin", "a/000001.bin", "a/000002.bin", "b/000001.bin"});
  EXPECT_EQ(starts_of(*listed(old)), (std::vector<std::int32_t>{220, 110, 120, 210}));
  EXPECT_EQ(listed(old)->list(), old) << "so that its digest is the run's";
  std::filesystem::rename(scratch_.path() / "a", scratch_.path() / "renamed");
  EXPECT_EQ(listed(list)->list(), list) << "a folder that has another name";
}

TEST_F(ShardsOfDumps, OfAListThatAreGoneOrChangedAreNamed) {
  const std::string list = found().list();
  (void)scratch_.file("a/000001.bin", shard_of(7, 10));
  EXPECT_EQ(shard_difference(list, listed(list)->list()), "the shard a/000001.bin holds other tokens");
  const std::string old = old_list({"a/000002.bin", "b/000002.bin"});
  std::filesystem::remove(scratch_.path() / "b" / "000002.bin");
  expect_refused(status_of(listed(list)), "b/000002.bin", "is missing");
  expect_refused(status_of(listed(old)), "000002.bin", "is missing");
}

TEST(Shards, TheOneThatDiffersIsNamed) {
  const std::string two = "a b.bin 10 f1\nc.bin 20 f2\n";
  EXPECT_EQ(shard_difference(two, two), std::nullopt);
  EXPECT_EQ(shard_difference(two, "c.bin 20 f2\n"), "the shard a b.bin is missing");
  EXPECT_EQ(shard_difference(two, "a b.bin 10 f1\nc.bin 21 f2\n"), "the shard c.bin holds other tokens");
  EXPECT_EQ(shard_difference(two, two + "d.bin 1 f\n"), "the shard d.bin is new");
  EXPECT_EQ(shard_difference(two, ""), "the shard a b.bin is missing");
}

TEST(Shards, OfOneNameAreKnownByWhatTheyHold) {
  const std::string old = "t.bin 10 f1\nt.bin 20 f2\n";
  EXPECT_EQ(shard_difference(old, "t.bin 20 f2\nt.bin 10 f1\n"), std::nullopt) << "another order";
  EXPECT_EQ(shard_difference(old, "b/t.bin 20 f2\na/t.bin 10 f1\n"), std::nullopt) << "by their folders";
  EXPECT_EQ(shard_difference(old, "t.bin 20 f2\n"), "the shard t.bin is missing") << "one line for each";
  EXPECT_EQ(shard_difference(old, old + "t.bin 10 f1\n"), "the shard t.bin is new") << "a copy beside it";
  EXPECT_FALSE(are_same_and_more(old, "t.bin 20 f2\nt.bin 10 f1\n"));
  EXPECT_TRUE(are_same_and_more(old, "a/t.bin 10 f1\nb/t.bin 20 f2\nc/t.bin 5 f3\n"));
  EXPECT_FALSE(are_same_and_more(old, "t.bin 10 f1\nt.bin 5 f3\n")) << "one is gone";
}

TEST(Shards, SayWhatBecameOfOneWhileTheyAreRead) {
  const Scratch scratch;
  const std::string bytes = shard_of(0, 1000);
  const auto path = scratch.file("a.bin", bytes);
  const auto set = ShardSet::open({path}, kVocabulary);
  ASSERT_TRUE(set.ok());
  std::vector<std::int32_t> read(10);
  std::filesystem::remove(path);
  expect_refused(set->read(500, read), "a.bin", "No such file");
  (void)scratch.file("a.bin", bytes.substr(0, 1500));
  expect_refused(set->read(500, read), "a.bin", "bytes at the start and has 1500 now");
  (void)scratch.file("a.bin", shard_of(7, 1000));
  expect_refused(set->read(500, read), "a.bin", "other tokens");
  (void)scratch.file("a.bin", bytes);
  EXPECT_TRUE(set->read(500, read).ok()) << "the same, put back";
}

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Files with holes: 100 GB that take no disk.
TEST(Shards, HundredGigabytesOpenAndAreReadInFlatMemory) {
  const Scratch scratch;
  constexpr std::uint32_t kTokens = 1'000'000'000;
  for (int i = 10; i < 60; ++i) {
    const auto path = scratch.file("s" + std::to_string(i) + ".bin", header_of(kTokens));
    std::filesystem::resize_file(path, kShardHeader + std::uint64_t{2} * kTokens);
  }
  const std::uint64_t before = resident_bytes();
  const auto set = ShardSet::open(**find_shards(scratch.path()), kVocabulary);
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set->count(), 50ULL * kTokens);
  const Order order({.seed = 1, .context = 1024, .sequences = 64, .microbatch = 8, .train_tokens = set->count()});
  std::vector<std::int32_t> sequence(1025);
  for (std::uint64_t n = 0; n < 2000; ++n) ASSERT_TRUE(set->read(order.offset(n), sequence).ok());
  EXPECT_LT(resident_bytes(), before + (8U << 20U));
}

// The configuration of a model of bytes.
Config with(const DataConfig& data, int context) {
  Config config;
  config.data = data;
  config.model.context = context;
  return config;
}

TEST(Shards, BecomeTokensWithASplit) {
  const Scratch scratch;
  (void)scratch.file("s1.bin", shard_of(0, 40));
  (void)scratch.file("s2.bin", shard_of(40, 60));
  DataConfig data;
  data.corpus = scratch.path().string();
  data.tokenizer = "bytes";
  const auto tokens = open_tokens(with(data, 5));
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*tokens)->count(), 100U);
  EXPECT_EQ((*tokens)->split().train, 90U);
  data.corpus = (scratch.path() / "s3.bin").string();
  expect_refused(status_of(open_tokens(with(data, 5))), "s3.bin", "Set data.corpus to");
  (void)scratch.file("s3.bin", "cut");
  const auto cut = open_tokens(with(data, 5));
  expect_refused(status_of(cut), "s3.bin", "it has 3 bytes");
  EXPECT_THAT(cut.failure().message, testing::Not(HasSubstr("Set data.corpus to"))) << "it is what was meant";
}

// A published model has tokens that its file of ranks does not: a text has none of them, and shards may.
TEST(Shards, MayHaveTheExtraTokensOfTheModel) {
  const Scratch scratch;
  DataConfig data;
  data.corpus = scratch.file("s.bin", shard_of(230, 40)).string();
  data.validation_fraction = 0.3;
  Config config = with(data, 5);
  expect_refused(status_of(open_tokens(config)), "token 26 of the shard", "model.extra_tokens");
  config.model.extra_tokens = 14;
  config.model.vocabulary = 270;
  ASSERT_TRUE(open_tokens(config).ok());
  EXPECT_TRUE(open_evaluation_text(data.corpus, ByteTokenizer(), 270).ok());
  config.model.vocabulary = 269;
  expect_refused(status_of(open_tokens(config)), "token 39 of the shard", "the vocabulary has 269 tokens");
}

}  // namespace
}  // namespace shoal::shards_test
