// The module's table, and what each function does with what torch throws.
#include "runtime/device/plugin/device_plugin.h"

#include <exception>

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/util/Exception.h>

#include "runtime/base/compose.h"
#include "runtime/device/cuda/device_answers.h"
#include "runtime/device/cuda/graph.h"
#include "runtime/device/cuda/math/kernel_math.h"

namespace shoal {
namespace {

// Torch's first look at CUDA. Which device a thread computes on is said in that thread.
Status prepare(int device) {
  try {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    const int count = c10::cuda::device_count();
    if (device < count) return Done{};
    return fail(Error::kUsage, compose("LibTorch sees ", count, " CUDA devices"));
  } catch (const c10::Error& problem) {
    return fail(Error::kUsage, refusal_text(problem.what_without_backtrace()));
  } catch (const std::exception& problem) {
    return fail(Error::kUsage, refusal_text(problem.what()));
  }
}

std::string fingerprint(int device) {
  const cudaDeviceProp& properties = *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device));
  int driver = 0;
  int runtime = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  return fingerprint_text({.device = properties.name,
                           .capability = properties.major * 10 + properties.minor,
                           .multiprocessors = properties.multiProcessorCount,
                           .driver = driver,
                           .runtime = runtime,
                           .cudnn = at::detail::getCUDAHooks().versionRuntimeCuDNN(),
                           .build = build_identity()});
}

DevicePeaks peaks(int device) {
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
  return {static_cast<std::uint64_t>(stats.allocated_bytes.at(kAll).peak),
          static_cast<std::uint64_t>(stats.reserved_bytes.at(kAll).peak),
          static_cast<std::uint64_t>(stats.reserved_bytes.at(kAll).current),
          static_cast<std::uint64_t>(stats.allocated_bytes.at(kAll).current)};
}

// Counts what torch keeps between tensors as free: it is, for this process.
Result<DeviceMemory> memory(int device) {
  try {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    const DevicePeaks of_torch = peaks(device);
    return DeviceMemory{free_bytes + of_torch.reserved_now - of_torch.tensors_now, total_bytes};
  } catch (const c10::Error& problem) {
    return fail(Error::kUsage, refusal_text(problem.what_without_backtrace()));
  }
}

Status check_bf16(int device) {
  const cudaDeviceProp& properties = *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device));
  return check_bf16_units(properties.name, properties.major * 10 + properties.minor);
}

Status check_cudnn(int device) {
  const cudaDeviceProp& properties = *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device));
  return check_cudnn_attention(properties.name, properties.major * 10 + properties.minor,
                               at::detail::getCUDAHooks().versionRuntimeCuDNN());
}

Result<std::string> identity(int device) {
  try {
    return identity_text(at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device))->uuid.bytes);
  } catch (const c10::Error& problem) {
    return fail(Error::kUsage, refusal_text(problem.what_without_backtrace()));
  }
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
