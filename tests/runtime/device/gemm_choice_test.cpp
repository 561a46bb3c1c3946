// The fingerprint names what computes, and the choice reaches torch's BLAS.
#include "runtime/device/gemm_choice.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(GemmChoice, TheFingerprintNamesLibraryChoiceInstructionsAndThreads) {
  prepare_process_for_compute();
  const std::string fingerprint = kernel_fingerprint(3);
  EXPECT_EQ(fingerprint.rfind("torch ", 0), 0U) << fingerprint;
  for (const char* part : {"; gemm mkl ", "; vector ", "; threads 3"}) {
    EXPECT_NE(fingerprint.find(part), std::string::npos) << fingerprint;
  }
  EXPECT_EQ(fingerprint, kernel_fingerprint(3));
  EXPECT_NE(fingerprint, kernel_fingerprint(1));
}

TEST(GemmChoice, TheFastPathIsForcedWhereTheProcessorIsNotIntelsAndFastEnough) {
#if defined(__x86_64__)
  const char* wish = std::getenv("SHOAL_GEMM");
  const bool keeps_default = wish != nullptr && std::string(wish) == "default";
  const bool expected = !keeps_default && __builtin_cpu_is("intel") == 0 && __builtin_cpu_supports("avx2") != 0 &&
                        __builtin_cpu_supports("fma") != 0;
  EXPECT_EQ(kernel_fingerprint(1).find("(forced)") != std::string::npos, expected) << kernel_fingerprint(1);
#else
  GTEST_SKIP() << "another architecture";
#endif
}

}  // namespace
}  // namespace shoal
