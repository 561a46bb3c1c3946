// GPT-2's tokenizer as a fresh machine gets it, against token counts and digests of another implementation (tiktoken
// over the same ranks, with Python's regex module).
//
// Skipped, with the reason, where the package index or a text cannot be had; other ranks than the published fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/data/fetch.h"
#include "runtime/data/text.h"
#include "runtime/data/tokenizers/bpe_tokenizer.h"
#include "runtime/data/tokenizers/ranks.h"
#include "runtime/data/tokens.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::gpt2_test {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

// Uses the machine's folder for such files, so that they are fetched once for all tests.
Result<std::shared_ptr<const Tokenizer>> gpt2() { return make_tokenizer("gpt2"); }

#define SKIP_WHERE_UNREACHABLE(result)                                                                               \
  if (!(result).ok() && (result).failure().error == Error::kUnreachable) GTEST_SKIP() << (result).failure().message; \
  ASSERT_TRUE((result).ok()) << (result).failure().message

// Digest of the tokens as little-endian 16-bit numbers.
std::string digest_of(const Ids& ids) {
  std::string bytes;
  for (const std::int32_t id : ids) {
    bytes += static_cast<char>(id & 0xFF);
    bytes += static_cast<char>(id >> 8);
  }
  return sha256_hex(std::string_view(bytes));
}

TEST(Gpt2Ranks, AreFetchedOnceAndCheckedEachTime) {
  const Scratch scratch;
  const fs::path kept = scratch.path() / "kept";
  const auto path = fetch_gpt2_ranks(kept);
  SKIP_WHERE_UNREACHABLE(path);
  EXPECT_EQ(*sha256_file(*path), kGpt2RanksSha256);
  EXPECT_EQ(std::distance(fs::directory_iterator(kept), fs::directory_iterator()), 1) << "nothing else is left";
  const auto tokens = parse_ranks(*read_file(path->string()), path->string());
  ASSERT_TRUE(tokens.ok()) << tokens.failure().message;
  EXPECT_EQ(tokens->size(), kGpt2RanksCount);

  // The second time nothing is needed but the kept file; a damaged one is not used.
  const Setting nowhere("PATH", "");
  const Setting none("SHOAL_CORPORA", (scratch.path() / "absent").string());
  EXPECT_TRUE(fetch_gpt2_ranks(kept).ok());
  std::ofstream(*path, std::ios::app) << "x";
  EXPECT_FALSE(fetch_gpt2_ranks(kept).ok());
}

TEST(Gpt2Tokenizer, EncodesAsTiktokenDoes) {
  const auto tokenizer = gpt2();
  SKIP_WHERE_UNREACHABLE(tokenizer);
  EXPECT_EQ((*tokenizer)->vocabulary_size(), 50257);
  EXPECT_EQ((*tokenizer)->bytes_of(50256), "<|endoftext|>");
  EXPECT_EQ((*tokenizer)->encode("Hello world, the quick brown fox. <|endoftext|>"),
            (Ids{15496, 995, 11, 262, 2068, 7586, 21831, 13, 1279, 91, 437, 1659, 5239, 91, 29}));
  EXPECT_EQ((*tokenizer)
                ->encode("It's  na\u00efve\u2014they'll   pay \u00a33,000\u00bd for 2\u00b2\u00b3 "
                         "x\u00a0\u180e\u2003y\u2028\r\n\n z'S I'd've \u65e5\u672c\u8a9e\u30c6\u30b9\u30c8 "
                         "e\u0301 \U0001f600\U0001f44d\U0001f3fd \t\tend  "),
            (Ids{1026, 338,   220,   41492, 960,   9930, 1183,  220, 220, 1414,  4248, 18,    11,  830,   23141, 329,
                 362,  31185, 126,   111,   2124,  1849, 157,   254, 236, 447,   225,  88,    447, 101,   201,   628,
                 1976, 6,     50,    314,   1549,  1053, 10545, 245, 98,  17312, 105,  45739, 252, 24336, 43302, 304,
                 136,  223,   30325, 222,   41840, 235,  8582,  237, 121, 220,   197,  197,   437, 220,   220}));
}

// The shortcut for pieces that are tokens rests on this.
TEST(Gpt2Tokenizer, MergesEveryTokenFromItsBytes) {
  const auto tokenizer = gpt2();
  SKIP_WHERE_UNREACHABLE(tokenizer);
  const auto& bpe = dynamic_cast<const BpeTokenizer&>(**tokenizer);
  for (std::int32_t token = 0; token < bpe.end_of_text(); ++token) {
    ASSERT_EQ(bpe.merge(bpe.bytes_of(token)), Ids{token});
  }
}

TEST(Gpt2Tokenizer, GivesTheNovelsOfJaneAustenTheirTokens) {
  const auto tokenizer = gpt2();
  SKIP_WHERE_UNREACHABLE(tokenizer);
  const auto path = obtain_corpus("austen");
  SKIP_WHERE_UNREACHABLE(path);
  const std::string text = *read_file(path->string());
  const Ids ids = (*tokenizer)->encode(text);
  EXPECT_EQ(ids.size(), 993332U);
  EXPECT_EQ(digest_of(ids), "0b88f50bb4c060c6817954cff5196dfd239d58547e9a3df8a708cd9005868a17");
  EXPECT_EQ((*tokenizer)->decode(ids), text);
  const Scratch scratch;
  const auto tokens = Tokens::encode(*path, 0.1, **tokenizer, scratch.path());
  ASSERT_TRUE(tokens.ok()) << tokens.failure().message;
  Ids mapped((*tokens)->count());
  ASSERT_TRUE((*tokens)->read(0, mapped).ok());
  EXPECT_EQ(mapped, ids);
  EXPECT_EQ((*tokens)->corpus_sha256(), sha256_hex(std::string_view(text)));
}

// The text that others count their tokens by; it lies beside the repository where there is one.
TEST(Gpt2Tokenizer, GivesTinyShakespeareItsTokens) {
  const auto tokenizer = gpt2();
  SKIP_WHERE_UNREACHABLE(tokenizer);
  const std::string own = environment_value("SHOAL_TINYSHAKESPEARE");
  const std::string path = own.empty() ? SHOAL_SOURCE_DIR "/../shared/data/tinyshakespeare.txt" : own;
  const auto text = read_file(path);
  if (!text.ok()) GTEST_SKIP() << text.failure().message << "; SHOAL_TINYSHAKESPEARE names another file";
  const Ids ids = (*tokenizer)->encode(*text);
  EXPECT_EQ(ids.size(), 338025U);
  EXPECT_EQ(digest_of(ids), "25c01b32b32f41897a6359dd222ec114992dc30c357bcafbfe6c56672f76cd31");
}

TEST(Gpt2Tokenizer, GivesBackAnyBytes) {
  const auto tokenizer = gpt2();
  SKIP_WHERE_UNREACHABLE(tokenizer);
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 300; ++trial) {
    std::string text;
    for (std::size_t length = random() % 2000; text.size() < length;) {
      const auto token = static_cast<std::int32_t>(random() % 50256);
      text += trial % 3 == 0 ? std::string(1, static_cast<char>(random())) : (*tokenizer)->bytes_of(token);
    }
    ASSERT_EQ((*tokenizer)->decode((*tokenizer)->encode(text)), text);
  }
}

}  // namespace
}  // namespace shoal::gpt2_test
