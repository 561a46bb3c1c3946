// A whole run whose tokens are not bytes: the same promises, on a byte-pair encoding of one's own.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "runtime/data/tokenizers/bpe_tokenizer.h"
#include "tests/runtime/data/tokenizers/small_ranks.h"
#include "tests/support/process_scene.h"

namespace shoal::tokenizer_test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> own_tokens() {
  std::vector<std::string> tokens = every_byte();
  for (const char* token : {"he", " t", "in", "er", "an", " a", " s", "on", " the", "re", "ou", "\xc3\xa9"}) {
    tokens.emplace_back(token);
  }
  return tokens;
}

class OwnTokenizer : public testing::Test {
 protected:
  OwnTokenizer() {
    std::ofstream(path(), std::ios::binary) << ranks_text(own_tokens());
    scene_.set_environment({{"SHOAL_DATA", (scene_.folder() / "kept").string()}});
  }
  [[nodiscard]] fs::path path() const { return scene_.folder() / "own.tiktoken"; }
  [[nodiscard]] SmallRun small(int stages, int replicas) const {
    return {stages, replicas, 10, {"sync.reduction=exact", "data.tokenizer=" + path().string()}};
  }
  // The value on the line of `shoal eval` that begins with `name`.
  static double number(const std::string& out, const std::string& name) {
    const auto at = ("\n" + out).find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << out;
    return at == std::string::npos ? NAN : std::stod(out.substr(at + name.size() + 1));
  }

  ProcessScene scene_;
};

TEST_F(OwnTokenizer, GivesAPipelineTheBitsOfASingleProcess) {
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", small(2, 2))), 0);
  ASSERT_EQ(scene_.run_to_end(train(scene_, "single", small(2, 2), {"--single"})), 0);
  EXPECT_EQ(scene_.records().weights(), scene_.records("single").weights());
  EXPECT_EQ(scene_.records().losses(), scene_.records("single").losses());
  EXPECT_NEAR(scene_.records().losses().front(), std::log(269.0), 0.5) << "the vocabulary is the tokenizer's";
}

TEST_F(OwnTokenizer, CountsTheBytesOfItsTokens) {
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", small(2, 1), {"--single"})), 0);
  Program& eval = scene_.start({"eval", scene_.run().string(), "--data", scene_.text().string()});
  ASSERT_EQ(eval.wait(kRunLimit), 0) << eval.err();
  std::ifstream file(scene_.text(), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const BpeTokenizer tokenizer(own_tokens(), "");
  const auto tokens = tokenizer.encode(text);
  const double targets = static_cast<double>(tokens.size() - 1);
  ASSERT_LT(targets, 0.95 * static_cast<double>(text.size())) << "some tokens are longer than a byte";
  EXPECT_EQ(number(eval.out(), "tokens"), targets);
  const double bytes = static_cast<double>(text.size() - tokenizer.bytes_of(tokens[0]).size());
  const double bits = number(eval.out(), "loss") / std::log(2.0) * targets / bytes;
  EXPECT_NEAR(number(eval.out(), "bits_per_byte"), bits, 1e-6 * bits);
  Program& sample = scene_.start({"sample", scene_.run().string(), "--prompt", "caf\xc3\xa9", "--tokens", "60"});
  ASSERT_EQ(sample.wait(kRunLimit), 0) << sample.err();
  EXPECT_TRUE(sample.out().starts_with("caf\xc3\xa9")) << sample.out();
  EXPECT_GT(sample.out().size(), 60U);
}

TEST_F(OwnTokenizer, IsKeptByARunThatGoesOn) {
  ASSERT_EQ(scene_.run_to_end(train(scene_, "run", small(2, 1), {"--steps", "4"})), 0);
  Program& other = scene_.start({"train", "--resume", scene_.run().string(), "--set", "data.tokenizer=bytes"});
  EXPECT_EQ(other.wait(kRunLimit), 2);
  EXPECT_NE(other.err().find("data.tokenizer"), std::string::npos) << other.err();
  std::vector<std::string> more = own_tokens();
  more.emplace_back("zz");
  std::ofstream(path(), std::ios::binary) << ranks_text(more);
  Program& grown = scene_.start({"eval", scene_.run().string()});
  EXPECT_EQ(grown.wait(kRunLimit), 3);
  EXPECT_NE(grown.err().find("make a vocabulary of 270"), std::string::npos) << grown.err();
  // The ranks are as many, but others: the weights were trained on what they do not mean.
  std::vector<std::string> tokens = own_tokens();
  tokens.back() = "zz";
  std::ofstream(path(), std::ios::binary) << ranks_text(tokens);
  for (const char* mode : {"--nodes=2", "--single"}) {
    Program& changed = scene_.start({"train", "--resume", scene_.run().string(), mode});
    EXPECT_EQ(changed.wait(kRunLimit), 3) << changed.err();
    EXPECT_NE(changed.err().find("another tokenizer"), std::string::npos) << changed.err();
  }
  const std::string elsewhere = "data.tokenizer=" + (scene_.folder() / "moved.tiktoken").string();
  fs::rename(path(), scene_.folder() / "moved.tiktoken");
  Program& moved = scene_.start({"train", "--resume", scene_.run().string(), "--set", elsewhere});
  EXPECT_EQ(moved.wait(kRunLimit), 3) << "other ranks at another place: " << moved.err();
  std::ofstream(scene_.folder() / "moved.tiktoken", std::ios::binary) << ranks_text(own_tokens());
  ASSERT_EQ(scene_.run_to_end({"train", "--resume", scene_.run().string(), "--set", elsewhere}), 0);
  EXPECT_EQ(scene_.records().finals.back().steps, 10U);
}

}  // namespace
}  // namespace shoal::tokenizer_test
