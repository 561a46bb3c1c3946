// The module's table. Each question goes through answer_of(), where what torch throws becomes a sentence.
#include "runtime/device/plugin/device_plugin.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include "runtime/base/compose.h"
#include "runtime/device/cuda/device_answers.h"
#include "runtime/device/cuda/graph.h"
#include "runtime/device/cuda/math/kernel_math.h"

namespace shoal {
namespace {

[[nodiscard]] const cudaDeviceProp& properties_of(int device) {
  return *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device));
}
[[nodiscard]] int capability_of(const cudaDeviceProp& properties) { return properties.major * 10 + properties.minor; }
[[nodiscard]] long cudnn_here() { return at::detail::getCUDAHooks().versionRuntimeCuDNN(); }

// Torch's first look at CUDA. Which device a thread computes on is said in that thread.
Status prepare(int device) {
  return answer_of([&]() -> Status {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    const int count = c10::cuda::device_count();
    if (device < count) return Done{};
    return fail(Error::kUsage, compose("LibTorch sees ", count, " CUDA devices"));
  });
}

// The sentence about a device that has failed equals no fingerprint of one that works; its stage ends the process.
std::string fingerprint(int device) {
  const auto text = answer_of([&]() -> Result<std::string> {
    const cudaDeviceProp& properties = properties_of(device);
    int driver = 0;
    int runtime = 0;
    static_cast<void>(cudaDriverGetVersion(&driver));
    static_cast<void>(cudaRuntimeGetVersion(&runtime));
    return fingerprint_text({.device = properties.name,
                             .capability = capability_of(properties),
                             .multiprocessors = properties.multiProcessorCount,
                             .driver = driver,
                             .runtime = runtime,
                             .cudnn = cudnn_here(),
                             .build = build_identity()});
  });
  return text ? *text : text.failure().message;
}

[[nodiscard]] Result<DevicePeaks> stated_peaks(int device) {
  return answer_of([&]() -> Result<DevicePeaks> {
    constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
    return DevicePeaks{static_cast<std::uint64_t>(stats.allocated_bytes.at(kAll).peak),
                       static_cast<std::uint64_t>(stats.reserved_bytes.at(kAll).peak),
                       static_cast<std::uint64_t>(stats.reserved_bytes.at(kAll).current),
                       static_cast<std::uint64_t>(stats.allocated_bytes.at(kAll).current)};
  });
}

DevicePeaks peaks(int device) {
  const auto stated = stated_peaks(device);
  return stated ? *stated : DevicePeaks{};
}

// Counts what torch keeps between tensors as free: it is, for this process.
Result<DeviceMemory> memory(int device) {
  return answer_of([&]() -> Result<DeviceMemory> {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    const auto of_torch = stated_peaks(device);
    if (!of_torch) return of_torch.failure();
    return DeviceMemory{free_bytes + of_torch->reserved_now - of_torch->tensors_now, total_bytes};
  });
}

Status check_bf16(int device) {
  return answer_of([&] {
    const cudaDeviceProp& properties = properties_of(device);
    return check_bf16_units(properties.name, capability_of(properties));
  });
}

Status check_cudnn(int device) {
  return answer_of([&] {
    const cudaDeviceProp& properties = properties_of(device);
    return check_cudnn_attention(properties.name, capability_of(properties), cudnn_here());
  });
}

Result<std::string> identity(int device) {
  return answer_of([&]() -> Result<std::string> { return identity_text(properties_of(device).uuid.bytes); });
}

}  // namespace
}  // namespace shoal

extern "C" {
__attribute__((visibility("default"))) extern const shoal::DevicePlugin shoal_device_plugin;
const shoal::DevicePlugin shoal_device_plugin = {
    shoal::kDevicePluginAbi, shoal::build_identity(), shoal::prepare,      shoal::fingerprint, shoal::memory,
    shoal::check_bf16,       shoal::make_kernel_math, shoal::record_graph, shoal::identity,    shoal::peaks,
    shoal::check_cudnn};
}
