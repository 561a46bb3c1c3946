// A launch's answer becomes a device's failure, or a bug of the caller. Never one for the other.
#include "runtime/device/cuda/math/launched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/device/queue/device_fault.h"

#include <c10/util/Exception.h>

namespace shoal::launched_test {
namespace {

using ::testing::HasSubstr;

// CUDA's numbers: 1 is an invalid value, which a driver may answer of a launch that our code asked for rightly.
TEST(Launched, EveryErrorOfCudaIsTheDevicesFailure) {
  for (const gpu::LaunchError error : {1, 2, 98, 209, 700, 701, 719, 999}) {
    try {
      check_launched(error, "a kernel");
      ADD_FAILURE() << error << " is an error";
    } catch (const c10::Error& problem) {
      EXPECT_THAT(problem.what_without_backtrace(), HasSubstr(std::to_string(error) + ", seen at a kernel"));
      EXPECT_TRUE(device_fault_of(std::current_exception()));
    } catch (const Bug& bug) {
      ADD_FAILURE() << error << " is told as a bug: " << bug.what();
    }
  }
}

TEST(Launched, AShapeThatAKernelDoesNotTakeIsTheCallersBug) {
  EXPECT_THROW(check_launched(gpu::kRefusedShape, "a kernel"), Bug);
  EXPECT_LT(gpu::kRefusedShape, 0) << "CUDA's errors are positive";
  EXPECT_NO_THROW(check_launched(gpu::kLaunched, "a kernel")) << "control";
}

}  // namespace
}  // namespace shoal::launched_test
