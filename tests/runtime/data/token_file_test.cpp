// Tokens on disk: made once, mapped by all, made anew where anything is damaged.
#include "runtime/data/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/data/tokenizers/bpe_tokenizer.h"
#include "runtime/data/tokenizers/pretokenizer.h"
#include "runtime/data/tokens.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/data/tokenizers/small_ranks.h"

namespace shoal::token_file_test {
namespace {

namespace fs = std::filesystem;

BpeTokenizer small_tokenizer(const std::string& name = "small") {
  std::vector<std::string> tokens = every_byte();
  for (const char* token : {" t", "he", " the", "in", "er"}) tokens.emplace_back(token);
  return {tokens, name};
}

std::string words(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += i % 7 == 0 ? "\nin the" : " there";
  return text;
}

std::vector<std::int32_t> read_all(const Tokens& tokens) {
  std::vector<std::int32_t> read(tokens.count());
  EXPECT_TRUE(tokens.read(0, read).ok());
  return read;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Result<MappedFile> obtain(const std::string& text, const Tokenizer& tokenizer, const fs::path& folder) {
  return obtain_token_file(text, sha256_hex(std::string_view(text)), tokenizer, folder);
}

TEST(TokenFile, HoldsWhatTheTokenizerSays) {
  const Scratch scratch;
  const BpeTokenizer tokenizer = small_tokenizer();
  const std::string text = words(1'000'000);  // more than is encoded at once
  const fs::path path = scratch.file("text", text);
  const auto tokens = Tokens::encode(path, 0.25, tokenizer, scratch.path() / "kept");
  ASSERT_TRUE(tokens.ok()) << tokens.failure().message;
  const auto expected = tokenizer.encode(text);
  EXPECT_EQ(read_all(**tokens), expected);
  EXPECT_EQ((*tokens)->split().validation, expected.size() / 4);
  std::vector<std::int32_t> some(5);
  EXPECT_TRUE((*tokens)->read(1001, some).ok());
  EXPECT_TRUE(std::equal(some.begin(), some.end(), expected.begin() + 1001));
  EXPECT_THROW((void)(*tokens)->read(expected.size() - 4, some), Bug);
  ASSERT_EQ(files_in(scratch.path() / "kept").size(), 1U) << "and nothing that was worked with";
  EXPECT_EQ(fs::file_size(files_in(scratch.path() / "kept")[0]), kTokenFileHeader + 2 * expected.size());
}

// Counts how much of a text is encoded at once.
class WatchedTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] int vocabulary_size() const override { return tokenizer_.vocabulary_size(); }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override {
    most_ = std::max(most_, text.size());
    return tokenizer_.encode(text);
  }
  [[nodiscard]] std::string bytes_of(std::int32_t token) const override { return tokenizer_.bytes_of(token); }
  [[nodiscard]] std::size_t seam_after(std::string_view text, std::size_t wanted) const override {
    return Pretokenizer().seam_after(text, wanted);
  }
  [[nodiscard]] std::string fingerprint() const override { return "watched"; }
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  BpeTokenizer tokenizer_ = small_tokenizer();
  mutable std::size_t most_ = 0;
};

// Such a text has no blank, and its lines do not end with ASCII.
TEST(TokenFile, OfAChineseTextIsMadePieceByPiece) {
  const Scratch scratch;
  std::string text;
  while (text.size() < (12U << 20U)) text += "\u7684\u662f\u5728\uff0c\u4e00\u4e2a\u3002\n";
  const WatchedTokenizer tokenizer;
  const auto tokens = Tokens::encode(scratch.file("text", text), 0, tokenizer, scratch.path() / "kept");
  ASSERT_TRUE(tokens.ok()) << tokens.failure().message;
  EXPECT_LE(tokenizer.most(), 8U << 20U);
  EXPECT_EQ(read_all(**tokens), small_tokenizer().encode(text));
}

TEST(TokenFile, IsMadeOnceForATextAndATokenizer) {
  const Scratch scratch;
  ASSERT_TRUE(obtain("in the", small_tokenizer(), scratch.path()).ok());
  const auto first = files_in(scratch.path());
  ASSERT_EQ(first.size(), 1U);
  const auto made = fs::last_write_time(first[0]);
  fs::last_write_time(first[0], made - std::chrono::hours(1));
  ASSERT_TRUE(obtain("in the", small_tokenizer(), scratch.path()).ok());
  EXPECT_EQ(fs::last_write_time(first[0]), made - std::chrono::hours(1)) << "not written again";
  ASSERT_TRUE(obtain("in thee", small_tokenizer(), scratch.path()).ok());
  ASSERT_TRUE(obtain("in the", small_tokenizer("another"), scratch.path()).ok());
  EXPECT_EQ(files_in(scratch.path()).size(), 3U);
}

TEST(TokenFile, IsMadeAnewWhereAnyByteOfItIsDamaged) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const Scratch scratch;
  const std::string text = words(50);
  ASSERT_TRUE(obtain(text, small_tokenizer(), scratch.path()).ok());
  const fs::path path = files_in(scratch.path())[0];
  const std::string good = *read_file(path.string());
  for (int trial = 0; trial < 30; ++trial) {
    std::string damaged = good;
    if (trial < 3) {
      damaged.resize(std::size_t{100} * static_cast<std::size_t>(trial));
    } else {
      damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    }
    std::ofstream(path, std::ios::binary) << damaged;
    const auto file = obtain(text, small_tokenizer(), scratch.path());
    ASSERT_TRUE(file.ok()) << file.failure().message;
    ASSERT_EQ(file->text(), good);
    ASSERT_EQ(*read_file(path.string()), good);
  }
}

// A vocabulary beyond 16 bits; nothing but its size matters here.
class WideTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] int vocabulary_size() const override { return 70000; }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    for (const char byte : text) tokens.push_back(69744 + static_cast<unsigned char>(byte));
    return tokens;
  }
  [[nodiscard]] std::string bytes_of(std::int32_t token) const override { return {static_cast<char>(token - 69744)}; }
  [[nodiscard]] std::size_t seam_after(std::string_view text, std::size_t wanted) const override {
    return Pretokenizer().seam_after(text, wanted);
  }
  [[nodiscard]] std::string fingerprint() const override { return "wide"; }
};

TEST(TokenFile, IsAsWideAsTheVocabulary) {
  EXPECT_EQ(token_width(256), 1U);
  EXPECT_EQ(token_width(257), 2U);
  EXPECT_EQ(token_width(50257), 2U);
  EXPECT_EQ(token_width(65536), 2U);
  EXPECT_EQ(token_width(65537), 4U);
  const Scratch scratch;
  const auto tokens = Tokens::encode(scratch.file("text", "a b\xff"), 0, WideTokenizer(), scratch.path() / "kept");
  ASSERT_TRUE(tokens.ok()) << tokens.failure().message;
  EXPECT_EQ(read_all(**tokens), WideTokenizer().encode("a b\xff"));
}

TEST(TokenFile, SaysWhichFolderCannotBeWritten) {
  const Scratch scratch;
  const auto file = obtain("text", small_tokenizer(), scratch.file("file", "x") / "below");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.failure().error, Error::kIo);
}

// A run must not go on with another text or another tokenizer.
TEST(CorpusSha256, NamesTheTextAndATokenizerOfOnesOwn) {
  const Scratch scratch;
  const fs::path path = scratch.file("text", "in the");
  const auto identity = [&](const std::string& name) {
    return (*Tokens::encode(path, 0, small_tokenizer(name), scratch.path() / "kept"))->corpus_sha256();
  };
  const std::string of_text = (*Tokens::open(path, 0))->corpus_sha256();
  EXPECT_EQ(identity("306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"), of_text) << "GPT-2's";
  EXPECT_NE(identity("one"), of_text);
  EXPECT_NE(identity("one"), identity("two"));
  EXPECT_EQ(identity("one"), identity("one"));
}

}  // namespace
}  // namespace shoal::token_file_test
