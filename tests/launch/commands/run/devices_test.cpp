// Devices as a person names them, on machines with and without GPUs.
#include "launch/commands/run/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::devices_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

DriverAnswers driver_of(std::size_t count) {
  DriverAnswers answers;
  answers.cuda_version = 13000;
  answers.devices.assign(count, GpuFacts{"a GPU", 1, 9, 0});
  return answers;
}

TEST(Devices, EveryGpuGetsItsNumberInPlaceOfTheWordForAll) {
  const auto settled = settle_devices({"paced:5", "cuda", "cpu"}, [] { return driver_of(3); });
  ASSERT_TRUE(settled.ok());
  EXPECT_THAT(*settled, ElementsAre("paced:5", "cuda:0", "cuda:1", "cuda:2", "cpu"));
}

TEST(Devices, TheDriverIsAskedWhereAGpuIsNamedAndNowhereElse) {
  int asked = 0;
  const auto ask = [&asked] {
    ++asked;
    return driver_of(2);
  };
  ASSERT_TRUE(settle_devices({"cpu", "paced:1"}, ask).ok());
  EXPECT_EQ(asked, 0);
  ASSERT_TRUE(settle_devices({"cuda:0", "cuda:1"}, ask).ok());
  EXPECT_EQ(asked, 1);
}

TEST(Devices, ACommandThatComputesOnOneTakesTheOnlyGpuOrAsksWhich) {
  EXPECT_EQ(settle_one_device("cuda", [] { return driver_of(1); }).value(), "cuda:0");
  EXPECT_EQ(settle_one_device("cpu", [] { return driver_of(0); }).value(), "cpu");
  const auto several = settle_one_device("cuda", [] { return driver_of(2); });
  ASSERT_FALSE(several.ok());
  EXPECT_EQ(exit_code(several.failure().error), 2);
  EXPECT_THAT(several.failure().message, AllOf(HasSubstr("--device cuda: "), HasSubstr("2 GPUs"), HasSubstr("cuda:0")));
  DriverAnswers none;
  none.open_error = "libcuda.so.1";
  EXPECT_THAT(settle_one_device("cuda", [&none] { return none; }).failure().message, HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(settle_one_device("gpu", [&none] { return none; }).failure().message, HasSubstr("--device 'gpu'"));
}

TEST(Devices, NcclWantsAGpuAmongThem) {
  const auto none = [] { return false; };
  EXPECT_TRUE(check_collective_devices({"cpu", "cuda:1"}, none).ok());
  EXPECT_TRUE(check_collective_devices({}, [] { return true; }).ok()) << "a library that sums on processors";
  for (const std::vector<std::string>& devices : {std::vector<std::string>{}, {"cpu", "paced:5"}}) {
    const Status refused = check_collective_devices(devices, none);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(exit_code(refused.failure().error), 2);
    EXPECT_THAT(refused.failure().message, HasSubstr("NCCL sums on GPUs"));
  }
}

TEST(Devices, AnAbsentOneEndsTheCommandAndIsNamed) {
  const auto absent = settle_devices({"cpu", "cuda:2"}, [] { return driver_of(2); });
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(exit_code(absent.failure().error), 2);
  EXPECT_THAT(absent.failure().message, AllOf(HasSubstr("cuda:2"), HasSubstr("device")));
  DriverAnswers none;
  none.open_error = "libcuda.so.1: cannot open shared object file";
  for (const std::string word : {"cuda", "cuda:0"}) {
    const auto refused = settle_devices({word}, [&none] { return none; });
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(exit_code(refused.failure().error), 2);
    EXPECT_THAT(refused.failure().message, AllOf(HasSubstr(word), HasSubstr("driver"), HasSubstr("libcuda.so.1")));
  }
}

}  // namespace
}  // namespace shoal::devices_test
