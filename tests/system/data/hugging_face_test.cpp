// An exported tokenizer, read by the library that its users have: the same numbers for every text.
//
// Skipped, with the reason, where the package index cannot be had.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "runtime/base/file.h"
#include "runtime/data/command.h"
#include "runtime/data/tokenizers/bpe_tokenizer.h"
#include "runtime/data/tokenizers/hugging_face_tokenizer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/data/tokenizers/small_ranks.h"

namespace shoal::hugging_face_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;

Result<int> run_python(const fs::path& folder, std::vector<std::string> words, const std::string& packages = {}) {
  words.insert(words.begin(), "python3");
  return run_command({words, folder, "out", "err", {"PYTHONPATH=" + packages}});
}

class HuggingFace : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = std::make_unique<Scratch>();
    const auto installed = run_python(
        scratch_->path(), {"-m", "pip", "install", "--quiet", "--no-deps",
                           "--only-binary=:all:", "--disable-pip-version-check", "--target", "packages", "tokenizers"});
    if (!installed.ok() || *installed != 0) why_not_ = "pip cannot install tokenizers";
  }
  static void TearDownTestSuite() { scratch_.reset(); }
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
  }

  // Runs hugging_face.py and returns what it prints.
  static std::string ask_python(std::vector<std::string> words) {
    words.insert(words.begin(), SHOAL_SOURCE_DIR "/tests/system/data/hugging_face.py");
    const auto status = run_python(scratch_->path(), std::move(words), (scratch_->path() / "packages").string());
    const auto file = [](const char* name) { return read_file((scratch_->path() / name).string()).value(); };
    EXPECT_TRUE(status.ok() && *status == 0) << file("err");
    return file("out");
  }
  // Returns the tokens that the library makes of each text by the tokenizer.json of the scratch folder.
  static Json read_texts(const Texts& texts) {
    const fs::path list = scratch_->file("texts.json", Json(texts).dump());
    return Json::parse(ask_python({"tokens", list.parent_path().string(), list.string()}), nullptr, false);
  }
  // The same, by that of the tokenizer.
  static Json read_by(const Tokenizer& tokenizer, const Texts& texts) {
    const auto [described, config] = hugging_face_tokenizer(tokenizer, 64);
    (void)scratch_->file("tokenizer.json", described);
    (void)scratch_->file("tokenizer_config.json", config);
    return read_texts(texts);
  }
  static void expect_same(const Tokenizer& tokenizer, const Texts& texts) {
    const Json read = read_by(tokenizer, texts);
    ASSERT_EQ(read.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ASSERT_EQ(read[i]["ids"].get<Ids>(), tokenizer.encode(texts[i])) << Json(texts[i]);
      ASSERT_EQ(read[i]["text"], texts[i]);
    }
  }

  static std::unique_ptr<Scratch> scratch_;
  static std::string why_not_;
};

std::unique_ptr<Scratch> HuggingFace::scratch_;
std::string HuggingFace::why_not_;

// Words, white space and other scripts, in a random order.
Texts random_texts(std::mt19937_64& random, int count) {
  const Texts parts = {"a",       "b",      "ab",         "ba",       "aab",  " ",      "  ",           "\n",
                       "\t",      "'s",     "It's",       " they'll", "12",   " 3,000", "\u00e9",       "\u65e5\u672c",
                       "e\u0301", "\u2014", "\U0001f600", "\u00a0",   " end", "<|end",  "\u0430\u0431", "!?"};
  Texts texts = {"", " ", "Mr. Darcy  said:\n\n\"I'd've\"  "};
  for (int i = 0; i < count; ++i) {
    std::string text;
    for (auto left = random() % 60; left > 0; --left) text += parts[random() % parts.size()];
    texts.push_back(std::move(text));
  }
  return texts;
}

TEST_F(HuggingFace, ReadsBytesAsTheyAre) {
  std::mt19937_64 random(1);
  expect_same(ByteTokenizer(), random_texts(random, 50));
}

TEST_F(HuggingFace, MergesAnyRanksAsWeDo) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 4; ++trial) {
    const BpeTokenizer tokenizer(random_tokens(random, "ab 's3", 200), "ranks");
    ASSERT_NO_FATAL_FAILURE(expect_same(tokenizer, random_texts(random, 200)));
  }
}

TEST_F(HuggingFace, ReadsGpt2sTokens) {
  const auto tokenizer = make_tokenizer("gpt2");
  if (!tokenizer.ok() && tokenizer.failure().error == Error::kUnreachable) GTEST_SKIP() << tokenizer.failure().message;
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.failure().message;
  std::mt19937_64 random(2);
  Texts texts = random_texts(random, 300);
  for (int i = 0; i < 300; ++i) {  // and of its own tokens, as far as they are characters
    std::string text;
    for (auto left = random() % 40; left > 0; --left) {
      const std::string token = (*tokenizer)->bytes_of(static_cast<std::int32_t>(random() % 50256));
      const bool is_ascii = std::all_of(token.begin(), token.end(), [](char byte) { return byte >= 0; });
      if (is_ascii) text += token;
    }
    texts.push_back(std::move(text));
  }
  ASSERT_NO_FATAL_FAILURE(expect_same(**tokenizer, texts));
  const auto exported = hugging_face_tokenizer(**tokenizer, 64).tokenizer_json;
  EXPECT_EQ(name_or_path(scratch_->file("own.json", exported).string()), "gpt2");
  // The control: by other ranks a text has other numbers. And its end, written out, is one token there alone.
  EXPECT_NE(read_by(ByteTokenizer(), {"the sea"})[0]["ids"].get<Ids>(), (*tokenizer)->encode("the sea"));
  EXPECT_EQ(read_by(**tokenizer, {"<|endoftext|>"})[0]["ids"].get<Ids>(), Ids{50256});
}

// Files as the library writes them for the models of today: read here, a text has the same tokens.
TEST_F(HuggingFace, WritesTokenizersThatWeReadAsItDoes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::string book;
  for (const std::string& text : random_texts(random, 2000)) book += text + "\n";
  const fs::path learnt_from = scratch_->file("book.txt", book);
  Texts texts = random_texts(random, 400);
  texts.emplace_back("a(b)\n\nc!?\r\n \n  d  12345 67 WE'RE I'\u017f\u2028x \u0661\u0662 \u00b2");
  std::size_t shortest = book.size();
  for (const std::string kind : {"llama3", "qwen2", "smollm"}) {
    (void)ask_python({"make", scratch_->path().string(), kind, learnt_from.string()});
    const auto tokenizer = make_tokenizer((scratch_->path() / "tokenizer.json").string());
    ASSERT_TRUE(tokenizer.ok()) << kind << ": " << tokenizer.failure().message;
    EXPECT_EQ((*tokenizer)->end_of_text(), 0);
    EXPECT_EQ((*tokenizer)->bytes_of(1), "<|im_start|>");
    const Json read = read_texts(texts);
    ASSERT_EQ(read.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (kind == "qwen2" && texts[i].find("e\u0301") != std::string::npos) continue;  // its NFC makes one letter of it
      ASSERT_EQ(read[i]["ids"].get<Ids>(), (*tokenizer)->encode(texts[i])) << kind << " " << Json(texts[i]);
    }
    shortest = std::min(shortest, (*tokenizer)->encode(book).size());
  }
  EXPECT_LT(shortest, book.size() / 2) << "the encodings merge";
}

}  // namespace
}  // namespace shoal::hugging_face_test
