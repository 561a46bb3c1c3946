// What `shoal doctor` says of GPUs, on machines with and without them.
#include "launch/commands/inspect/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::findings_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAll = "cuda yes\nnccl yes\nbf16 yes\n";

DriverAnswers no_driver() {
  DriverAnswers driver;
  driver.open_error = "libcuda.so.1: no such file";
  return driver;
}

DriverAnswers driver_of(std::size_t devices, int version = 13000) {
  DriverAnswers driver;
  driver.cuda_version = version;
  driver.devices.assign(devices, GpuFacts{"NVIDIA T", 1, 9, 0});
  return driver;
}

std::vector<Finding> findings_of(const std::vector<Feature>& built, const DriverAnswers& driver) {
  return device_findings(built, driver, feature_uses(built, usable_devices(driver), "amx_bf16"));
}

Finding finding(const std::string& what, const std::vector<Feature>& built, const DriverAnswers& driver) {
  for (const Finding& one : findings_of(built, driver)) {
    if (one.what == what) return one;
  }
  throw std::out_of_range(what);
}

TEST(Findings, WithoutADriverNothingIsDoubtfulAndItIsSaidOnce) {
  for (const std::string lines : {kAll, "cuda no it is not built in\nnccl no there is none\nbf16 yes\n"}) {
    int sayings = 0;
    for (const Finding& one : findings_of(features_of(lines), no_driver())) {
      EXPECT_EQ(one.verdict, Verdict::kGood) << one.what;
      EXPECT_EQ(one.remedy, "") << one.what;
      sayings += one.facts.find("no NVIDIA driver") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(sayings, 1);
  }
}

TEST(Findings, WhatAGpuLacksIsDoubtfulAtItsOwnPlace) {
  const auto built = features_of(kAll);
  EXPECT_EQ(finding("gpu", built, driver_of(1)).verdict, Verdict::kGood);
  EXPECT_THAT(finding("gpu", built, driver_of(1)).facts, HasSubstr("cuda:0 NVIDIA T"));
  EXPECT_EQ(finding("cuda", built, driver_of(1)).verdict, Verdict::kGood);
  const Finding old = finding("gpu", built, driver_of(1, 12000));
  EXPECT_EQ(old.verdict, Verdict::kDoubtful);
  EXPECT_THAT(old.facts, HasSubstr("CUDA 12.0"));
  EXPECT_THAT(old.remedy, HasSubstr("driver"));
  EXPECT_EQ(finding("cuda", built, driver_of(1, 12000)).verdict, Verdict::kGood);
  EXPECT_EQ(finding("nccl", built, driver_of(1, 12000)).verdict, Verdict::kDoubtful);
  const auto without = features_of("cuda no it is not built in\nnccl yes\nbf16 yes\n");
  EXPECT_EQ(finding("gpu", without, driver_of(1)).verdict, Verdict::kGood);
  const Finding part = finding("cuda", without, driver_of(1));
  EXPECT_EQ(part.verdict, Verdict::kDoubtful);
  EXPECT_THAT(part.facts, AllOf(HasSubstr("it is not built in"), Not(HasSubstr("driver"))));
  EXPECT_THAT(part.remedy, HasSubstr("CUDA toolkit"));
}

TEST(Findings, ADamagedPartIsDoubtfulOnAnyMachine) {
  const Result<std::string> killed = fail(Error::kInternal, "/bin/shoal-worker was ended by signal 7 (Bus error)");
  const auto rest = [] { return Result<std::string>("nccl yes\nbf16 yes\n"); };
  const auto built = features_told(killed, "/bin/shoal-cuda.so", rest);
  for (const DriverAnswers& driver : {no_driver(), driver_of(1)}) {
    const Finding part = finding("cuda", built, driver);
    EXPECT_EQ(part.verdict, Verdict::kDoubtful);
    EXPECT_THAT(part.facts, AllOf(HasSubstr("/bin/shoal-cuda.so, is damaged"), HasSubstr("signal 7"),
                                  HasSubstr("launch/set-up all")));
    EXPECT_THAT(part.remedy, HasSubstr("processor"));
  }
}

}  // namespace
}  // namespace shoal::findings_test
