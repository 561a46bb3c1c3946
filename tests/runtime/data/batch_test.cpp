// Microbatches hold the tokens the order names; the evaluation counts each target once.
#include "runtime/data/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "runtime/data/tokenizers/bpe_tokenizer.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::batch_test {
namespace {

// A text whose neighbouring bytes differ, so that a shift by one is seen.
std::string counting_text(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>((i * 7 + i / 256) % 256);
  return text;
}

std::shared_ptr<const Tokens> tokens_of(const Scratch& scratch, const std::string& text, double fraction) {
  return *Tokens::open(scratch.file("text", text), fraction);
}

int byte_at(const std::string& text, std::uint64_t at) { return static_cast<std::uint8_t>(text[at]); }

TEST(MakeMicrobatch, HoldsTheSequencesOfTheOrderAndTheirNextTokens) {
  const Scratch scratch;
  const std::string text = counting_text(500);
  const auto tokens = tokens_of(scratch, text, 0.2);
  const Order order(OrderConfig{.seed = 3, .context = 16, .sequences = 6, .microbatch = 3, .train_tokens = 400});
  for (std::uint64_t step = 0; step < 30; ++step) {
    const Microbatch microbatch = *make_microbatch(*tokens, order, StepId{step}, MicrobatchId{1});
    const auto offsets = order.offsets(StepId{step}, MicrobatchId{1});
    EXPECT_EQ(microbatch.inputs.dtype, DType::kInt32);
    EXPECT_EQ(microbatch.inputs.shape, (std::vector<std::int64_t>{3, 16}));
    EXPECT_EQ(microbatch.targets.shape, microbatch.inputs.shape);
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t t = 0; t < 16; ++t) {
        ASSERT_EQ(microbatch.inputs.as<std::int32_t>()[b * 16 + t], byte_at(text, offsets[b] + t));
        ASSERT_EQ(microbatch.targets.as<std::int32_t>()[b * 16 + t], byte_at(text, offsets[b] + t + 1));
      }
    }
  }
}

TEST(MakeMicrobatch, WantsTheOrderOfTheseTokens) {
  const Scratch scratch;
  const auto tokens = tokens_of(scratch, counting_text(500), 0.2);
  const Order other(OrderConfig{.seed = 3, .context = 16, .sequences = 6, .microbatch = 3, .train_tokens = 300});
  EXPECT_THROW((void)make_microbatch(*tokens, other, StepId{0}, MicrobatchId{0}), Bug);
}

struct Shape {
  std::uint64_t validation;
  std::uint64_t context;
  int sequences;
  int microbatch;
};

// Counts how often each validation token is a target; checks on the way that inputs precede their targets.
std::map<std::uint64_t, int> targets_of(const Shape& shape, const std::vector<Microbatch>& microbatches,
                                        const std::string& text) {
  std::map<std::uint64_t, int> seen;
  std::uint64_t at = text.size() - shape.validation + 1;  // windows follow each other, so targets count up
  for (const Microbatch& microbatch : microbatches) {
    EXPECT_EQ(microbatch.inputs.shape[0], shape.microbatch);
    for (std::int64_t i = 0; i < microbatch.targets.element_count(); ++i) {
      const std::int32_t target = microbatch.targets.as<std::int32_t>()[i];
      const std::int32_t input = microbatch.inputs.as<std::int32_t>()[i];
      if (target < 0) {
        EXPECT_EQ(target, -1);
        EXPECT_EQ(input, 0);
        continue;
      }
      EXPECT_EQ(target, byte_at(text, at));
      EXPECT_EQ(input, byte_at(text, at - 1));
      ++seen[at++];
    }
  }
  return seen;
}

constexpr int kExtraTokens = 3;

std::uint64_t bytes_of_all(const std::vector<Microbatch>& microbatches, const Tokenizer& tokenizer) {
  const TextBytes text_bytes(tokenizer, tokenizer.vocabulary_size() + kExtraTokens);
  std::uint64_t bytes = 0;
  for (const Microbatch& microbatch : microbatches) bytes += text_bytes.of(microbatch.targets);
  return bytes;
}

TEST(Evaluation, CountsEachTargetOnce) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 60; ++trial) {
    const int microbatch = 1 + static_cast<int>(random() % 4);
    const Shape shape{.validation = 2 + random() % 400,
                      .context = 1 + random() % 20,
                      .sequences = microbatch * (1 + static_cast<int>(random() % 3)),
                      .microbatch = microbatch};
    const Scratch scratch;
    const std::string text = counting_text(2 * shape.validation);
    const EvaluationPlan plan(tokens_of(scratch, text, 0.5), shape.context,
                              BatchConfig{.sequences = shape.sequences, .microbatch = shape.microbatch});
    std::vector<Microbatch> all;
    for (std::uint64_t batch = 0; batch < plan.batch_count(0); ++batch) {
      auto made = evaluation_microbatches(plan, batch);
      for (Microbatch& one : *made) all.push_back(std::move(one));
    }
    const auto seen = targets_of(shape, all, text);
    ASSERT_EQ(seen.size(), shape.validation - 1)
        << "context " << shape.context << ", " << shape.sequences << "/" << shape.microbatch;
    EXPECT_EQ(bytes_of_all(all, ByteTokenizer()), shape.validation - 1);
    // Negative control: without its last microbatch the evaluation is seen to be incomplete.
    all.pop_back();
    EXPECT_LT(targets_of(shape, all, text).size(), shape.validation - 1);
  }
}

TEST(Evaluation, CutsWindowsIntoBatches) {
  const Scratch scratch;
  // 100 validation tokens: 99 targets, 25 windows of 4 (the last of 3), 7 batches of 4 (the last of 1).
  const EvaluationPlan plan(tokens_of(scratch, counting_text(200), 0.5), 4,
                            BatchConfig{.sequences = 4, .microbatch = 2});
  EXPECT_EQ(plan.window_count(), 25U);
  EXPECT_EQ(plan.window_count(3), 12U);
  EXPECT_EQ(plan.window_count(7), 25U);
  EXPECT_EQ(plan.batch_count(0), 7U);
  EXPECT_EQ(plan.batch_count(3), 3U);
  EXPECT_EQ(plan.batch_count(20), 7U);
  EXPECT_EQ(plan.microbatch_count(0), 2U);
  EXPECT_EQ(plan.microbatch_count(6), 1U);
  EXPECT_THROW((void)plan.microbatch_count(7), Bug);
  EXPECT_THROW((void)plan.microbatch(6, MicrobatchId{1}), Bug);
}

// Tokens that stand for several bytes change bits per byte and nothing else.
class TripleTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] int vocabulary_size() const override { return 256; }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view) const override { return {}; }
  [[nodiscard]] std::string bytes_of(std::int32_t) const override { return "abc"; }
  [[nodiscard]] std::size_t seam_after(std::string_view text, std::size_t wanted) const override {
    return std::min(wanted, text.size());
  }
  [[nodiscard]] std::string fingerprint() const override { return "triple"; }
};

TEST(TextBytes, AreThoseOfTheTargetsThatCount) {
  const Scratch scratch;
  const EvaluationPlan plan(tokens_of(scratch, counting_text(200), 0.5), 8,
                            BatchConfig{.sequences = 4, .microbatch = 4});
  const auto whole = *evaluation_microbatches(plan, 0);
  EXPECT_EQ(bytes_of_all(whole, TripleTokenizer()), 3U * 32U);
  EXPECT_EQ(bytes_of_all(whole, ByteTokenizer()), 32U);
  const auto last = *evaluation_microbatches(plan, 3);  // of 99 targets the last three
  EXPECT_EQ(bytes_of_all(last, TripleTokenizer()), 3U * 3U);
}

// Tokens of a file of shards: two documents, and what stands between them.
struct TwoDocuments final : TokenStore {
  std::vector<std::int32_t> tokens;
  [[nodiscard]] std::uint64_t count() const override { return tokens.size(); }
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::int32_t> out) const override {
    std::ranges::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(offset), std::ssize(out), out.begin());
    return Done{};
  }
  [[nodiscard]] std::string sha256() const override { return {}; }
};

TEST(TextBytes, OfTheEndOfATextAreNone) {
  std::vector<std::string> ranks;
  for (int byte = 0; byte < 256; ++byte) ranks.emplace_back(1, static_cast<char>(byte));
  ranks.emplace_back("wo");
  const BpeTokenizer tokenizer(ranks, "");
  ASSERT_EQ(tokenizer.end_of_text(), 257);
  auto store = std::make_unique<TwoDocuments>();
  store->tokens = {257, 256, 'r', 'd', 257, 't', 256};
  const EvaluationPlan plan(Tokens::of("", std::move(store), 1), 8, BatchConfig{.sequences = 1, .microbatch = 1});
  EXPECT_EQ(bytes_of_all(*evaluation_microbatches(plan, 0), tokenizer), std::string("word"
                                                                                    "two")
                                                                            .size());
}

TEST(TextBytes, OfATokenBehindTheTokenizersAreNone) {
  auto store = std::make_unique<TwoDocuments>();
  store->tokens = {256, 'a', 256, 'b', 255 + kExtraTokens};
  const EvaluationPlan plan(Tokens::of("", std::move(store), 1), 8, BatchConfig{.sequences = 1, .microbatch = 1});
  EXPECT_EQ(bytes_of_all(*evaluation_microbatches(plan, 0), ByteTokenizer()), 2U);
}

TEST(BitsPerByte, AreOfBytesAndNotOfTokens) {
  EXPECT_NEAR(bits_per_byte(std::log(2.0), 100, 100), 1.0, 1e-12);
  EXPECT_NEAR(bits_per_byte(std::log(2.0), 100, 300), 1.0 / 3, 1e-12);
  EXPECT_TRUE(std::isnan(bits_per_byte(1, 1, 0))) << "the ends of empty texts alone";
}

}  // namespace
}  // namespace shoal::batch_test
