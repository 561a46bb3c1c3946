// Asks for samples of a text that hangs, comes back, or cannot be read.
#include "launch/processes/text/timely_samples.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <new>

namespace shoal::timely_samples_test {
namespace {

using std::chrono::milliseconds;

constexpr Duration kShort = milliseconds(20);
constexpr Duration kLong = std::chrono::minutes(1);

// Gives each sample the number that it was asked by; hangs while it is told to.
class Text final : public SampleSource {
 public:
  Result<Sample> training(StepId step, MicrobatchId microbatch) const override {
    return read(step.value * 100 + microbatch.value);
  }
  std::uint32_t evaluation_count(EvaluationExtent /*extent*/) const override { return 7; }
  std::uint64_t evaluation_windows(EvaluationExtent /*extent*/) const override { return 14; }
  Result<Sample> evaluation(MicrobatchId microbatch) const override { return read(microbatch.value); }

  void hang(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    is_changed_.notify_all();
  }
  void lose() {
    const std::lock_guard lock(mutex_);
    is_lost_ = true;
  }
  std::atomic<bool> fault = false;
  [[nodiscard]] int reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

 private:
  Result<Sample> read(std::uint64_t number) const {
    std::unique_lock lock(mutex_);
    ++reads_;
    if (fault) throw std::bad_alloc();
    is_changed_.wait(lock, [this] { return !hangs_; });
    if (is_lost_) return fail(Error::kIo, "the shard is away");
    Sample sample;
    sample.target_bytes = number;
    return sample;
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable is_changed_;
  mutable int reads_ = 0;
  bool hangs_ = false;
  bool is_lost_ = false;
};

struct TimelySamplesTest : testing::Test {
  std::shared_ptr<Text> text = std::make_shared<Text>();

  [[nodiscard]] TimelySamples timely(Duration patience) const { return {text, "novels.txt", patience}; }
};

// Asks as the data loader does: again while the sample is late, which it may be where this turn's patience is used up.
template <class Ask>
Result<Sample> asked_until_there(const Ask& ask) {
  const Instant begun = steady_now();
  while (true) {
    auto sample = ask();
    if (sample.ok() || steady_now() - begun >= kLong) return sample;
  }
}

TEST_F(TimelySamplesTest, AreThoseOfTheText) {
  const TimelySamples samples = timely(kLong);
  for (std::uint64_t step = 0; step < 50; ++step) {
    EXPECT_EQ(samples.training(StepId{step}, MicrobatchId{3})->target_bytes, step * 100 + 3);
    EXPECT_EQ(samples.evaluation(MicrobatchId{static_cast<std::uint32_t>(step)})->target_bytes, step);
  }
  EXPECT_EQ(text->reads(), 100);
  EXPECT_EQ(samples.evaluation_count(EvaluationExtent::kLast), 7U);
  EXPECT_EQ(samples.evaluation_windows(EvaluationExtent::kLast), 14U);
  text->lose();
  EXPECT_EQ(samples.evaluation(MicrobatchId{1}).failure().message, "the shard is away");
}

TEST_F(TimelySamplesTest, OfATextThatHangsCannotBeReadUntilItIsBack) {
  const TimelySamples samples = timely(kShort);
  text->hang(true);
  for (int tries = 0; tries < 3; ++tries) {
    const auto hanging = samples.training(StepId{5}, MicrobatchId{1});
    ASSERT_FALSE(hanging.ok());
    EXPECT_EQ(hanging.failure().error, Error::kUnreachable);
    EXPECT_EQ(hanging.failure().message, "novels.txt does not answer: a disk or network file system that hangs?");
  }
  EXPECT_FALSE(samples.evaluation(MicrobatchId{2}).ok()) << "one read at a time";
  text->hang(false);
  const auto there = asked_until_there([&] { return samples.training(StepId{5}, MicrobatchId{1}); });
  ASSERT_TRUE(there.ok());
  EXPECT_EQ(there->target_bytes, 501U);
  EXPECT_EQ(text->reads(), 1) << "what was read meanwhile is taken";
  EXPECT_TRUE(asked_until_there([&] { return samples.evaluation(MicrobatchId{2}); }).ok());
}

TEST_F(TimelySamplesTest, AnotherSampleMayBeWantedThanTheOneThatHung) {
  const TimelySamples samples = timely(kShort);
  text->hang(true);
  EXPECT_FALSE(samples.training(StepId{5}, MicrobatchId{1}).ok());
  text->hang(false);
  EXPECT_TRUE(asked_until_there([&] { return samples.training(StepId{6}, MicrobatchId{0}); }).ok());
}

// A data loader that was replaced beside its successor.
TEST_F(TimelySamplesTest, TwoWhoAskGetTheirOwn) {
  const TimelySamples samples = timely(kLong);
  const auto ask = [&samples](std::uint64_t step) {
    int wrong = 0;
    for (int i = 0; i < 2000; ++i) {
      const auto sample = samples.training(StepId{step}, MicrobatchId{1});
      wrong += sample.ok() && sample->target_bytes != step * 100 + 1 ? 1 : 0;
    }
    return wrong;
  };
  const Instant begun = steady_now();
  auto other = std::async(std::launch::async, ask, 7);
  EXPECT_EQ(ask(8), 0);
  EXPECT_EQ(other.get(), 0);
  EXPECT_LT(steady_now() - begun, kLong) << "who has lost its sample to the other does not wait for it";
}

// 40 samples of one turn would be a silence of 40 patiences, if each had its own.
TEST_F(TimelySamplesTest, OneTurnHasOnePatience) {
  const TimelySamples samples = timely(milliseconds(100));
  text->hang(true);
  const Instant begun = steady_now();
  for (int i = 0; i < 40; ++i) EXPECT_FALSE(samples.training(StepId{5}, MicrobatchId{1}).ok());
  EXPECT_LT(steady_now() - begun, milliseconds(2000));
  text->hang(false);
}

TEST_F(TimelySamplesTest, WhatReadingThrowsIsWhoseQuestionItWas) {
  const TimelySamples samples = timely(kLong);
  text->fault = true;
  EXPECT_THROW((void)samples.training(StepId{5}, MicrobatchId{1}), std::bad_alloc);
  text->fault = false;
  EXPECT_TRUE(samples.training(StepId{5}, MicrobatchId{1}).ok());
}

TEST_F(TimelySamplesTest, ATextThatHangsHoldsUpNoEnd) {
  {
    const TimelySamples samples = timely(kShort);
    text->hang(true);
    EXPECT_FALSE(samples.training(StepId{5}, MicrobatchId{1}).ok());
  }
  text->hang(false);
}

}  // namespace
}  // namespace shoal::timely_samples_test
