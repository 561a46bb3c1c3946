// Texts of what CUDA and torch answer.
#include "runtime/device/cuda/device_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::device_answers_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(DeviceAnswers, ARefusalIsOneLine) {
  const std::string text = refusal_text("Found no NVIDIA driver on your system.\nException raised from ...");
  EXPECT_THAT(text, HasSubstr("CUDA device: Found no NVIDIA driver on your system."));
  EXPECT_THAT(text, Not(HasSubstr("Exception raised")));
}

TEST(DeviceAnswers, WhateverIsThrownIsARefusal) {
  const auto torchs = answer_of([]() -> Result<int> { TORCH_CHECK(false, "CUDA error: unspecified\nmore"); });
  ASSERT_FALSE(torchs.ok());
  EXPECT_EQ(torchs.failure().error, Error::kUsage);
  EXPECT_EQ(torchs.failure().message, "LibTorch cannot use the CUDA device: CUDA error: unspecified");
  const auto others = answer_of([]() -> Status { throw std::out_of_range("vector::at\nmore"); });
  ASSERT_FALSE(others.ok());
  EXPECT_EQ(others.failure().message, "LibTorch cannot use the CUDA device: vector::at");
  EXPECT_EQ(*answer_of([]() -> Result<int> { return 7; }), 7) << "control";
  EXPECT_EQ(answer_of([]() -> Status { return fail(Error::kIo, "its own"); }).failure().message, "its own");
}

TEST(DeviceAnswers, ADeviceWithoutUnitsForBf16IsNamed) {
  EXPECT_TRUE(check_bf16_units("NVIDIA H100", 90).ok());
  EXPECT_TRUE(check_bf16_units("NVIDIA A100", 80).ok());
  const auto refused = check_bf16_units("Tesla T4", 75);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUsage);
  EXPECT_THAT(refused.failure().message, HasSubstr("the device Tesla T4 (sm_75) has no units for it"));
  EXPECT_THAT(refused.failure().message, Not(HasSubstr("fp32"))) << "no kernel of ours runs on it";
}

TEST(DeviceAnswers, CudnnsAttentionIsForDevicesThatTorchPrefersItOn) {
  EXPECT_TRUE(check_cudnn_attention("NVIDIA H100", 90, 91900).ok());
  EXPECT_TRUE(check_cudnn_attention("NVIDIA B200", 100, 91501).ok());
  EXPECT_FALSE(check_cudnn_attention("NVIDIA H100", 90, 91500).ok());
  EXPECT_FALSE(check_cudnn_attention("NVIDIA RTX 5090", 120, 91900).ok());
  const auto refused = check_cudnn_attention("NVIDIA A100", 80, 91900);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.failure().message, HasSubstr("and NVIDIA A100 is sm_80 with cuDNN 9.19.0"));
}

TEST(DeviceAnswers, AFingerprintDiffersWithWhatBitsDependOn) {
  const DeviceFingerprint one{"NVIDIA H100", 90, 132, 13000, 13000, 91900, "abc"};
  const std::string text = fingerprint_text(one);
  for (const char* part :
       {"torch 2.", "NVIDIA H100", "sm_90", "132 SMs", "driver 13.0", "cuda 13.0", "cudnn 9.19.0", "build abc"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  DeviceFingerprint other = one;
  other.multiprocessors = 114;
  EXPECT_NE(fingerprint_text(other), text);
}

TEST(DeviceAnswers, AnIdentityHasEveryBit) {
  std::string bytes(16, '\0');
  bytes[0] = '\xfe';
  EXPECT_EQ(identity_text(bytes.data()), "GPU-fe" + std::string(30, '0'));
  bytes[15] = 1;
  EXPECT_EQ(identity_text(bytes.data()), "GPU-fe" + std::string(29, '0') + "1");
}

}  // namespace
}  // namespace shoal::device_answers_test
