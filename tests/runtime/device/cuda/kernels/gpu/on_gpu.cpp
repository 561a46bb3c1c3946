// Memory of the device, for the same tests on a GPU. No faults: nothing of a GPU's kernels can be left out from here.
#include <cuda_runtime_api.h>

#include "tests/runtime/device/cuda/kernels/device_array.h"
#include "tests/runtime/device/cuda/kernels/faults.h"

namespace shoal::gpu {
namespace {

void check(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }

// Skips every test where there is no device, with the reason.
class NeedsDevice : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& /*test*/) override {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) GTEST_SKIP() << "no device: " << cudaGetErrorString(error);
  }
};
const bool kListens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new NeedsDevice);
  return true;
}();

}  // namespace

void* allocate_on_device(std::size_t byte_count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, byte_count + 1));
  check(cudaMemset(memory, 0xCD, byte_count + 1));
  return memory;
}
void free_on_device(void* memory) { check(cudaFree(memory)); }
void copy_to_device(void* to, const void* from, std::size_t byte_count) {
  check(cudaMemcpy(to, from, byte_count, cudaMemcpyHostToDevice));
}
void copy_from_device(void* to, const void* from, std::size_t byte_count) {
  check(cudaDeviceSynchronize());
  check(cudaMemcpy(to, from, byte_count, cudaMemcpyDeviceToHost));
}

void expect_holds_and_faults_are_found(const std::function<bool()>& holds) { EXPECT_TRUE(holds()); }
void for_each_shared_memory(const std::function<void()>& run) { run(); }

}  // namespace shoal::gpu
