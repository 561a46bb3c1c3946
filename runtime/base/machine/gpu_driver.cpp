// Calls the driver's library by the names of its functions; types are those of its C interface, written out.
#include "runtime/base/machine/gpu_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

// Statuses that have a sentence of their own.
constexpr int kNoDevice = 100;
constexpr int kStubLibrary = 34;
constexpr int kDriverMismatch = 803;

// Attributes of a device, as the driver numbers them.
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

template <class Function>
[[nodiscard]] Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

using Number = int(int*);
using Handle = int(int*, int);
using Name = int(char*, int, int);
using Memory = int(std::size_t*, int);
using Attribute = int(int*, int, int);

// A device that does not answer keeps its place in the list, without facts.
[[nodiscard]] GpuFacts facts_of(void* driver, int index) {
  GpuFacts facts;
  const auto device_get = function_of<Handle>(driver, "cuDeviceGet");
  const auto get_name = function_of<Name>(driver, "cuDeviceGetName");
  const auto get_memory = function_of<Memory>(driver, "cuDeviceTotalMem_v2");
  const auto get_attribute = function_of<Attribute>(driver, "cuDeviceGetAttribute");
  int device = 0;
  if (device_get == nullptr || device_get(&device, index) != 0) return facts;
  std::array<char, 128> name{};
  if (get_name != nullptr && get_name(name.data(), static_cast<int>(name.size()) - 1, device) == 0) {
    facts.name = name.data();
  }
  std::size_t bytes = 0;
  if (get_memory != nullptr && get_memory(&bytes, device) == 0) facts.memory_bytes = bytes;
  if (get_attribute != nullptr) {
    static_cast<void>(get_attribute(&facts.major, kCapabilityMajor, device));
    static_cast<void>(get_attribute(&facts.minor, kCapabilityMinor, device));
  }
  return facts;
}

[[nodiscard]] std::string refusal_of(const DriverAnswers& answers) {
  const int status = answers.init_status;
  if (status == kNoDevice) {
    return "the NVIDIA driver sees no device: is one built in, and does CUDA_VISIBLE_DEVICES leave it visible?";
  }
  if (status == kStubLibrary) {
    return "what is found as the NVIDIA driver (libcuda.so.1) is the toolkit's stub for linking: take its folder out "
           "of LD_LIBRARY_PATH, and install the driver";
  }
  if (status == kDriverMismatch) {
    return "the NVIDIA driver's library and its kernel module are of different versions: reboot, or load the module "
           "that belongs to the library";
  }
  return compose("the NVIDIA driver does not start (cuInit says ", status, "): nvidia-smi tells more");
}

// Returns what a device lacks, as the rest of a sentence about it; empty: it can be used.
[[nodiscard]] std::string lack_of(const GpuFacts& facts) {
  const int capability = 10 * facts.major + facts.minor;
  if (capability >= kLowestCapability) return {};
  if (capability == 0) return "does not answer the driver: nvidia-smi tells more";
  return compose("has compute capability ", facts.major, ".", facts.minor, ", and the kernels of this program need ",
                 kLowestCapability / 10, ".", kLowestCapability % 10, " or later");
}

[[nodiscard]] Failure unusable(const std::string& lack) {
  return fail(Error::kUsage, lack + "; take another GPU, or --device cpu");
}

// None of them can be used.
[[nodiscard]] Failure unusable(const std::vector<GpuFacts>& devices) {
  std::string lacks;
  for (std::size_t index = 0; index < devices.size(); ++index) {
    lacks += (index == 0 ? "" : "; ") + device_lack(static_cast<int>(index), devices[index]);
  }
  return unusable(lacks);
}

}  // namespace

// The library stays open: its threads live on.
DriverAnswers ask_gpu_driver() {
  DriverAnswers answers;
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    answers.open_error = ::dlerror();
    return answers;
  }
  const auto init = function_of<int(unsigned)>(driver, "cuInit");
  const auto version = function_of<Number>(driver, "cuDriverGetVersion");
  const auto count = function_of<Number>(driver, "cuDeviceGetCount");
  if (init == nullptr || version == nullptr || count == nullptr) {
    answers.open_error = "libcuda.so.1 lacks functions of a driver";
    return answers;
  }
  static_cast<void>(version(&answers.cuda_version));
  answers.init_status = init(0);
  int devices = 0;
  if (answers.init_status != 0 || count(&devices) != 0) return answers;
  for (int index = 0; index < devices; ++index) answers.devices.push_back(facts_of(driver, index));
  return answers;
}

Result<std::vector<GpuFacts>> usable_devices(const DriverAnswers& answers) {
  if (answers.open_error) {
    return fail(Error::kUsage,
                compose("this machine has no NVIDIA driver (", *answers.open_error, "): install one for CUDA ",
                        kCudaMajor, ", or train on the processor with --device cpu"));
  }
  if (answers.init_status != 0) return fail(Error::kUsage, refusal_of(answers));
  if (answers.cuda_version < kCudaMajor * 1000) {
    return fail(Error::kUsage, compose("the NVIDIA driver is for CUDA ", answers.cuda_version / 1000, ".",
                                       answers.cuda_version % 1000 / 10, ", and this program needs a driver for CUDA ",
                                       kCudaMajor, ".0 or newer"));
  }
  if (answers.devices.empty()) return fail(Error::kUsage, refusal_of({{}, kNoDevice, answers.cuda_version, {}}));
  const auto is_usable = [](const GpuFacts& facts) { return lack_of(facts).empty(); };
  if (std::ranges::none_of(answers.devices, is_usable)) return unusable(answers.devices);
  return answers.devices;
}

Result<GpuFacts> usable_device(const DriverAnswers& answers, int index) {
  const auto devices = usable_devices(answers);
  if (!devices) return devices.failure();
  const auto count = static_cast<int>(devices->size());
  if (index < count) {
    const GpuFacts& facts = (*devices)[static_cast<std::size_t>(index)];
    const std::string lack = device_lack(index, facts);
    return lack.empty() ? Result<GpuFacts>(facts) : unusable(lack);
  }
  const std::string all = count == 1 ? std::string("cuda:0") : compose("cuda:0 to cuda:", count - 1);
  return fail(Error::kUsage, compose("there is no device cuda:", index, " here; the NVIDIA driver has ", all));
}

std::string device_lack(int index, const GpuFacts& facts) {
  const std::string lack = lack_of(facts);
  const std::string name = facts.name.empty() ? std::string() : " (" + facts.name + ")";
  return lack.empty() ? lack : compose("the device cuda:", index, name, " ", lack);
}

std::string device_text(int index, const GpuFacts& facts) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  const double tenths = std::floor(static_cast<double>(facts.memory_bytes) / kGibibyte * 10);
  return compose("cuda:", index, " ", facts.name, ", ", tenths / 10, " GiB");
}

std::string device_texts(const std::vector<GpuFacts>& devices) {
  std::string text;
  for (std::size_t index = 0; index < devices.size(); ++index) {
    const std::string lack = lack_of(devices[index]);
    text += (index == 0 ? "" : "; ") + device_text(static_cast<int>(index), devices[index]);
    if (!lack.empty()) text += ", which " + lack;
  }
  return text;
}

}  // namespace shoal
