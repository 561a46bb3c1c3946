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

TEST(DeviceFault, ABugOfTheCallerIsNone) {
  EXPECT_EQ(fault_of(c10::Error(here(), "mat1 and mat2 shapes cannot be multiplied")), std::nullopt);
  EXPECT_EQ(fault_of(std::logic_error("a bug")), std::nullopt);
  EXPECT_EQ(fault_of(7), std::nullopt);
}

}  // namespace
}  // namespace shoal::device_fault_test
