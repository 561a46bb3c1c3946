// What the driver's answers mean to a person: every sentence names the driver or a device.
#include "runtime/base/machine/gpu_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::gpu_driver_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

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
