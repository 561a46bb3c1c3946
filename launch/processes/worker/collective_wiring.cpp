// The library is opened once per process; its settings are this process's environment.
#include "launch/processes/worker/collective_wiring.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/base/log.h"
#include "runtime/base/machine/private_network.h"
#include "runtime/device/nccl/nccl_runner.h"
#include "runtime/device/plugin/load_plugin.h"
#include "runtime/device/queue/queued_memory.h"
#include "runtime/device/queue/stream_queue.h"
#include "runtime/device/torch_device.h"
#include "runtime/executor/device_name.h"

namespace shoal {
namespace {

using Library = std::shared_ptr<const NcclLibrary>;

[[nodiscard]] Status stay_in(const std::string& private_network) {
  const auto network = parse_private_network(private_network);
  if (!network) return network.failure();
  const auto interface = interface_in(*network, interfaces_of_this_machine());
  if (!interface) {
    return fail(Error::kUsage, compose("this machine has no address in the private network ", private_network));
  }
  static const std::string chosen = "=" + *interface;
  const char* const family = network->is_v6 ? "AF_INET6" : "AF_INET";
  static const bool is_set = ::setenv("NCCL_SOCKET_IFNAME", chosen.c_str(), 1) == 0 &&
                             ::setenv("NCCL_SOCKET_FAMILY", family, 1) == 0;  // once: other threads may read
  return is_set ? Status(Done{}) : Status(fail(Error::kInternal, "NCCL cannot be told its interface"));
}

// Returns a name of the device that no other device has.
[[nodiscard]] Result<std::string> unique_name_of(const DeviceName& device, StageId stage, const NcclLibrary& library) {
  if (device.kind == DeviceKind::kCuda) return device_plugin()->identity(device.index);
  if (!library.sums_host_memory()) return fail(Error::kUsage, "NCCL sums on GPUs, and this process has none");
  return compose("host ", ::gethostid(), " process ", ::getpid(), " stage ", stage);
}

[[nodiscard]] Result<CollectiveWiring> wire(const Config& config, const std::string& device, StageId stage,
                                            std::function<void(const std::string&)> end_process) {
  if (auto status = stay_in(config.sync.private_network); !status) return status.failure();
  static const Result<Library> library = open_nccl();
  if (!library) return library.failure();
  const auto name = parse_device(device);
  if (!name) return name.failure();
  const auto identity = unique_name_of(*name, stage, **library);
  if (!identity) return identity.failure();
  NcclRunnerSettings settings;
  settings.library = *library;
  settings.end_process = std::move(end_process);
  static const auto joins = std::make_shared<GivenUpJoins>();  // all stages of this process share it
  settings.joins = joins;
  const bool is_gpu = name->kind == DeviceKind::kCuda;
  settings.make_memory = [is_gpu, device, library = *library] {
    return is_gpu ? make_queued_memory(make_stream_queue(torch_device(device))) : make_host_memory(library);
  };
  CollectiveWiring wiring;
  wiring.offer = {nccl_version_text((*library)->version), *identity, {}, 0};
  wiring.make = [settings](TellCollective tell) {
    NcclRunnerSettings own = settings;
    own.tell = std::move(tell);
    return run_nccl(std::move(own));
  };
  return wiring;
}

}  // namespace

std::optional<CollectiveWiring> wire_collective(const Config& config, const std::string& device, StageId stage,
                                                std::function<void(const std::string&)> end_process) {
  if (config.sync.backend != SyncBackend::kNccl) return std::nullopt;
  auto wiring = wire(config, device, stage, std::move(end_process));
  if (wiring) return std::move(*wiring);
  log_warn(compose("stage/", stage), "sums go over the ring: ", wiring.failure().message);
  return std::nullopt;
}

}  // namespace shoal
