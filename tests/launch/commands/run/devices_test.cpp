// Devices as a person names them, on machines with and without GPUs.
#include "launch/commands/run/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::devices_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

// An H100 that a display card is beside, in the driver's order.
DriverAnswers driver_of_h100_and_t400() {
  DriverAnswers answers = driver_of(2);
  answers.devices[0].name = "NVIDIA H100";
  answers.devices[1] = {"NVIDIA T400", 1, 7, 5};
  return answers;
}

TEST(Devices, TheWordForAllLeavesOutWhatCannotComputeAndSaysSo) {
  std::vector<std::string> warnings;
  const auto warn = [&warnings](const std::string& text) { warnings.push_back(text); };
  const auto settled = settle_devices({"cuda", "cpu"}, driver_of_h100_and_t400, warn);
  ASSERT_TRUE(settled.ok());
  EXPECT_THAT(*settled, ElementsAre("cuda:0", "cpu"));
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("--device cuda leaves one out: "), HasSubstr("NVIDIA T400"),
                                          HasSubstr("compute capability 7.5"))));
  warnings.clear();
  ASSERT_TRUE(settle_devices(
                  {"cuda"}, [] { return driver_of(2); }, warn)
                  .ok());
  EXPECT_THAT(warnings, IsEmpty()) << "control";
}

TEST(Devices, ACommandThatComputesOnOneTakesTheOneThatCan) {
  EXPECT_EQ(settle_one_device("cuda", driver_of_h100_and_t400).value(), "cuda:0");
  DriverAnswers answers = driver_of(3);
  answers.devices[0] = {"NVIDIA T400", 1, 7, 5};
  EXPECT_THAT(settle_one_device("cuda", [&answers] { return answers; }).failure().message,
              AllOf(HasSubstr("2 GPUs"), HasSubstr("as in cuda:1")));
}

TEST(Devices, AMachineOfOldCardsAloneEndsTheCommand) {
  DriverAnswers answers = driver_of(1);
  answers.devices[0] = {"Tesla T4", 1, 7, 5};
  for (const std::string word : {"cuda", "cuda:0"}) {
    const auto refused = settle_devices({word}, [&answers] { return answers; });
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(exit_code(refused.failure().error), 2);
    EXPECT_THAT(refused.failure().message,
                AllOf(HasSubstr("--device " + word + ": the device cuda:0 (Tesla T4) has compute capability 7.5"),
                      HasSubstr("8.0 or later"), HasSubstr("--device cpu")));
  }
}

TEST(Devices, ADisplayCardThatIsNamedEndsTheCommand) {
  const auto refused = settle_devices({"cuda:0", "cuda:1"}, driver_of_h100_and_t400);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(exit_code(refused.failure().error), 2);
  EXPECT_THAT(refused.failure().message, AllOf(HasSubstr("--device cuda:1: "), HasSubstr("NVIDIA T400")));
  EXPECT_TRUE(settle_devices({"cuda:0"}, driver_of_h100_and_t400).ok()) << "control";
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
    EXPECT_THAT(refused.failure().message,
                AllOf(HasSubstr("NCCL sums on GPUs"),
                      HasSubstr("sync.backend = \"ring\" (with --resume and sync.reduction = \"fast\" also "
                                "--branch NAME: a ring adds up in another order)")));
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

TEST(IdleDevices, AreNamedWhereNodesAreFewer) {
  const std::vector<std::string> four = {"cuda:0", "cuda:1", "cuda:2", "cuda:3"};
  EXPECT_EQ(
      idle_devices_warning(four, 2),
      "of 4 devices 2 go to 2 nodes, and nobody gets cuda:2 and cuda:3: give --nodes 4, with stages or replicas for "
      "them");
  EXPECT_EQ(idle_devices_warning(four, 4), "");
  EXPECT_EQ(idle_devices_warning(four, 8), "") << "they share them";
  EXPECT_EQ(idle_devices_warning({}, 4), "");
  EXPECT_EQ(idle_devices_warning(four, 0), "") << "nodes that others start have devices of their own";
}

}  // namespace
}  // namespace shoal::devices_test
