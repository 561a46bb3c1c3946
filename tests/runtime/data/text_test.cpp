// Corpora without a network: crafted databases, finished texts, damage and absence.
#include "runtime/data/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/data/fetch.h"
#include "runtime/data/r_data.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::text_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string number(std::uint32_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(value >> shift & 0xFFU);
  return bytes;
}

// A record of an Rdata.rdb: the XDR form of a string vector, version 3 as R writes it, or 2.
std::string record(const std::vector<std::string>& lines, std::uint32_t version = 3) {
  std::string item = "X\n" + number(version) + number(0x40201) + number(0x30500);
  if (version == 3) item += number(5) + "UTF-8";
  item += number(0x10) + number(static_cast<std::uint32_t>(lines.size()));
  for (const std::string& line : lines) {
    item += number(0x40009) + number(static_cast<std::uint32_t>(line.size())) + line;
  }
  uLongf size = compressBound(item.size());
  std::string deflated(size, '\0');
  compress(reinterpret_cast<Bytef*>(deflated.data()), &size, reinterpret_cast<const Bytef*>(item.data()), item.size());
  return number(static_cast<std::uint32_t>(item.size())) + deflated.substr(0, size);
}

TEST(RData, ReadsStringVectorsOfBothVersions) {
  const auto records = read_r_string_vectors(record({"EMMA", "", "By Jane Austen"}) + record({}, 2));
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(*records, (std::vector<std::vector<std::string>>{{"EMMA", "", "By Jane Austen"}, {}}));
}

TEST(RData, RefusesWhatIsNotAVectorOfStrings) {
  const std::string good = record({"one", "two"});
  EXPECT_FALSE(read_r_string_vectors(good.substr(0, good.size() - 1)).ok());
  EXPECT_FALSE(read_r_string_vectors(good + "x").ok());
  EXPECT_FALSE(read_r_string_vectors(number(0xFFFFFFFFU) + good.substr(4)).ok());
  EXPECT_FALSE(read_r_string_vectors(number(10) + good.substr(4)).ok());
  EXPECT_FALSE(read_r_string_vectors(record({"one"}, 4)).ok());
  const auto second = read_r_string_vectors(good + good.substr(0, 9));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.failure().error, Error::kInvalidData);
  EXPECT_THAT(second.failure().message, HasSubstr("record 2"));
}

TEST(RData, SurvivesDamageAnywhere) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const std::string good = record({"Emma Woodhouse, handsome, clever, and rich"}) + record({"", "b"});
  for (int trial = 0; trial < 2000; ++trial) {
    std::string damaged = good;
    damaged[4 + random() % (good.size() - 4)] ^= static_cast<char>(1 + random() % 255);
    const auto records = read_r_string_vectors(damaged);
    EXPECT_TRUE(!records.ok() || records->size() <= 2);
  }
}

TEST(JoinNovels, OrdersByTitleWhateverTheCase) {
  const auto text = join_novels(record({"PRIDE", "second"}) + record({"Persuasion", "", "first"}) + record({"EMMA"}));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "EMMA\n\nPersuasion\n\nfirst\n\nPRIDE\nsecond");
}

TEST(CheckText, KnowsThePublishedTextsByLengthAndDigest) {
  const std::string digest = sha256_hex("abc");
  const Corpus corpus{.name = "abc", .bytes = 3, .sha256 = digest, .packages = {}};
  EXPECT_TRUE(check_text(corpus, "abc").ok());
  for (const char* other : {"abd", "abcd", ""}) {
    const auto refused = check_text(corpus, other);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().error, Error::kInvalidData);
    EXPECT_THAT(refused.failure().message, HasSubstr(sha256_hex(other)));
  }
}

TEST(FetchCorpus, RefusesANameItDoesNotKnow) {
  const Scratch scratch;
  const auto refused = fetch_corpus("shakespeare", scratch.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_THAT(refused.failure().message, HasSubstr("austen and kjv"));
}

TEST(FetchCorpus, SaysWhatALocalFolderLacks) {
  const Scratch scratch;
  const Setting local("SHOAL_CORPORA", scratch.path().string());
  const auto refused = fetch_corpus("austen", scratch.path() / "kept");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  EXPECT_THAT(refused.failure().message, HasSubstr("r-cran-janeaustenr_*.deb"));
  EXPECT_THAT(refused.failure().message, HasSubstr("SHOAL_CORPORA"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path() / "kept"));  // nothing half-made is left
}

TEST(FetchCorpus, RefusesAnotherTextUnderTheName) {
  const Scratch scratch;
  (void)scratch.file("kjv.txt", "In the beginning");
  const Setting local("SHOAL_CORPORA", scratch.path().string());
  const auto refused = fetch_corpus("kjv", scratch.path() / "kept");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  EXPECT_THAT(refused.failure().message, HasSubstr("not the published one"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "kept/kjv.txt"));
}

TEST(FetchCorpus, SaysWhenThereIsNoAptGet) {
  const Scratch scratch;
  const Setting nowhere("PATH", scratch.path().string());
  const Setting none("SHOAL_CORPORA", "");
  const auto refused = fetch_corpus("austen", scratch.path() / "kept");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUnreachable);
  EXPECT_THAT(refused.failure().message, HasSubstr("cannot start apt-get"));
  EXPECT_THAT(refused.failure().message, HasSubstr("SHOAL_CORPORA"));
}

TEST(FetchCorpus, NamesAFolderThatCannotBeMade) {
  const Scratch scratch;
  const auto refused = fetch_corpus("austen", scratch.file("file", "x") / "below");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kIo);
  EXPECT_THAT(refused.failure().message, HasSubstr("SHOAL_DATA"));
}

TEST(CorporaFolder, FollowsTheEnvironment) {
  const Setting home("HOME", "/home/jane");
  const Setting cache("XDG_CACHE_HOME", "/caches");
  const Setting own("SHOAL_DATA", "/texts");
  EXPECT_EQ(*corpora_folder(), "/texts");
  const Setting no_own("SHOAL_DATA", "");
  EXPECT_EQ(*corpora_folder(), "/caches/shoal/corpora");
  const Setting no_cache("XDG_CACHE_HOME", "");
  EXPECT_EQ(*corpora_folder(), "/home/jane/.cache/shoal/corpora");
  const Setting no_home("HOME", "");
  ASSERT_FALSE(corpora_folder().ok());
}

TEST(KindOfText, WhatThisVersionDoesNotReadIsRefusedAsSuch) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path() / "texts");
  (void)scratch.file("texts/a.txt", "text");
  (void)scratch.file("a.jsonl", "{}\n");
  for (const std::string path : {"a.jsonl", "a.jsonl.gz", "b/A.JSONL.zst", "*.jsonl", "http://host/a.txt",
                                 "HTTPS://host/a.bin", "https://host/a.jsonl", "texts", "texts/"}) {
    const Status checked = check_kind_of_text("--data " + path, scratch.path(), path);
    ASSERT_FALSE(checked.ok()) << path;
    EXPECT_EQ(checked.failure().error, Error::kUsage);
    EXPECT_THAT(checked.failure().message, StartsWith("--data " + path + ": "));
    EXPECT_THAT(checked.failure().message, HasSubstr(" not in this version"));
  }
}

// A person who has several texts names them as a shell would.
TEST(KindOfText, APatternOfTextsIsToldAsOne) {
  const Scratch scratch;
  for (const char* text : {"part_01.txt", "part_03.txt"}) (void)scratch.file(text, "text");
  (void)scratch.file("part_03.bin", "");
  for (const std::string path : {"*.txt", "part_0?.txt"}) {
    const Status checked = check_kind_of_text("--data " + path, scratch.path(), path);
    ASSERT_FALSE(checked.ok()) << path;
    EXPECT_EQ(checked.failure().error, Error::kUsage);
    EXPECT_THAT(checked.failure().message, HasSubstr("part_01.txt is none; give the path of one text file"));
    EXPECT_THAT(checked.failure().message, HasSubstr("`cat " + path + "`"));
  }
  for (const std::string path : {"part*", "absent*.txt"}) {
    EXPECT_TRUE(check_kind_of_text("--data", scratch.path(), path).ok()) << path;
  }
}

TEST(KindOfText, EverythingElseIsForWhoOpensIt) {
  const Scratch scratch;
  for (const char* folder : {"empty", "dumps/one", "shards.jsonl", "mixed", "austen", "gone"})
    std::filesystem::create_directories(scratch.path() / folder);
  (void)scratch.file("gone/index.json", "{}");
  (void)scratch.file("gone/a.bin.part", "shards that are not there, or not whole, are missing");
  (void)scratch.file("austen/notes.txt", "the corpus is meant");
  (void)scratch.file("notes.txt", "an empty path is told as one");
  (void)scratch.file("shards.jsonl/a.bin", "");
  (void)scratch.file("mixed/a.bin", "");
  (void)scratch.file("mixed/README.md", "");
  for (const std::string path : {"", "austen", "a.txt", "a.json", "jsonl", "a.jsonl.txt", "http", "shttp://a", "a.bin",
                                 "*.bin", "absent", "empty", "gone", "dumps", "shards.jsonl", "mixed"}) {
    EXPECT_TRUE(check_kind_of_text("--data", scratch.path(), path).ok()) << path;
  }
}

TEST(ObtainCorpus, TakesAnyOtherNameAsAPath) {
  EXPECT_EQ(*obtain_corpus("./austen"), "./austen");
  EXPECT_EQ(*obtain_corpus("/some/text"), "/some/text");
}

}  // namespace
}  // namespace shoal::text_test
