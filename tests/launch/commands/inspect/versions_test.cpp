// Features of a build, out of what the worker prints.
#include "launch/commands/inspect/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::versions_test {
namespace {

using ::testing::HasSubstr;

const Feature& named(const std::vector<Feature>& features, const std::string& name) {
  for (const Feature& feature : features) {
    if (feature.name == name) return feature;
  }
  throw std::out_of_range(name);
}

TEST(Versions, AFeatureIsThereWhenTheWorkerSaysSo) {
  const auto features = features_of("cuda yes\nnccl no it is not built in\nother yes\n");
  EXPECT_TRUE(named(features, "cuda").is_there);
  EXPECT_EQ(named(features, "cuda").why_not, "");
  EXPECT_FALSE(named(features, "nccl").is_there);
  EXPECT_EQ(named(features, "nccl").why_not, "it is not built in");
}

TEST(Versions, AWorkerThatSaysNothingHasNothing) {
  for (const Feature& feature : features_of("")) {
    EXPECT_FALSE(feature.is_there) << feature.name;
    EXPECT_THAT(feature.why_not, HasSubstr("shoal-worker"));
  }
}

// SIGBUS in dlopen() of a file that was cut.
TEST(Versions, APartForGpusThatEndsTheWorkerIsDamaged) {
  const Result<std::string> killed = fail(Error::kInternal, "/bin/shoal-worker was ended by signal 7 (Bus error)");
  int asked = 0;
  const auto rest = [&asked] {
    ++asked;
    return Result<std::string>("nccl no there is none\nbf16 yes\n");
  };
  const auto features = features_told(killed, "/bin/shoal-cuda.so", rest);
  EXPECT_FALSE(named(features, "cuda").is_there);
  EXPECT_EQ(named(features, "cuda").why_not,
            "the part for GPUs, /bin/shoal-cuda.so, is damaged (/bin/shoal-worker was ended by signal 7 (Bus error) "
            "while it opened it): build or install it anew, by launch/set-up all");
  EXPECT_EQ(named(features, "nccl").why_not, "there is none");
  EXPECT_TRUE(named(features, "bf16").is_there);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(named(features_told(std::string("cuda yes\n"), "/x", rest), "cuda").is_there);
  EXPECT_EQ(asked, 1) << "who answers is not asked again";
}

TEST(Versions, AWorkerTellsOfADamagedPartThatItDidNotOpen) {
  const auto features = features_of("cuda damaged the part for GPUs is cut\nnccl no there is none\n");
  EXPECT_FALSE(named(features, "cuda").is_there);
  EXPECT_TRUE(named(features, "cuda").is_damaged);
  EXPECT_EQ(named(features, "cuda").why_not, "the part for GPUs is cut");
  EXPECT_FALSE(named(features, "nccl").is_damaged) << "control";
}

TEST(Versions, AWorkerThatCannotRunIsNotBlamedOnThePartForGpus) {
  const Result<std::string> killed = fail(Error::kInternal, "/bin/shoal-worker was ended by signal 4");
  for (const Feature& feature : features_told(killed, "/x", [&] { return killed; })) {
    EXPECT_FALSE(feature.is_there) << feature.name;
    EXPECT_EQ(feature.why_not, "/bin/shoal-worker was ended by signal 4") << feature.name;
  }
}

using Devices = Result<std::vector<GpuFacts>>;

Devices one_device(int major) { return Devices({GpuFacts{"NVIDIA T", std::uint64_t{16} << 30U, major, 0}}); }
Devices no_device() { return fail(Error::kUsage, "there is no driver"); }

FeatureUse use(const std::string& name, const std::string& lines, const Devices& devices, const std::string& units) {
  for (const FeatureUse& use : feature_uses(features_of(lines), devices, units)) {
    if (use.name == name) return use;
  }
  throw std::out_of_range(name);
}

constexpr const char* kAll = "cuda yes\nnccl yes\nbf16 yes\n";

TEST(FeatureUses, EveryFeatureOfABuildIsToldOf) {
  const auto built = features_of(kAll);
  const auto uses = feature_uses(built, no_device(), "none");
  ASSERT_EQ(uses.size(), built.size());
  for (std::size_t i = 0; i < built.size(); ++i) EXPECT_EQ(uses[i].name, built[i].name);
}

TEST(FeatureUses, CudaWantsTheBuildAndADevice) {
  EXPECT_TRUE(use("cuda", kAll, one_device(7), "none").is_usable);
  EXPECT_THAT(use("cuda", kAll, one_device(7), "none").why, HasSubstr("cuda:0 NVIDIA T"));
  EXPECT_FALSE(use("cuda", kAll, no_device(), "none").is_usable);
  EXPECT_EQ(use("cuda", kAll, no_device(), "none").why, "there is no driver");
  EXPECT_EQ(use("cuda", "cuda no it is not built in\n", one_device(9), "none").why, "it is not built in");
  EXPECT_EQ(use("cuda", "cuda no it is not built in\n", no_device(), "none").why,
            "there is no driver; it is not built in");
}

TEST(FeatureUses, NcclWantsCudaToo) {
  EXPECT_TRUE(use("nccl", kAll, one_device(7), "none").is_usable);
  EXPECT_THAT(use("nccl", kAll, no_device(), "none").why, HasSubstr("none can be used here"));
  EXPECT_FALSE(use("nccl", "cuda yes\nnccl no there is no library\n", one_device(9), "none").is_usable);
  EXPECT_EQ(use("nccl", "nccl no there is no library\n", no_device(), "none").why, "there is no library");
}

TEST(FeatureUses, Bf16WantsUnitsOfTheProcessorOrOfAGpu) {
  EXPECT_EQ(use("bf16", kAll, no_device(), "amx_bf16").why, "the processor has amx_bf16");
  EXPECT_TRUE(use("bf16", kAll, one_device(8), "none").is_usable);
  EXPECT_FALSE(use("bf16", kAll, one_device(7), "none").is_usable);
  EXPECT_FALSE(use("bf16", "bf16 yes\n", one_device(8), "none").is_usable) << "a GPU that the build cannot use";
  EXPECT_THAT(use("bf16", kAll, no_device(), "none").why, HasSubstr("neither avx512_bf16 nor amx_bf16"));
  EXPECT_THAT(use("bf16", "", no_device(), "amx_bf16").why, HasSubstr("shoal-worker"));
}

}  // namespace
}  // namespace shoal::versions_test
