// The shim finds each mistake, and none where there is none.
#include "tests/support/cuda_shim/shim.h"

#include <algorithm>
#include <numeric>

#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/shim/faulty_kernels.h"
#include "tests/support/cuda_shim/accesses.h"
#include "tests/support/cuda_shim/cuda_runtime.h"

namespace shoal::gpu::shim_test {
namespace {

using faulty::Mistake;

constexpr unsigned kBlocks = 3;

std::vector<float> counted() {
  std::vector<float> values(std::size_t{kBlocks} * 64);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

std::vector<std::string> findings_of(Mistake mistake, shim::Order order) {
  DeviceArray<float> values(counted());
  shim::begin({order, 1, {}});
  EXPECT_EQ(faulty::run(mistake, values.at(), kBlocks) == kLaunched, mistake != Mistake::kUnsaidBytes);
  return shim::findings();
}

bool mentions(const std::vector<std::string>& findings, const std::string& words) {
  return std::ranges::any_of(findings, [&](const auto& one) { return one.find(words) != std::string::npos; });
}

struct Case {
  Mistake mistake;
  const char* words;
};

class ShimFinds : public testing::TestWithParam<Case> {};

TEST_P(ShimFinds, TheMistakeInEveryOrder) {
  if (!shim::checks_accesses()) GTEST_SKIP() << "a sanitizer has the place of the shim's check of accesses";
  for (const shim::Order order : {shim::Order::kUpwards, shim::Order::kDownwards, shim::Order::kShuffled}) {
    const auto findings = findings_of(GetParam().mistake, order);
    EXPECT_TRUE(mentions(findings, GetParam().words)) << testing::PrintToString(findings);
  }
}

INSTANTIATE_TEST_SUITE_P(OfAccesses, ShimFinds,
                         testing::Values(Case{Mistake::kMissingBarrier, "what was"},
                                         Case{Mistake::kOverwrittenRead, "what was"},
                                         Case{Mistake::kSameElement, "writes what was"},
                                         Case{Mistake::kSameBlocks, "of block 0"},
                                         Case{Mistake::kBehindTheEnd, "outside of every array"},
                                         Case{Mistake::kUnwrittenShared, "that nobody has written"},
                                         Case{Mistake::kMissingWait, "that nobody has written"},
                                         Case{Mistake::kTooFewBytes, "behind that of the launch"}));

TEST(Shim, FindsThreadsThatEndBeforeTheOthersAreThere) {
  EXPECT_TRUE(mentions(findings_of(Mistake::kLonelyBarrier, shim::Order::kUpwards), "ended while others wait"));
  EXPECT_TRUE(mentions(findings_of(Mistake::kLonelyShuffle, shim::Order::kUpwards), "lanes that have ended"));
}

TEST(Shim, FindsCopiesThatAreNotWaitedForAndSharedMemoryThatIsNotThere) {
  EXPECT_TRUE(mentions(findings_of(Mistake::kForgottenCopy, shim::Order::kUpwards), "before copies that it had begun"));
  EXPECT_TRUE(
      mentions(findings_of(Mistake::kUnsaidBytes, shim::Order::kUpwards), "more shared memory than its kernel"));
}

// A copy is done when it is waited for, and not before.
TEST(Shim, CopiesWhenTheThreadWaits) {
  for (const shim::Order order : {shim::Order::kUpwards, shim::Order::kDownwards, shim::Order::kShuffled}) {
    for (const Mistake mistake : {Mistake::kCopies, Mistake::kMissingWait}) {
      DeviceArray<float> values(counted());
      shim::begin({order, 1, {}});
      ASSERT_EQ(faulty::run(mistake, values.at(), kBlocks), kLaunched);
      std::vector<float> wanted = counted();
      for (std::size_t block = 0; block < kBlocks; ++block) {
        const auto begin = wanted.begin() + static_cast<std::ptrdiff_t>(block * 64);
        std::reverse(begin, begin + 64);
      }
      EXPECT_EQ(values.values() == wanted, mistake == Mistake::kCopies) << "the control waits for too few";
      const bool has_findings = !shim::findings().empty();
      EXPECT_EQ(has_findings && shim::checks_accesses(), mistake != Mistake::kCopies && shim::checks_accesses());
    }
  }
}

// What a kernel may have is said for it once, and no device gives more than it has.
TEST(Shim, GivesAKernelTheSharedMemoryThatWasAskedFor) {
  const auto answer_on = [](int kib, int bytes) {
    shim::set_shared_kib(kib);
    static const int kernel = 0;
    const auto answer = shim::set_attribute(&kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    shim::set_shared_kib(shim::kSharedKib);
    return answer;
  };
  EXPECT_EQ(answer_on(100, 99 * 1024), cudaSuccess);
  EXPECT_EQ(answer_on(100, 99 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(answer_on(228, 227 * 1024), cudaSuccess);
}

// CUDA launches at least one block, and no more than 65535 below each other or behind each other.
TEST(Shim, RefusesAGridThatCudaDoes) {
  const auto answer_of = [](dim3 blocks) {
    cudaLaunchConfig_t config;
    config.gridDim = blocks;
    shim::begin({});
    return shim::run({nullptr, config, [](const void* /*arguments*/) {}, nullptr});
  };
  EXPECT_EQ(answer_of(dim3(1, 65535)), cudaSuccess);
  EXPECT_EQ(shim::findings(), std::vector<std::string>{});
  for (const dim3 blocks : {dim3(0), dim3(1, 0), dim3(1, 65536), dim3(1, 1, 65536), dim3(1U << 31U)}) {
    EXPECT_NE(answer_of(blocks), cudaSuccess) << blocks.x << " x " << blocks.y << " x " << blocks.z;
    EXPECT_TRUE(mentions(shim::findings(), "a grid that CUDA does not launch"));
  }
}

TEST(Shim, FindsNothingInAKernelWithoutMistake) {
  for (const shim::Order order : {shim::Order::kUpwards, shim::Order::kDownwards, shim::Order::kShuffled}) {
    DeviceArray<float> values(counted());
    shim::begin({order, 1, {}});
    ASSERT_EQ(faulty::run(Mistake::kNone, values.at(), kBlocks), kLaunched);
    EXPECT_EQ(shim::findings(), std::vector<std::string>{});
    EXPECT_EQ(shim::barrier_count(), 1U);
    std::vector<float> wanted = counted();
    for (std::size_t block = 0; block < kBlocks; ++block) {
      const auto begin = wanted.begin() + static_cast<std::ptrdiff_t>(block * 64);
      std::reverse(begin, begin + 64);
    }
    EXPECT_EQ(values.values(), wanted);
  }
}

TEST(Shim, PlantsFaultsOnlyUntilTheNextBeginning) {
  DeviceArray<float> values(counted());
  shim::begin({shim::Order::kUpwards, 1, {shim::FaultKind::kLostBlock, 0}});
  ASSERT_EQ(faulty::run(Mistake::kNone, values.at(), kBlocks), kLaunched);
  EXPECT_EQ(values.values().back(), counted().back()) << "the last block did not run";
  EXPECT_EQ(values.values()[0], 63);
  shim::begin({});
  ASSERT_EQ(faulty::run(Mistake::kNone, values.at(), kBlocks), kLaunched);
  EXPECT_EQ(values.values().back(), 128);
}

// An array at 4096, touched by threads of one block without a barrier between them.
struct Touches {
  shim::Accesses accesses;
  Touches() { accesses.allow(4096, 256); }

  std::string write(std::uint32_t thread, std::size_t at, std::size_t size) {
    return accesses.check_global({4096 + at, size, true}, {0, thread, 0, 0});
  }
  std::string read(std::uint32_t thread, std::size_t at, std::size_t size) {
    return accesses.check_global({4096 + at, size, false}, {0, thread, 0, 0});
  }
};

TEST(ShimAccesses, TellBytesOfOneWordApart) {
  Touches touches;
  EXPECT_EQ(touches.write(0, 1, 1), "");
  EXPECT_EQ(touches.write(1, 0, 1), "");
  EXPECT_EQ(touches.write(1, 2, 2), "");
  EXPECT_NE(touches.write(2, 1, 1), "") << "the first one's byte";
  EXPECT_NE(touches.read(3, 0, 4), "") << "a word in which others wrote";
}

TEST(ShimAccesses, RememberOfEachByteWhoTouchedItsWord) {
  Touches touches;
  EXPECT_EQ(touches.write(0, 8, 4), "");
  EXPECT_EQ(touches.write(0, 9, 1), "");
  EXPECT_NE(touches.read(1, 11, 1), "") << "of the word that the first one wrote";
  Touches reading;
  EXPECT_EQ(reading.read(0, 8, 4), "");
  EXPECT_EQ(reading.read(1, 9, 1), "");
  EXPECT_NE(reading.write(1, 10, 1), "") << "the first one read it, too";
  EXPECT_EQ(reading.write(1, 12, 4), "") << "control";
}

TEST(ShimAccesses, FollowAnAccessOverTheEndOfALine) {
  Touches touches;
  EXPECT_EQ(touches.write(0, 62, 4), "");
  EXPECT_EQ(touches.write(1, 60, 2), "");
  EXPECT_EQ(touches.write(1, 66, 2), "");
  EXPECT_NE(touches.read(1, 63, 1), "");
  EXPECT_NE(touches.read(1, 65, 1), "");
  EXPECT_NE(touches.write(1, 254, 4), "") << "outside of the array";
}

}  // namespace
}  // namespace shoal::gpu::shim_test
