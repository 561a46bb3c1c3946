// The fingerprint names what computes, and the choice reaches torch's BLAS.
#include "runtime/device/gemm_choice.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <thread>

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <gtest/gtest.h>

namespace shoal::gemm_choice_test {
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

std::size_t heap_bytes() {
  const auto heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// Control first: without the call the buffers of every thread stay.
TEST(GemmChoice, BuffersOfThreadsThatHaveEndedAreGivenBack) {
  if (::dlsym(RTLD_DEFAULT, "mkl_serv_free_buffers") == nullptr) GTEST_SKIP() << "another BLAS";
  constexpr std::size_t kSome = 4 << 20;
  const auto multiply = [](bool gives_back) {
    std::thread([gives_back] {
      (void)at::mm(at::ones({128, 128}), at::ones({128, 128}));
      if (gives_back) give_memory_back();
    }).join();
  };
  multiply(true);
  const std::size_t before = heap_bytes();
  for (int thread = 0; thread < 8; ++thread) multiply(false);
  const std::size_t kept = heap_bytes();
  if (kept <= before + kSome) GTEST_SKIP() << "multiplying keeps no buffers on this processor";
  for (int thread = 0; thread < 8; ++thread) multiply(true);
  EXPECT_LT(heap_bytes(), kept - (kept - before) / 2);
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
}  // namespace shoal::gemm_choice_test
