// The kernels' PTX, as the build's nvcc wrote it, keeps the rules of ptx_rules.h; a kernel that breaks them is found.
#include "tests/runtime/device/cuda/kernels/ptx/ptx_rules.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "runtime/base/machine/gpu_driver.h"

namespace shoal::gpu::ptx_test {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Returns what nvcc made of the kernels' sources; none without a toolkit.
std::vector<std::string> objects() {
  std::istringstream list(SHOAL_KERNEL_OBJECTS);
  std::vector<std::string> paths;
  for (std::string path; std::getline(list, path, ':');) paths.push_back(path);
  return paths;
}

std::vector<PtxKernel> all_kernels() {
  std::vector<PtxKernel> kernels;
  for (const std::string& object : objects()) {
    for (PtxKernel& kernel : kernels_in(read_text(object + ".ptx"))) kernels.push_back(std::move(kernel));
  }
  return kernels;
}

bool mentions(const std::vector<std::string>& findings, const std::string& words) {
  return std::ranges::any_of(findings, [&](const auto& one) { return one.find(words) != std::string::npos; });
}

// Kernels whose source writes std::fma, and how often at least; all others have none.
const std::map<std::string, unsigned>& written_fma() {
  static const std::map<std::string, unsigned> kWritten = {
      {"adamw_kernel", 3},      {"sgd_kernel", 1},     {"nesterov_kernel", 3},
      {"blend_kernel", 1},      {"forward_kernel", 2}, {"backward_kernel", 2},
      {"parameters_kernel", 1}, {"loss_kernel", 2},    {"backward_with_sums_kernel", 5}};
  return kWritten;
}

class KernelPtx : public testing::Test {
 protected:
  void SetUp() override {
    if (objects().empty()) GTEST_SKIP() << "no CUDA toolkit on this machine";
  }
};

TEST_F(KernelPtx, HasNoAtomicsOnFloatsNoApproximationsAndNothingToFuse) {
  const auto kernels = all_kernels();
  EXPECT_GE(kernels.size(), 30U);
  for (const PtxKernel& kernel : kernels) {
    for (const std::string& finding : check_instructions(kernel)) ADD_FAILURE() << finding;
  }
}

TEST_F(KernelPtx, FusesWhereTheSourceSaysSoAlone) {
  for (const PtxKernel& kernel : all_kernels()) {
    const auto written = std::ranges::find_if(
        written_fma(), [&](const auto& one) { return kernel.name.find(one.first) != std::string::npos; });
    if (written == written_fma().end()) {
      EXPECT_EQ(fma_count(kernel), 0U) << kernel.name;
    } else {
      EXPECT_GE(fma_count(kernel), written->second) << kernel.name;
    }
  }
}

TEST_F(KernelPtx, AdamwHasItsThreeFusedOperationsPerElementAndIeeesRootAndQuotient) {
  const auto kernels = all_kernels();
  const auto is_adamw = [](const PtxKernel& kernel) { return kernel.name.find("adamw_kernel") != std::string::npos; };
  const auto adamw = std::ranges::find_if(kernels, is_adamw);
  ASSERT_NE(adamw, kernels.end());
  EXPECT_EQ(fma_count(*adamw) % 3, 0U);
  EXPECT_NE(adamw->body.find("sqrt.rn.f32"), std::string::npos);
  EXPECT_NE(adamw->body.find("div.rn.f32"), std::string::npos);
}

TEST_F(KernelPtx, SpillsNothing) {
  for (const std::string& object : objects()) {
    const std::string log = read_text(object + ".log");
    EXPECT_GE(assembled_count(log), 2U) << object << ": one kernel for two architectures at least";
    for (const std::string& finding : check_spills(log)) ADD_FAILURE() << finding;
  }
}

// Returns what the build says that kernels are compiled for.
std::set<int> wanted_gpus() {
  std::istringstream list(SHOAL_GPUS);
  std::set<int> gpus;
  for (std::string gpu; std::getline(list, gpu, ':');) gpus.insert(std::stoi(gpu));
  return gpus;
}

TEST_F(KernelPtx, EveryKernelIsAssembledForEveryGpuThatTheBuildNames) {
  for (const std::string& object : objects()) {
    const auto counts = assembled_for(read_text(object + ".log"));
    std::set<int> gpus;
    for (const auto& [gpu, count] : counts) gpus.insert(gpu);
    EXPECT_EQ(gpus, wanted_gpus()) << object;
    for (const auto& [gpu, count] : counts) EXPECT_EQ(count, counts.begin()->second) << object << ": sm_" << gpu;
  }
}

// A device is refused or taken by this number before anything is launched.
TEST_F(KernelPtx, TheLowestGpuIsTheLowestCapabilityThatADeviceMayHave) {
  EXPECT_EQ(*wanted_gpus().begin(), kLowestCapability);
  const std::string target = ".target sm_" + std::to_string(kLowestCapability) + "\n";
  for (const std::string& object : objects()) {
    EXPECT_NE(read_text(object + ".ptx").find(target), std::string::npos) << object << ": what newer ones translate";
  }
}

TEST_F(KernelPtx, OfAFaultyKernelIsFound) {
  const std::string faulty = SHOAL_FAULTY_OBJECT;
  const auto kernels = kernels_in(read_text(faulty + ".ptx"));
  ASSERT_EQ(kernels.size(), 1U);
  const auto findings = check_instructions(kernels[0]);
  EXPECT_TRUE(mentions(findings, "atomic")) << testing::PrintToString(findings);
  EXPECT_TRUE(mentions(findings, "not as IEEE rounds"));
  EXPECT_GT(fma_count(kernels[0]), 0U) << "nobody wrote one";
  EXPECT_FALSE(check_spills(read_text(faulty + ".log")).empty());
}

TEST(PtxRules, TellWhatALogsKernelsAreAssembledFor) {
  const auto counts = assembled_for(
      "ptxas info    : Compiling entry function '_Z1a' for 'sm_80'\n"
      "ptxas info    : Used 32 registers\n"
      "ptxas info    : Compiling entry function '_Z1b' for 'sm_80'\n"
      "ptxas info    : Compiling entry function '_Z1a' for 'sm_120'\n");
  EXPECT_EQ(counts, (std::map<int, unsigned>{{80, 2}, {120, 1}}));
}

TEST(PtxRules, FindWhatMayBeFusedAndLeaveTheRestAlone) {
  const auto count = [](const char* body) { return check_instructions({"k", body}).size(); };
  EXPECT_EQ(count("\tmul.f32 \t%f1, %f2, %f3;\n\tadd.f64 %fd1, %fd2, %fd3;"), 2U);
  EXPECT_EQ(count("\tmul.rn.f32 \t%f1, %f2, %f3;\n\tadd.s64 %rd1, %rd2, %rd3;"), 0U);
  EXPECT_EQ(count("\tatom.global.add.f32 %f1, [%rd1], %f2;\n\tred.global.add.f64 [%rd1], %fd2;"), 2U);
  EXPECT_EQ(count("\tatom.global.or.b32 %r1, [%rd1], 1;\n\tred.global.max.u32 [%rd1], %r2;"), 0U);
  EXPECT_EQ(count("\tdiv.full.f32 %f1, %f2, %f3;\n\tex2.approx.ftz.f32 %f1, %f2;"), 2U);
  EXPECT_EQ(fma_count({"k", "\tfma.rn.f32 %f1, %f2, %f3, %f4;\n\tmad.lo.s32 %r1, %r2, %r3, %r4;"}), 1U);
}

}  // namespace
}  // namespace shoal::gpu::ptx_test
