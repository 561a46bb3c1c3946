// Which of torch's errors end a process, and what is said of them.
#include "runtime/device/queue/device_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <c10/util/Exception.h>

#include "runtime/base/machine/memory_lack.h"

namespace shoal::device_fault_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Problem>
std::optional<std::string> fault_of(const Problem& problem) {
  return device_fault_of(std::make_exception_ptr(problem));
}

c10::SourceLocation here() { return {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}; }

TEST(DeviceFault, AFailedDeviceEndsTheProcessWithOneSentence) {
  const auto lack = fault_of(c10::OutOfMemoryError(here(), "CUDA out of memory. Tried to allocate 2.00 GiB.\nmore"));
  ASSERT_TRUE(lack);
  EXPECT_THAT(*lack, AllOf(HasSubstr("Tried to allocate 2.00 GiB."), Not(HasSubstr("more\n")), Not(HasSubstr("\n"))));
  EXPECT_TRUE(tells_of_memory_lack(*lack));
  const auto broken = fault_of(c10::AcceleratorError(here(), 700, "CUDA error: an illegal memory access\nmore"));
  ASSERT_TRUE(broken);
  EXPECT_THAT(*broken,
              AllOf(HasSubstr("the device failed: CUDA error: an illegal memory access"), Not(HasSubstr("\n"))));
  EXPECT_FALSE(tells_of_memory_lack(*broken));
  EXPECT_TRUE(fault_of(c10::Error(here(), "cuDNN Frontend error: no plan for this shape")));
  EXPECT_TRUE(fault_of(c10::Error(here(), "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasGemmEx")));
}

// Whoever it was that had no memory: CUDA for pinned memory of the host, a launch of ours, a library.
TEST(DeviceFault, ALackOfMemoryIsToldFromAFailedDevice) {
  const auto lacks = [](const std::optional<std::string>& fault, const std::string& whose) {
    ASSERT_TRUE(fault);
    EXPECT_TRUE(tells_of_memory_lack(*fault)) << *fault;
    EXPECT_THAT(*fault, AllOf(HasSubstr(whose + " has no memory left"), Not(HasSubstr("\n"))));
  };
  const std::string either = "the device or its host";
  lacks(fault_of(c10::AcceleratorError(here(), 2, "CUDA error: out of memory\nSearch for `cudaErrorMemory")), either);
  lacks(fault_of(c10::Error(here(), "CUDA error: out of memory (2, seen at gelu_forward)")), either);
  lacks(fault_of(c10::Error(here(), "CUDA driver error: out of memory")), either);
  lacks(fault_of(c10::Error(here(), "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")),
        "the device");
  lacks(fault_of(c10::Error(here(), "cuDNN error: CUDNN_STATUS_ALLOC_FAILED")), either);
  lacks(fault_of(c10::Error(here(), "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED")),
        "the device's host");
  const auto launch =
      fault_of(c10::Error(here(), "CUDA error: unspecified launch failure (719, seen at gelu_forward)"));
  ASSERT_TRUE(launch);
  EXPECT_FALSE(tells_of_memory_lack(*launch)) << "control";
}

TEST(DeviceFault, ABugOfTheCallerIsNone) {
  EXPECT_EQ(fault_of(c10::Error(here(), "mat1 and mat2 shapes cannot be multiplied")), std::nullopt);
  EXPECT_EQ(fault_of(c10::Error(here(), "an internal error: out of memory slots")), std::nullopt) << "of no device";
  EXPECT_EQ(fault_of(std::logic_error("a bug")), std::nullopt);
  EXPECT_EQ(fault_of(7), std::nullopt);
}

}  // namespace
}  // namespace shoal::device_fault_test
