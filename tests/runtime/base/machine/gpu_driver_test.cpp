// The driver's answers as sentences to a person: every sentence names the driver or a device.
#include "runtime/base/machine/gpu_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::gpu_driver_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

DriverAnswers answers_of(int init_status, int cuda_version, std::size_t devices) {
  DriverAnswers answers;
  answers.init_status = init_status;
  answers.cuda_version = cuda_version;
  answers.devices.assign(devices, GpuFacts{"NVIDIA H100 80GB HBM3", 84'900'000'000, 9, 0});
  return answers;
}

std::string refusal(const DriverAnswers& answers) {
  const auto devices = usable_devices(answers);
  return devices ? "usable" : devices.failure().message;
}

TEST(GpuDriver, EveryLackHasASentenceOfItsOwn) {
  DriverAnswers absent;
  absent.open_error = "libcuda.so.1: cannot open shared object file: No such file or directory";
  EXPECT_THAT(refusal(absent), HasSubstr("no NVIDIA driver (libcuda.so.1: cannot open"));
  EXPECT_THAT(refusal(answers_of(34, 0, 0)), HasSubstr("stub"));
  EXPECT_THAT(refusal(answers_of(100, 13000, 0)), HasSubstr("sees no device"));
  EXPECT_THAT(refusal(answers_of(803, 13000, 0)), HasSubstr("different versions"));
  EXPECT_THAT(refusal(answers_of(999, 13000, 0)), HasSubstr("cuInit says 999"));
  EXPECT_THAT(refusal(answers_of(0, 12040, 1)),
              HasSubstr("for CUDA 12.4, and this program needs a driver for CUDA 13"));
  EXPECT_THAT(refusal(answers_of(0, 13000, 0)), HasSubstr("sees no device"));
}

TEST(GpuDriver, EverySentenceSaysDriverOrDevice) {
  DriverAnswers absent;
  absent.open_error = "x";
  for (const auto& answers : {absent, answers_of(34, 0, 0), answers_of(100, 13000, 0), answers_of(803, 13000, 0),
                              answers_of(1, 13000, 0), answers_of(0, 12000, 1), answers_of(0, 13000, 0)}) {
    EXPECT_THAT(refusal(answers), AnyOf(HasSubstr("driver"), HasSubstr("device")));
    EXPECT_EQ(usable_devices(answers).failure().error, Error::kUsage);
  }
}

TEST(GpuDriver, ADeviceIsThereOrTheOthersAreNamed) {
  const auto answers = answers_of(0, 13010, 2);
  EXPECT_EQ(refusal(answers), "usable");
  ASSERT_TRUE(usable_device(answers, 1).ok());
  EXPECT_EQ(device_text(1, *usable_device(answers, 1)), "cuda:1 NVIDIA H100 80GB HBM3, 79 GiB");
  EXPECT_THAT(usable_device(answers, 2).failure().message, HasSubstr("cuda:0 to cuda:1"));
  EXPECT_THAT(usable_device(answers_of(0, 13000, 1), 1).failure().message, HasSubstr("the NVIDIA driver has cuda:0"));
}

// One device of a capability beside an H100.
DriverAnswers beside_an_h100(const std::string& name, int major, int minor) {
  DriverAnswers answers = answers_of(0, 13000, 1);
  answers.devices.push_back({name, 4'000'000'000, major, minor});
  return answers;
}

TEST(GpuDriver, ADeviceThatOurKernelsAreNotCompiledForIsRefused) {
  const auto answers = beside_an_h100("NVIDIA T400 4GB", 7, 5);
  const auto refused = usable_device(answers, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(exit_code(refused.failure().error), 2);
  EXPECT_THAT(refused.failure().message,
              AllOf(HasSubstr("the device cuda:1 (NVIDIA T400 4GB) has compute capability 7.5"),
                    HasSubstr("need 8.0 or later"), HasSubstr("--device cpu"), Not(HasSubstr("\n"))));
  EXPECT_TRUE(usable_device(answers, 0).ok()) << "the device beside it";
  EXPECT_EQ(refusal(answers), "usable") << "one of them is";
  for (const auto& [major, minor] : {std::pair(8, 0), {8, 9}, {9, 0}, {10, 0}, {12, 0}}) {
    EXPECT_TRUE(usable_device(beside_an_h100("a GPU", major, minor), 1).ok()) << major << "." << minor;
  }
}

TEST(GpuDriver, AMachineWhoseDevicesAreAllTooOldIsToldOfEach) {
  DriverAnswers answers = beside_an_h100("Tesla T4", 7, 5);
  answers.devices[0] = {"Tesla P40", 24'000'000'000, 6, 1};
  EXPECT_THAT(refusal(answers), AllOf(HasSubstr("device"), HasSubstr("cuda:0 (Tesla P40) has compute capability 6.1"),
                                      HasSubstr("cuda:1 (Tesla T4) has compute capability 7.5")));
  EXPECT_EQ(usable_devices(answers).failure().error, Error::kUsage);
}

TEST(GpuDriver, ADeviceThatDoesNotAnswerIsRefusedAsThat) {
  const auto refused = usable_device(beside_an_h100("", 0, 0), 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.failure().message, AllOf(HasSubstr("the device cuda:1 does not answer"), HasSubstr("nvidia-smi"),
                                               Not(HasSubstr("capability"))));
}

TEST(GpuDriver, AListOfDevicesSaysWhichCannotBeUsed) {
  const auto devices = usable_devices(beside_an_h100("NVIDIA T400 4GB", 7, 5));
  EXPECT_EQ(device_texts(*devices),
            "cuda:0 NVIDIA H100 80GB HBM3, 79 GiB; cuda:1 NVIDIA T400 4GB, 3.7 GiB, which has compute capability 7.5, "
            "and the kernels of this program need 8.0 or later");
}

// With a GPU or without: the answers of this machine have a meaning.
TEST(GpuDriver, ThisMachineAnswers) {
  const auto devices = usable_devices(ask_gpu_driver());
  if (devices) {
    EXPECT_FALSE(devices->empty());
  } else {
    EXPECT_THAT(devices.failure().message, AnyOf(HasSubstr("driver"), HasSubstr("device")));
  }
}

}  // namespace
}  // namespace shoal::gpu_driver_test
