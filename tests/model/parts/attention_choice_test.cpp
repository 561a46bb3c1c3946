// The operators for each wish, and the reason where it is not the fastest.
#include "model/parts/attention_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::attention_choice_test {
namespace {

using enum AttentionOperator;
using ::testing::HasSubstr;

constexpr AttentionWish kFast{.is_bf16 = true, .head_size = 64, .tokens = 1024, .repeats = false, .has_cudnn = true};

TEST(AttentionChoice, IsCudnnsWhereAllThatItNeedsIsThere) {
  EXPECT_EQ(attention_choice(kFast).forward, kCudnn);
  EXPECT_EQ(attention_choice(kFast).backward, kCudnn);
  EXPECT_TRUE(attention_choice(kFast).because.empty());
}

TEST(AttentionChoice, GoesBackByFlashAttentionWhereBitsRepeat) {
  AttentionWish repeating = kFast;
  repeating.repeats = true;
  const AttentionChoice choice = attention_choice(repeating);
  EXPECT_EQ(choice.forward, kCudnn);
  EXPECT_EQ(choice.backward, kFlash);
  EXPECT_THAT(std::string(choice.because), HasSubstr("does not repeat"));
}

TEST(AttentionChoice, FallsBackToFlashAttentionWithAReason) {
  struct Lack {
    AttentionWish wish;
    const char* reason;
  };
  AttentionWish other_device = kFast, large_head = kFast, short_text = kFast, odd_text = kFast;
  other_device.has_cudnn = false;
  large_head.head_size = 136;
  short_text.tokens = 56;
  odd_text.tokens = 1001;
  for (const Lack& lack : {Lack{other_device, "not taken on this device"}, Lack{large_head, "at most 128"},
                           Lack{short_text, "64, 72"}, Lack{odd_text, "64, 72"}}) {
    EXPECT_EQ(attention_choice(lack.wish).forward, kFlash) << lack.reason;
    EXPECT_EQ(attention_choice(lack.wish).backward, kFlash) << lack.reason;
    EXPECT_THAT(std::string(attention_choice(lack.wish).because), HasSubstr(lack.reason));
  }
}

TEST(AttentionChoice, FallsBackFurtherWhereFlashAttentionTakesNothing) {
  AttentionWish in_float32 = kFast, largest_head = kFast, larger_head = kFast;
  in_float32.is_bf16 = false;
  largest_head.head_size = 256;
  larger_head.head_size = 258;
  EXPECT_EQ(attention_choice(in_float32).forward, kEfficient);
  EXPECT_EQ(attention_choice(in_float32).backward, kEfficient);
  EXPECT_EQ(attention_choice(largest_head).forward, kFlash);
  EXPECT_EQ(attention_choice(larger_head).forward, kEfficient);
  EXPECT_EQ(attention_choice(larger_head).backward, kEfficient);
  EXPECT_THAT(std::string(attention_choice(larger_head).because), HasSubstr("at most 256"));
}

// No operator of a GPU has a kernel that reads fewer than 16 bytes at once in bf16, nor in float32 behind sm_75.
TEST(AttentionChoice, HeadsAreAsKernelsReadThem) {
  EXPECT_EQ(kernel_head_size(true, 60), 64);
  EXPECT_EQ(kernel_head_size(true, 64), 64);
  EXPECT_EQ(kernel_head_size(true, 2), 8);
  EXPECT_EQ(kernel_head_size(true, 1022), 1024);
  EXPECT_EQ(kernel_head_size(false, 60), 60);
  EXPECT_EQ(kernel_head_size(false, 6), 8);
  AttentionWish odd_head = kFast;
  odd_head.head_size = 60;
  EXPECT_EQ(attention_choice(odd_head).forward, kCudnn) << "as of 64";
  odd_head.head_size = 122;
  EXPECT_EQ(attention_choice(odd_head).forward, kCudnn) << "as of 128";
  odd_head.head_size = 130;
  EXPECT_EQ(attention_choice(odd_head).forward, kFlash) << "as of 136";
}

}  // namespace
}  // namespace shoal::attention_choice_test
