// Asks the driver before the module: its refusals need no torch, and are the most frequent ones.
#include "runtime/device/plugin/load_plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime/base/compose.h"
#include "runtime/base/machine/bf16_units.h"
#include "runtime/base/machine/gpu_driver.h"
#include "runtime/device/gemm_choice.h"
#include "runtime/device/plugin/library_files.h"
#include "runtime/executor/device_name.h"

namespace shoal {
namespace {

const DevicePlugin* opened = nullptr;  // by this process; set once, before any other thread computes

[[nodiscard]] Status prepare_cuda(int index, const std::string& folder) {
  if (const auto facts = usable_device(ask_gpu_driver(), index); !facts) return facts.failure();
  const auto plugin = open_plugin(folder + "/" + kDevicePluginFile);
  if (!plugin) return fail(Error::kUsage, plugin.failure().message);
  if (auto ready = (*plugin)->prepare(index); !ready) return ready;
  opened = *plugin;
  return Done{};
}

[[nodiscard]] Status check_is_whole(const std::string& path) {
  const char* const library_path = std::getenv("LD_LIBRARY_PATH");
  const auto damaged = find_damaged_file(path, library_path == nullptr ? "" : library_path);
  if (!damaged) return Done{};
  const std::string which = damaged->path == path ? compose("the part for GPUs, ", path, ", is")
                                                  : compose("the part for GPUs needs ", damaged->path, ", which is");
  return fail(Error::kInvalidData,
              compose(which, " cut or damaged (", damaged->why, "): build or install it anew, by launch/set-up all"));
}

}  // namespace

// RTLD_LAZY: stand-ins of libraries that nothing calls lack what they would be called by (cuda/stubs).
Result<const DevicePlugin*> open_plugin(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return fail(Error::kUsage, compose("this build has no part for GPUs (", path,
                                       " is not there): build it on a machine with the CUDA toolkit"));
  }
  if (auto whole = check_is_whole(path); !whole) return whole.failure();
  void* const module = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (module == nullptr) return fail(Error::kUsage, compose("the part for GPUs cannot be loaded: ", ::dlerror()));
  const auto* plugin = static_cast<const DevicePlugin*>(::dlsym(module, kDevicePluginSymbol));
  if (plugin == nullptr) return fail(Error::kUsage, compose(path, " is no part of this program"));
  if (plugin->abi != kDevicePluginAbi || std::strcmp(plugin->build, build_identity()) != 0) {
    return fail(Error::kUsage, compose("the part for GPUs, ", path,
                                       ", is of another build than this program: build both anew (launch/set-up all)"));
  }
  return plugin;
}

Status prepare_device(const std::string& device, const std::string& folder) {
  const auto name = parse_device(device);
  if (!name) return fail(Error::kUsage, "--" + name.failure().message);
  if (name->kind == DeviceKind::kCuda) {
    if (auto ready = prepare_cuda(name->index, folder); !ready) {
      return fail(ready.failure().error, compose("--device ", device, ": ", ready.failure().message));
    }
  }
  prepare_process_for_compute();
  return Done{};
}

const DevicePlugin* device_plugin() { return opened; }

Status check_units(const std::string& device, const ModelConfig& model, const DevicePlugin* plugin) {
  const auto name = parse_device(device);
  if (!name) return name.failure();
  if (name->kind != DeviceKind::kCuda) return check_precision(model);
  if (plugin == nullptr) {
    return fail(Error::kUsage, compose("device '", device, "': this process was not prepared for it"));
  }
  return model.precision == Precision::kBf16 ? plugin->check_bf16(name->index) : Done{};
}

std::string device_fingerprint(const std::string& device, int threads) {
  const auto name = parse_device(device);
  const bool is_gpu = name && name->kind == DeviceKind::kCuda && opened != nullptr;
  return is_gpu ? opened->fingerprint(name->index) : kernel_fingerprint(threads);
}

}  // namespace shoal
